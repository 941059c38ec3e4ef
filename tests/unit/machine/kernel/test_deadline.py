# SPDX-License-Identifier: Apache-2.0

"""Tests the arithmetic.

That the kernel agrees is in tests/functional/kernel.
"""

import errno
import os
import unittest
from unittest import mock

import hypothesis
from hypothesis import strategies as st

from nova_rt.machine.host import files
from nova_rt.machine.host import proc
from nova_rt.machine.host import sched
from nova_rt.machine.kernel import deadline
from nova_rt.rules import cpulist
from nova_rt.rules import reservation


class Files:
    """The part of CgroupFS that is read."""

    def __init__(self, cpus: int = 4) -> None:
        self.files = {
            cpulist.ONLINE: f'0-{cpus - 1}', cpulist.ISOLATED: '',
            deadline.SYSCTL.format('runtime'): '950000',
            deadline.SYSCTL.format('period'): '1000000',
            deadline.PERIOD_SYSCTL.format('min'): '100',
            deadline.PERIOD_SYSCTL.format('max'): '4194304'}

    def read(self, path: str) -> str:
        if path not in self.files:
            raise OSError(errno.ENOENT, 'no such file')
        return self.files[path]

    def children(self, path: str) -> list[str]:
        return [f'{path}/a.slice']


class AdmissionTest(unittest.TestCase):

    def setUp(self) -> None:
        self.files = Files()
        #: ns by server; a server that is not there cannot be read
        self.servers: dict[str, tuple[int, int]] = {}
        self.asked: list[tuple[str, int]] = []
        self.kernel(6, 18)

    def kernel(self, *version: int, sched_ext: bool = False) -> None:
        for name, new in (
                ('os.uname', lambda: mock.Mock(release='{}.{}.1-x'.format(
                    *version))),
                ('os.path.exists', lambda path: sched_ext
                 or 'sched_ext' not in path)):
            patch = mock.patch(name, new)
            patch.start()
            self.addCleanup(patch.stop)

    def read_server(self, server: str, cpu: int, name: str) -> int:
        self.asked.append((server, cpu))
        if server not in self.servers:
            raise PermissionError(errno.EPERM, 'locked down')
        return self.servers[server][name == 'period']

    @property
    def admission(self) -> deadline.Admission:
        return deadline.Admission(self.files, '/sys/fs/cgroup',  # type: ignore
                                  self.read_server)

    def ppm(self, *others: int) -> int:
        return self.admission.ppm([deadline.Other(number, 'x', units)
                                   for number, units in enumerate(others)])

    def assert_ppm(self, wanted: int, *others: int) -> None:
        """Within the rounding of the kernel's units."""
        self.assertAlmostEqual(wanted, self.ppm(*others), delta=2)

    def test_the_root_group(self) -> None:
        """cpu.rt.max takes from the bandwidth of SCHED_DEADLINE."""
        for text, wanted in (('0 1000000\n', 900_000),
                             ('300000 500000\n', 300_000),
                             ('950000 1000000\n', 0)):
            self.files.files['/sys/fs/cgroup/cpu.rt.max'] = text
            with self.subTest(text):
                self.assert_ppm(wanted)

    def test_a_root_group_without_the_file(self) -> None:
        """The root group has all that the sysctl allows."""
        self.files.files['/sys/fs/cgroup/a.slice/cpu.rt.max'] = 'max 0\n'
        self.assertEqual(0, self.ppm())

    def test_assumed_servers(self) -> None:
        self.assert_ppm(900_000)
        self.assertEqual([('fair_server', 0), ('ext_server', 0)], self.asked)
        self.kernel(6, 11)
        self.assertEqual(950_000, self.ppm())
        self.kernel(7, 0)
        self.assert_ppm(900_000)
        self.kernel(7, 0, sched_ext=True)
        self.assert_ppm(850_000)
        self.kernel(6, 18, sched_ext=True)
        self.assert_ppm(900_000)

    def test_servers_that_can_be_read(self) -> None:
        self.servers['fair_server'] = (100_000_000, 1_000_000_000)
        self.assert_ppm(850_000)
        self.servers['ext_server'] = (0, 1_000_000_000)
        self.assert_ppm(850_000)
        self.servers['fair_server'] = (0, 0)
        self.assertEqual(950_000, self.ppm())

    def test_others_may_come_to_any_cpu(self) -> None:
        quarter = deadline.units(1, 4)
        self.assert_ppm(650_000, quarter)
        self.assert_ppm(400_000, quarter, quarter)
        self.assert_ppm(0, deadline.units(1, 1))

    def test_others_that_reclaim_take_what_is_reserved(self) -> None:
        found = [deadline.Other(7, 'x', 1, True), deadline.Other(8, 'y', 1)]
        with self.assertRaisesRegex(OSError, r'SCHED_FLAG_RECLAIM \(7 x\)'):
            self.admission.ppm(found)

    def test_all_servers_are_charged_always(self) -> None:
        """The kernel's own sum of the moment does not matter."""
        self.servers['fair_server'] = (50_000_000, 1_000_000_000)
        self.assert_ppm(900_000)
        limit = deadline.SYSCTL.format('runtime')
        self.files.files[limit] = '1000000'
        self.assert_ppm(950_000)
        self.servers['ext_server'] = (50_000_000, 1_000_000_000)
        self.assert_ppm(900_000)
        self.files.files[limit] = '950000'
        self.assert_ppm(850_000)

    def test_admission_is_off(self) -> None:
        self.files.files[deadline.SYSCTL.format('runtime')] = '-1'
        with self.assertRaisesRegex(OSError, 'set it to 950000'):
            self.ppm()

    def test_cpus(self) -> None:
        self.assertEqual((0, 1, 2, 3), self.admission.cpus())
        self.files.files[cpulist.ISOLATED] = '2-3'
        self.assertEqual((0, 1), self.admission.cpus())
        self.assert_ppm(650_000, deadline.units(1, 4))
        self.files.files['/sys/fs/cgroup/' + deadline.EFFECTIVE] = '1-3'
        self.assertEqual((1,), self.admission.cpus())
        del self.files.files[cpulist.ISOLATED]
        self.assertEqual((1, 2, 3), self.admission.cpus())

    def test_periods(self) -> None:
        self.assertEqual((100, 4_194_304), self.admission.periods())

    @hypothesis.settings(deadline=None, database=None)
    @hypothesis.given(
        cpus=st.integers(1, 9), runtime=st.integers(1, 1_000_000),
        shares=st.lists(st.tuples(
            st.one_of(st.integers(1, 10 ** 6), st.sampled_from((
                500_000, 250_000, 950_000, 900_000, 475_000))),
            st.sampled_from((1_000_000, 524_288, 1_048_576, 100_000)))))
    def test_what_fits_each_cpu_is_admitted(
            self, cpus: int, runtime: int, shares: list[tuple[int, int]]
            ) -> None:
        """Claims that keep to capacity() on each CPU; exact integers."""
        self.files = Files(cpus)
        self.files.files[deadline.SYSCTL.format('runtime')] = str(runtime)
        cap = self.ppm()
        room = cpus * (deadline.units(runtime, 1_000_000)
                       - deadline.units(50_000, 1_000_000))
        used = [0] * cpus
        total = 0
        for number, (wanted, period) in enumerate(shares):
            found = reservation.Reservation(min(wanted, period), period)
            cpu = number % cpus
            if used[cpu] + found.bandwidth <= cap:
                used[cpu] += found.bandwidth
                total += deadline.units(found.runtime_us, found.period_us)
                self.assertLessEqual(total, room)


