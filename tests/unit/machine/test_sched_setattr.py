# SPDX-License-Identifier: Apache-2.0

"""Tests the arguments of the system calls.

That the kernel agrees is in tests/functional/kernel.
"""

import ctypes
import errno
import os
import unittest
from unittest import mock


from nova_rt.machine.host import sched
from nova_rt.machine.host import thread as thread_state
from nova_rt.machine.kernel import deadline
from nova_rt.machine import sched_setattr


class Calls:
    """The two system calls; notes what is set and gives what is there."""

    def __init__(self) -> None:
        self.threads: dict[int, tuple[int, ...]] = {}
        self.set: list[tuple[int, ...]] = []
        self.refuse = 0
        self.flags = 0

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
        it.flags = self.flags
        return 0


class CallsTest(unittest.TestCase):

    def setUp(self) -> None:
        self.calls = Calls()
        self.policies: list[tuple[int, int, int]] = []
        #: whether it runs, each time that is asked
        self.runs = [False]
        for target, name, new in (
                (thread_state, 'is_runnable', lambda _: self.runs.pop(0)
                 if len(self.runs) > 1 else self.runs[0]),
                (sched, '_function', self.calls),
                (os, 'sched_setscheduler', lambda thread, policy, param:
                 self.policies.append((thread, policy,
                                       param.sched_priority)))):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)

    def test_start(self) -> None:
        """Deadline and period are one; what it forks is ordinary."""
        sched_setattr.start(7, 30_000, 100_000)
        self.assertEqual(
            [(48, 6, 1, 0, 0, 30_000_000, 100_000_000, 100_000_000)],
            self.calls.set)
        policy = sched.get(7)
        self.assertTrue(policy.is_deadline)
        self.assertTrue(policy.grants(30_000, 100_000))
        self.assertFalse(policy.grants(30_001, 100_000))
        self.assertFalse(policy.grants(30_000, 100_001))

    def test_a_thread_that_reclaims(self) -> None:
        """A claim never gives this policy, which also takes unused time."""
        sched_setattr.start(7, 30_000, 100_000, reclaim=True)
        self.calls.flags = self.calls.set[0][2]
        self.assertEqual(3, self.calls.flags)
        self.assertTrue(sched.get(7).reclaims)
        self.assertFalse(sched.get(7).grants(30_000, 100_000))
        self.calls.flags = 1
        self.assertFalse(sched.get(7).reclaims)

    def test_errors(self) -> None:
        self.calls.refuse = errno.EBUSY
        with self.assertRaises(OSError) as caught:
            sched_setattr.start(7, 30_000, 100_000)
        self.assertEqual(errno.EBUSY, caught.exception.errno)
        with self.assertRaises(ProcessLookupError):
            sched.get(8)

    def test_another_deadline(self) -> None:
        self.calls.threads[7] = (6, 0, 30_000_000, 50_000_000, 100_000_000)
        self.assertFalse(sched.get(7).grants(30_000, 100_000))

    def test_ordinary_threads_have_a_slice(self) -> None:
        self.calls.threads[7] = (os.SCHED_OTHER, 0, 1_400_000, 0, 0)
        self.assertEqual(sched.Policy(os.SCHED_OTHER), sched.get(7))
        self.assertFalse(sched.get(7).is_deadline)

    def test_stop_gives_back_first(self) -> None:
        """A thread that sleeps would take its bandwidth with it."""
        sched_setattr.start(7, 30_000, 100_000)
        sched_setattr.stop(7)
        _, _, _, _, _, runtime, _, period = self.calls.set[-1]
        self.assertEqual(0, deadline.units(runtime, period))
        self.assertGreaterEqual(runtime, 1024)
        self.assertLessEqual(period, 4_194_304_000)
        self.assertEqual([(7, os.SCHED_OTHER, 0)], self.policies)

    def test_stop_of_one_that_runs(self) -> None:
        """The thread may be throttled; with less, it would be so for hours."""
        sched_setattr.start(7, 30_000, 100_000)
        self.runs = [True]
        sched_setattr.stop(7)
        self.assertEqual(1, len(self.calls.set))
        self.assertEqual([(7, os.SCHED_OTHER, 0)], self.policies)

    def test_stop_of_one_that_wakes(self) -> None:
        sched_setattr.start(7, 30_000, 100_000)
        self.runs = [False, True]
        sched_setattr.stop(7)
        self.assertEqual(3, len(self.calls.set))
        self.assertTrue(sched.get(7).grants(30_000, 100_000))
        self.assertEqual([(7, os.SCHED_OTHER, 0)], self.policies)

    def test_stop_where_that_is_refused(self) -> None:
        sched_setattr.start(7, 30_000, 100_000)
        self.calls.refuse = errno.EINVAL
        sched_setattr.stop(7)
        self.assertEqual([(7, os.SCHED_OTHER, 0)], self.policies)

    def test_stop_of_others(self) -> None:
        self.calls.threads[7] = (os.SCHED_RR, 5, 0, 0, 0)
        sched_setattr.stop(7)
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
        sched._function.cache_clear()
        self.addCleanup(sched._function.cache_clear)

    def test_of_the_library(self) -> None:
        self.library = mock.Mock(spec=['syscall', 'sched_setattr'])
        self.assertIs(self.library.sched_setattr,
                      sched._function('sched_setattr'))

    def test_by_number(self) -> None:
        for machine, name, number in (
                ('x86_64', 'sched_setattr', 314),
                ('x86_64', 'sched_getattr', 315),
                ('aarch64', 'sched_setattr', 274),
                ('aarch64', 'sched_getattr', 275)):
            self.machine = machine
            sched._function.cache_clear()
            sched._function(name)()
            self.assertEqual(number, self.library.syscall.call_args[0][0]
                             .value)

    def test_unknown_machine(self) -> None:
        self.machine = 'sparc64'
        with self.assertRaisesRegex(OSError, 'sparc64 is not known'):
            sched._function('sched_setattr')

    def test_32_bits(self) -> None:
        """A 32-bit process uses other numbers on the same machine."""
        with (mock.patch('sys.maxsize', 2 ** 31 - 1),
              self.assertRaisesRegex(OSError, 'is not known')):
            sched._function('sched_setattr')
