# SPDX-License-Identifier: Apache-2.0

"""lab.initrd: which modules it loads, and what Linux gets to read."""

import lzma
import pathlib
import stat
import subprocess
import tempfile
import unittest

from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from lab import initrd
from lab import programs

_DEP = """\
kernel/fs/9p/9p.ko.xz: kernel/net/9p/9pnet.ko.xz kernel/fs/netfs.ko.xz
kernel/net/9p/9pnet.ko.xz:
kernel/fs/netfs.ko.xz:
kernel/net/9p/9pnet_virtio.ko.xz: kernel/net/9p/9pnet.ko.xz
kernel/drivers/virtio-rng.ko.xz:
"""
_NAMES = st.text('abc', min_size=1, max_size=6)


def listed(archive: bytes) -> list[str]:
    """The names that another program finds."""
    done = subprocess.run(['busybox', 'cpio', '-t'], input=archive,
                          capture_output=True, check=True)
    return done.stdout.decode().split()


class OrderTest(unittest.TestCase):

    def test_what_a_module_needs_comes_first(self):
        table = initrd.parse_dependencies(_DEP)
        self.assertEqual(
            ['kernel/drivers/virtio-rng.ko.xz',
             'kernel/net/9p/9pnet.ko.xz', 'kernel/net/9p/9pnet_virtio.ko.xz',
             'kernel/fs/netfs.ko.xz', 'kernel/fs/9p/9p.ko.xz'],
            initrd.load_order(table, ['virtio_rng', 'built_in',
                                      '9pnet_virtio', '9p']))


class BuildTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def build(self, packed, content):
        (self.directory / 'modules.dep').write_text(f'{packed}:\n')
        (self.directory / packed).write_bytes(content)
        target = self.directory / 'initrd'
        initrd.build(self.directory, target)
        return target.read_bytes()

    def test_contents(self):
        archive = self.build('ext4.ko.xz', lzma.compress(b'a module'))
        self.assertEqual(['bin', 'dev', 'root', 'bin/busybox', '00-ext4.ko',
                          'init'], listed(archive))
        self.assertIn(b'a module', archive)
        self.assertIn(b'for module in 00-ext4.ko; do', archive)

    def test_packed_in_another_way(self):
        with self.assertRaisesRegex(programs.LabError, 'unpack the modules'):
            self.build('ext4.ko.zst', b'')


class ArchiveTest(unittest.TestCase):

    @settings(deadline=None)
    @given(st.dictionaries(_NAMES, st.binary(max_size=9), max_size=5))
    def test_others_read_it(self, contents):
        archive = initrd.archive({name: (stat.S_IFREG | 0o644, content)
                                  for name, content in contents.items()})
        self.assertEqual(list(contents), listed(archive))
