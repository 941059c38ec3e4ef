# SPDX-License-Identifier: Apache-2.0

"""Tests which files of libvirt are read."""

import pathlib
import tempfile
import unittest

from nova_rt.machine.host import domains
from nova_rt.machine.host import files as host_files


class DomainsTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        self.host = host_files.Host(self.root)

    def put(self, kind, name, text):
        folder = pathlib.Path(self.root, 'run/libvirt', kind)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

    def test_no_libvirt(self):
        self.assertEqual([], [*domains.running(self.host)])

    def test_those_that_run(self):
        self.put('lxc', 'a.xml', '<domstatus pid="1"/>')
        self.put('qemu', 'b.xml', '<domstatus pid="2"/>')
        self.put('qemu', 'b.pid', '2')
        self.put('qemu', 'c.xml', '<domstatus')
        self.assertEqual(['1', '2'], sorted(
            each.get('pid') for each in domains.running(self.host)))
        self.assertEqual(3, len([*domains.files(self.host)]))
