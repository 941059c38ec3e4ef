# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.host.namespaces, on hosts made of files.

``tests.functional.kernel.test_namespaces`` has the real thing.
"""

import os
import pathlib
import socket
import tempfile
from unittest import mock

from nova_rt.machine.host import namespaces
from nova_rt.rules import exception
from tests.unit.rt_operate.doctor import base

V2 = base.mounts('cgroup2 /sys/fs/cgroup cgroup2 rw 0 0')
HYBRID = base.mounts('cgroup /cpu cgroup rw,cpuacct,cpu 0 0',
                     'cgroup /cpuset cgroup rw,cpuset 0 0',
                     'cgroup2 /unified cgroup2 rw 0 0')
GROUPS = '/proc/2/task/2/cgroup'


class TroubleTest(base.DoctorTest):

    def trouble(self, *layers: base.Files, **more: str) -> str:
        """Returns the trouble; *more* replaces files of a process."""
        return namespaces.trouble(self.host(*layers, {
            f'/proc/self/{name}': text for name, text in more.items()}))

    def test_host(self) -> None:
        for files in (base.F1, base.MAINLINE, V2, HYBRID):
            self.assertEqual('', self.trouble(files))

    def test_proc_of_another_namespace(self) -> None:
        text = self.trouble(V2, status='Name:\tx\nNSpid:\t70\t1')
        self.assertIn('/proc belongs to another PID namespace', text)

    def test_no_kernel_threads(self) -> None:
        for files in (base.process(2, 'bash'), {
                '/proc/2/task/2/stat': b''}):
            self.assertNotEqual('', self.trouble(V2, files))
        self.assertIn('pid_mode', self.trouble(V2, base.process(2, 'bash')))
        host = self.host(V2)
        pathlib.Path(host.root, 'proc/2/task/2/stat').unlink()
        self.assertIn('pid_mode', namespaces.trouble(host))

    def test_hidden_tasks(self) -> None:
        """Root without the capability and other users see no hidden task."""
        self.assertIn('hidepid', namespaces.trouble(self.host(
            V2, refused={'/proc/2/task/2/stat': base.EPERM})))

    def test_groups_of_another_namespace(self) -> None:
        for files, group in ((V2, '0::/../..'),
                             (base.F1, '1:cpu:/..'),
                             (HYBRID, '3:cpuset:/..\n1:cpu,cpuacct:/\n0::/')):
            with mock.patch.object(namespaces, 'SOCKETS', ()):
                self.assertIn('cgroupns_mode',
                              self.trouble(files, {GROUPS: group}))

    def test_libvirt_in_the_same_namespace(self) -> None:
        """All guests are below the namespace of both; nothing else counts."""
        host = self.host(V2, {GROUPS: '0::/../..', '/proc/7/ns/cgroup': '',
                              '/proc/self/ns/cgroup': ''})
        ns = pathlib.Path(host.root, 'proc/self/ns/cgroup')
        ns.unlink()
        for pid, right in ((7, True), (8, False), (None, False)):
            ns.unlink(missing_ok=True)
            ns.hardlink_to(pathlib.Path(host.root, 'proc/7/ns/cgroup'))
            with mock.patch.object(namespaces, 'libvirt_pid',
                                   return_value=pid):
                self.assertEqual(right, not namespaces.trouble(host))
        ns.unlink()
        ns.write_text('')
        with mock.patch.object(namespaces, 'libvirt_pid', return_value=7):
            self.assertIn('cgroupns_mode', namespaces.trouble(host))

    def test_the_process_behind_a_socket(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            path = os.path.join(name, 'socket')
            with mock.patch.object(namespaces, 'SOCKETS', (path,)):
                self.assertIsNone(namespaces.libvirt_pid())
                with socket.socket(socket.AF_UNIX) as server:
                    server.bind(path)
                    server.listen()
                    self.assertEqual(os.getpid(), namespaces.libvirt_pid())

    def test_only_hierarchies_of_guests_count(self) -> None:
        """Others are left to engines and to systemd."""
        self.assertEqual('', self.trouble(HYBRID, {
            GROUPS: '1:cpu,cpuacct:/\n2:cpuset:/\n0::/..\n5:name=x:/..'}))

    def test_a_part_of_a_hierarchy(self) -> None:
        for line in ('1 1 0:3 /docker/7 /sys/fs/cgroup rw,x shared:9 - '
                     'cgroup2 none rw',
                     '1 1 0:3 /.. /sys/fs/cgroup rw - cgroup2 none rw'):
            text = self.trouble(V2, mountinfo=line)
            self.assertIn('/sys/fs/cgroup shows only the part', text)

    def test_what_was_mounted_last_counts(self) -> None:
        first = '30 20 0:3 / /sys/fs/cgroup rw - cgroup2 none rw'
        part = first.replace(' / ', ' /part ')
        other = part.replace('/sys/fs/cgroup', '/other')
        self.assertEqual('', self.trouble(V2, mountinfo=f'{first}\n{other}'))
        self.assertIn('only the part', self.trouble(
            V2, mountinfo=f'{first}\n{part}'))

    def test_not_mounted(self) -> None:
        text = self.trouble(V2, mountinfo='1 1 0:3 / /x rw - sysfs none rw')
        self.assertIn('cgroup version 2 is not mounted here', text)
        host = self.host(V2)
        pathlib.Path(host.root, 'sys/fs/cgroup/cgroup.procs').unlink()
        self.assertIn('is not mounted here', namespaces.trouble(host))

    def test_a_host_without_cgroups(self) -> None:
        """The kernel's interface is looked for elsewhere."""
        self.assertEqual('', self.trouble(V2, {GROUPS: ''}))

    def test_garbage_and_refusal(self) -> None:
        for path in V2:
            for garbage in ('', 'x', 'x - y', '1:2'):
                host = self.host(V2, {path: garbage})
                self.assert_one_line(namespaces.trouble(host))
            self.assert_one_line(namespaces.trouble(self.host(
                V2, refused={path: base.EPERM})))

    def assert_one_line(self, text: str) -> None:
        self.assertLessEqual(len(text.splitlines()), 1, text)

    def test_verify(self) -> None:
        namespaces.verify(self.host(V2))
        with self.assertRaisesRegex(
                exception.OutsideHost, 'does not see the host: .*/status: '
                'this file does not exist'):
            namespaces.verify(self.host())
