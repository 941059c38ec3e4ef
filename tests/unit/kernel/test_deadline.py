# SPDX-License-Identifier: Apache-2.0

"""What is tested here: the system calls' arguments, and the arithmetic.

That the kernel agrees is in tests/functional/kernel.
"""

import ctypes
import errno
import os
import unittest
from unittest import mock

import hypothesis
from hypothesis import strategies as st

from nova_rt.kernel import deadline
from nova_rt import reservation


class Calls:
    """The two system calls; notes what is set and gives what is there."""

    def __init__(self) -> None:
        self.threads: dict[int, tuple[int, ...]] = {}
        self.set: list[tuple[int, ...]] = []
        self.refuse = 0

    def __call__(self, name: str) -> object:
        return getattr(self, name)

    def sched_setattr(self, thread: ctypes.c_int, found: object, flags: int
                      ) -> int:
        it = found._obj  # type: ignore[attr-defined]
        self.set.append((it.size, it.policy, it.flags, it.nice, it.priority,
                         it.runtime, it.deadline, it.period))
        if self.refuse:
            ctypes.set_errno(self.refuse)
            return -1
        self.threads[thread.value] = self.set[-1][1:2] + self.set[-1][4:]
        return 0

    def sched_getattr(self, thread: ctypes.c_int, found: object, size: int,
                      flags: int) -> int:
        it = found._obj  # type: ignore[attr-defined]
        if thread.value not in self.threads:
            ctypes.set_errno(errno.ESRCH)
            return -1
        (it.policy, it.priority, it.runtime, it.deadline,
         it.period) = self.threads[thread.value]
        return 0


class CallsTest(unittest.TestCase):

    def setUp(self) -> None:
        self.calls = Calls()
        self.policies: list[tuple[int, int, int]] = []
        for target, name, new in (
                (deadline, '_function', self.calls),
                (os, 'sched_setscheduler', lambda thread, policy, param:
                 self.policies.append((thread, policy,
                                       param.sched_priority)))):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)

    def test_start(self) -> None:
        """Deadline and period are one; what it forks is ordinary."""
        deadline.start(7, 30_000, 100_000)
        self.assertEqual(
            [(48, 6, 1, 0, 0, 30_000_000, 100_000_000, 100_000_000)],
            self.calls.set)
        policy = deadline.get(7)
        self.assertTrue(policy.is_deadline)
        self.assertTrue(policy.grants(30_000, 100_000))
        self.assertFalse(policy.grants(30_001, 100_000))
        self.assertFalse(policy.grants(30_000, 100_001))
        self.assertEqual(300_000, policy.bandwidth)

    def test_errors(self) -> None:
        self.calls.refuse = errno.EBUSY
        with self.assertRaises(OSError) as caught:
            deadline.start(7, 30_000, 100_000)
        self.assertEqual(errno.EBUSY, caught.exception.errno)
        with self.assertRaises(ProcessLookupError):
            deadline.get(8)

    def test_another_deadline(self) -> None:
        self.calls.threads[7] = (6, 0, 30_000_000, 50_000_000, 100_000_000)
        self.assertFalse(deadline.get(7).grants(30_000, 100_000))

    def test_ordinary_threads_have_a_slice(self) -> None:
        self.calls.threads[7] = (os.SCHED_OTHER, 0, 1_400_000, 0, 0)
        self.assertEqual(deadline.Policy(os.SCHED_OTHER), deadline.get(7))
        self.assertEqual(0, deadline.get(7).bandwidth)

    def test_stop_gives_back_first(self) -> None:
        """A thread that sleeps would take its bandwidth with it."""
        deadline.start(7, 30_000, 100_000)
        deadline.stop(7)
        _, _, _, _, _, runtime, _, period = self.calls.set[-1]
        self.assertEqual(0, deadline.units(runtime, period))
        self.assertGreaterEqual(runtime, 1024)
        self.assertLessEqual(period, 4_194_304_000)
        self.assertEqual([(7, os.SCHED_OTHER, 0)], self.policies)

    def test_stop_where_that_is_refused(self) -> None:
        deadline.start(7, 30_000, 100_000)
        self.calls.refuse = errno.EINVAL
        deadline.stop(7)
        self.assertEqual([(7, os.SCHED_OTHER, 0)], self.policies)

    def test_stop_of_others(self) -> None:
        self.calls.threads[7] = (os.SCHED_RR, 5, 0, 0, 0)
        deadline.stop(7)
        self.assertEqual([], self.calls.set)
        self.assertEqual([(7, os.SCHED_OTHER, 0)], self.policies)


