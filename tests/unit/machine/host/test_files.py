# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.host.files: reads, and never writes."""

import fcntl
import gzip
import os

from nova_rt.machine.host import files as host_files
from tests.unit.rt_operate.doctor import base


class HostTest(base.DoctorTest):

    def test_read(self):
        host = self.host({'/a/b': ' x \n\n'})
        self.assertEqual(' x', host.read('/a/b'))
        self.assertIsNone(host.optional('/a/c'))
        self.assertIsNone(host.optional('/a/b/c'))
        self.assertEqual(['b'], host.names('/a'))
        self.assertEqual(['/a'], host.children('/'))
        self.assertEqual([], host.children('/c'))

    def test_long(self):
        data = b'x' * 3_000_000
        self.assertEqual(data, self.host({'/a': data}).data('/a'))

    def test_errors_name_the_file_of_the_host(self):
        host = host_files.Host('/nowhere')
        for action in (host.read, host.names):
            with self.assertRaises(FileNotFoundError) as caught:
                action('/a')
            self.assertEqual('/a', caught.exception.filename)

    def test_unzipped(self):
        host = self.host({'/a.gz': gzip.compress(b'x'), '/b': 'y'})
        self.assertEqual('x', host.unzipped('/a.gz'))
        self.assertEqual('y\n', host.unzipped('/b'))

    def test_mounts(self):
        host = self.host(base.PLAIN, {
            '/proc/self/mounts': 'a /b c rw,x 0 0\nbad line\n'})
        self.assertEqual([('/b', 'c', 'rw,x')], host.mounts())

    def test_writes_nothing(self):
        host = self.host({'/a/b': 'x'})
        for action in (lambda: host.write('/a/b', 'y'),
                       lambda: host.make('/a/c'), lambda: host.remove('/a')):
            with self.assertRaisesRegex(OSError, 'only read'):
                action()
        self.assertEqual('x', host.read('/a/b'))

    def test_locks_nothing(self):
        host = self.host({'/a/b': 'x'})
        with host.locked('/a'), host.locked('/c'):
            self.assertEqual(['a'], host.names('/'))
            handle = os.open(f'{host.root}/a', os.O_RDONLY)
            self.addCleanup(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_why(self):
        for number, word in ((base.EPERM, 'locked-down'), (base.EACCES,
                             'only root'), (2, 'not exist'), (5, 'Input')):
            self.assertIn(word, host_files.why(OSError(
                number, 'Input/output error')))