class OthersTest(unittest.TestCase):
    """1 is a vCPU; 2 is not; 3 is the kernel's, 4 ends meanwhile."""

    def setUp(self) -> None:
        self.groups = {1: '/machine.slice/machine-qemu-1-a.scope/libvirt/'
                          'vcpu0', 2: '/machine.slice/other'}
        for target, name, new in (
                (sched, 'get', self.policy),
                (proc, 'group_of', lambda host, task, controller:
                 self.groups.get(task.thread, ''))):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)
        self.tasks = [proc.Task(each, each, 1, f'name{each}', each == 3, 6, 0)
                      for each in range(1, 5)]

    def policy(self, thread: int) -> sched.Policy:
        if thread == 4:
            raise ProcessLookupError(errno.ESRCH, 'gone')
        return sched.Policy(6, 0, 250_000, 10 ** 6, 10 ** 6, thread == 2)

    def test_others(self) -> None:
        self.assertEqual(
            [deadline.Other(2, 'name2', deadline.UNIT // 4, True)],
            deadline.other_threads(files.Host(), self.tasks, ''))

    def test_warnings(self) -> None:
        """Threads are compared by name: a new thread has another number."""
        self.assertEqual([], deadline.warnings([]))
        plain = [deadline.Other(number, name, 1) for number, name
                 in enumerate('dbcaa')]
        self.assertEqual(
            ['Threads other than vCPUs are SCHED_DEADLINE (a, b, c, ...); '
             'their bandwidth is subtracted from each pCPU.'],
            deadline.warnings(plain))
        found = deadline.warnings([*plain, deadline.Other(7, 'x', 1, True)])
        self.assertIn('SCHED_FLAG_RECLAIM (x); servers may', found[1])

    def test_threads_of_this_machine(self) -> None:
        """A real one of our own, as far as we may."""
        self.groups = {}
        with mock.patch.object(proc.os, 'sched_getscheduler',
                               lambda thread: 6 if thread == os.getpid()
                               else 0):
            found = deadline.read_other_threads('')
        self.assertEqual([os.getpid()], [each.thread for each in found])

    def test_groups_of_vcpus(self) -> None:
        for group, wanted in (
                ('/machine/qemu-1-a.libvirt-qemu/vcpu10', True),
                ('/machine/qemu-1-a.libvirt-qemu/emulator', False),
                ('/machine.slice/libpod-1.scope', False),
                ('/machines/a/vcpu0', False), ('/system.slice/vcpu0', False),
                ('/machine/a/vcpu', False), ('', False)):
            self.assertEqual(wanted, deadline.is_vcpu(group), group)