class FunctionTest(unittest.TestCase):
    """The C library's, else by number."""

    def setUp(self) -> None:
        self.library = mock.Mock(spec=['syscall'])
        for name, new in (('ctypes.CDLL', lambda *_, **__: self.library),
                          ('os.uname', lambda: mock.Mock(
                              machine=self.machine)),
                          ('sys.maxsize', 2 ** 63 - 1)):
            patch = mock.patch(name, new)
            patch.start()
            self.addCleanup(patch.stop)
        self.machine = 'x86_64'
        deadline._function.cache_clear()
        self.addCleanup(deadline._function.cache_clear)

    def test_of_the_library(self) -> None:
        self.library = mock.Mock(spec=['syscall', 'sched_setattr'])
        self.assertIs(self.library.sched_setattr,
                      deadline._function('sched_setattr'))

    def test_by_number(self) -> None:
        for machine, name, number in (
                ('x86_64', 'sched_setattr', 314),
                ('x86_64', 'sched_getattr', 315),
                ('aarch64', 'sched_setattr', 274),
                ('aarch64', 'sched_getattr', 275)):
            self.machine = machine
            deadline._function.cache_clear()
            deadline._function(name)()
            self.assertEqual(number, self.library.syscall.call_args[0][0]
                             .value)

    def test_unknown_machine(self) -> None:
        self.machine = 'sparc64'
        with self.assertRaisesRegex(OSError, 'sparc64 is not known'):
            deadline._function('sched_setattr')

    def test_32_bits(self) -> None:
        """Such a process has other numbers on the same machine."""
        with (mock.patch('sys.maxsize', 2 ** 31 - 1),
              self.assertRaisesRegex(OSError, 'not known here')):
            deadline._function('sched_setattr')


class Files:
    """The part of CgroupFS that is read."""

    def __init__(self, cpus: int = 4) -> None:
        self.files = {
            deadline.ONLINE: f'0-{cpus - 1}', deadline.ISOLATED: '',
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

    def assert_ppm(self, wanted: int, others: int = 0) -> None:
        """Within the rounding of the kernel's units."""
        self.assertAlmostEqual(wanted, self.admission.ppm(others), delta=2)

    def test_assumed_servers(self) -> None:
        self.assert_ppm(900_000)
        self.assertEqual([('fair_server', 0), ('ext_server', 0)], self.asked)
        self.kernel(6, 11)
        self.assertEqual(950_000, self.admission.ppm(0))
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
        self.assertEqual(950_000, self.admission.ppm(0))

    def test_others(self) -> None:
        half = deadline.units(1, 2)
        self.assert_ppm(775_000, others=half)
        self.assert_ppm(0, others=8 * half)

    def test_admission_is_off(self) -> None:
        self.files.files[deadline.SYSCTL.format('runtime')] = '-1'
        with self.assertRaisesRegex(OSError, 'set it to 950000'):
            self.admission.ppm(0)

    def test_cpus(self) -> None:
        self.assertEqual((0, 1, 2, 3), self.admission.cpus())
        self.files.files[deadline.ISOLATED] = '2-3'
        self.assertEqual((0, 1), self.admission.cpus())
        self.assert_ppm(650_000, others=deadline.units(1, 2))
        self.files.files['/sys/fs/cgroup/' + deadline.EFFECTIVE] = '1-3'
        self.assertEqual((1,), self.admission.cpus())
        del self.files.files[deadline.ISOLATED]
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
        cap = self.admission.ppm(0)
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
        six = deadline.SCHED_DEADLINE | os.SCHED_RESET_ON_FORK
        self.policies = {1: six, 2: six, 3: os.SCHED_RR, 4: 6}
        for target, name, new in (
                (deadline, '_threads', lambda: iter(range(1, 6))),
                (deadline, '_flags', {2: 0, 4: 0x00200040}.__getitem__),
                (deadline, 'get', lambda thread: deadline.Policy(
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
        self.assertEqual(deadline.UNIT // 4, deadline.held({1}))


class ThreadsTest(unittest.TestCase):
    """On this process."""

    def test_threads(self) -> None:
        self.assertIn(os.getpid(), deadline._threads())

    def test_flags(self) -> None:
        self.assertFalse(deadline._flags(os.getpid()) & 0x00200000)
