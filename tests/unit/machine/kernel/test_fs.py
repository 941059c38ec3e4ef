# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.kernel.fs: the real files, on a directory of this test."""

import os
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

from nova_rt.machine.kernel import fs


class RealFSTest(unittest.TestCase):
    """Reading, listing, locking; writing is privsep's."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = pathlib.Path(directory.name)
        self.fs = fs.RealFS()

    def test_read_takes_the_newline_off(self) -> None:
        (self.top / 'f').write_text('950000\n')
        self.assertEqual('950000', self.fs.read(str(self.top / 'f')))

    def test_children_are_directories_only(self) -> None:
        (self.top / 'b').mkdir()
        (self.top / 'a').mkdir()
        (self.top / 'tasks').write_text('')
        (self.top / 'link').symlink_to(self.top / 'a')
        self.assertEqual([str(self.top / 'a'), str(self.top / 'b')],
                         self.fs.children(str(self.top)))

    def test_children_of_what_is_gone(self) -> None:
        self.assertEqual([], self.fs.children(str(self.top / 'none')))

    def test_write_is_privileged(self) -> None:
        with mock.patch('nova_rt.machine.privsep.write_cgroup_file') as write:
            self.fs.write('/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us', '5')
        write.assert_called_once_with(
            '/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us', '5')

    def test_mounts(self) -> None:
        found = self.fs.mounts()
        self.assertIn('proc', [kind for _, kind, _ in found])
        self.assertTrue(all(point.startswith('/') for point, _, _ in found))

    def test_the_lock_excludes_others(self) -> None:
        inside, entered = threading.Event(), threading.Event()

        def other() -> None:
            inside.set()
            with self.fs.locked(str(self.top)):
                entered.set()

        with self.fs.locked(str(self.top)):
            thread = threading.Thread(target=other)
            thread.start()
            inside.wait()
            handle = os.open(self.top, os.O_RDONLY)
            self.addCleanup(os.close, handle)
            with self.assertRaises(BlockingIOError):
                fs.fcntl.flock(handle, fs.fcntl.LOCK_EX | fs.fcntl.LOCK_NB)
            self.assertFalse(entered.is_set())
        thread.join()
        self.assertTrue(entered.is_set())

    def test_the_lock_is_given_back_on_an_error(self) -> None:
        with self.assertRaises(RuntimeError), self.fs.locked(str(self.top)):
            raise RuntimeError
        with self.fs.locked(str(self.top)):
            pass
