# SPDX-License-Identifier: Apache-2.0

"""What is tested here: the arithmetic.

That the kernel agrees is in tests/functional/kernel.
"""

import errno
import os
import unittest
from unittest import mock

import hypothesis
from hypothesis import strategies as st

from nova_rt.host import cpulist
from nova_rt.host import sched
from nova_rt.kernel import deadline
from nova_rt import reservation


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


class AdmissionTest(unittest.TestCase):

    def setUp(self) -> None:
        self.files = Files()
        #: ns by server; a server that is not there cannot be read
        self.servers: dict[str, tuple[int, int]] = {}
        self.asked: list[tuple[str, int]] = []
        #: units that the kernel counts, if it tells
        self.total: int | None = None
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
                                  self.read_server, self.read_total)

    def read_total(self, cpu: int) -> int:
        if self.total is None:
            raise PermissionError(errno.EPERM, 'locked down')
        return self.total

    def ppm(self, others: int = 0, pinned: bool = False, ours: int = 0
            ) -> int:
        return self.admission.ppm(deadline.Held(ours, others), pinned)

    def assert_ppm(self, wanted: int, others: int = 0, pinned: bool = False,
                   ours: int = 0) -> None:
        """Within the rounding of the kernel's units."""
        self.assertAlmostEqual(wanted, self.ppm(others, pinned, ours),
                               delta=2)

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

    def test_others(self) -> None:
        half = deadline.units(1, 2)
        self.assert_ppm(775_000, others=half)
        self.assert_ppm(0, others=8 * half)

    def test_others_may_come_to_any_pinned_cpu(self) -> None:
        self.assert_ppm(400_000, deadline.units(1, 2), pinned=True)
        self.assert_ppm(0, deadline.units(1, 1), pinned=True)

    def test_servers_as_the_kernel_counts_them(self) -> None:
        """4 CPUs; ours and others hold half a CPU each."""
        half, each = deadline.units(1, 2), deadline.units(50, 1000)
        self.servers['fair_server'] = (50_000_000, 1_000_000_000)
        self.servers['ext_server'] = (50_000_000, 1_000_000_000)
        for counted, limit, wanted in (
                (0, 950_000, 950_000), (1, 950_000, 900_000),
                (2, 950_000, 850_000), (0, 1_000_000, 950_000),
                (1, 1_000_000, 950_000), (2, 1_000_000, 900_000)):
            self.files.files[deadline.SYSCTL.format('runtime')] = str(limit)
            # A little of a guest that ended has not returned.
            self.total = 2 * half + 4 * counted * each + 1000
            self.assert_ppm(wanted - 125_000, half, ours=half)

    def test_admission_is_off(self) -> None:
        self.files.files[deadline.SYSCTL.format('runtime')] = '-1'
        with self.assertRaisesRegex(OSError, 'set it to 950000'):
            self.ppm()

    def test_cpus(self) -> None:
        self.assertEqual((0, 1, 2, 3), self.admission.cpus())
        self.files.files[cpulist.ISOLATED] = '2-3'
        self.assertEqual((0, 1), self.admission.cpus())
        self.assert_ppm(650_000, others=deadline.units(1, 2))
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


class HeldTest(unittest.TestCase):
    """1 is ours; 2 and 3 are not; 4 is the kernel's, 5 has ended."""

    def setUp(self) -> None:
        six = sched.SCHED_DEADLINE | os.SCHED_RESET_ON_FORK
        self.policies = {1: six, 2: six, 3: os.SCHED_RR, 4: 6}
        for target, name, new in (
                (deadline, '_threads', lambda: iter(range(1, 6))),
                (deadline, '_flags', {1: 0, 2: 0, 4: 0x00200040}.__getitem__),
                (sched, 'get', lambda thread: sched.Policy(
                    6, 0, 250_000, 10 ** 6, 10 ** 6)),
                (os, 'sched_getscheduler', self.policy)):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)

    def policy(self, thread: int) -> int:
        if thread == 5:
            raise ProcessLookupError(errno.ESRCH, 'gone')
        return self.policies[thread]

    def test_held(self) -> None:
        quarter = deadline.UNIT // 4
        self.assertEqual((quarter, quarter), deadline.held({1}))
        self.assertEqual((0, 2 * quarter), deadline.held(()))


class ThreadsTest(unittest.TestCase):
    """On this process."""

    def test_threads(self) -> None:
        self.assertIn(os.getpid(), deadline._threads())

    def test_flags(self) -> None:
        self.assertFalse(deadline._flags(os.getpid()) & 0x00200000)
