# SPDX-License-Identifier: Apache-2.0

"""Tests who gets too little, by a clock of our own."""

import errno
import unittest
from unittest import mock

from nova_rt.machine.host import sched
from nova_rt.machine.host import thread
from nova_rt.machine.kernel import shortfall
from nova_rt.rules import reservation

#: 30 of 100 ms.
WANTED = reservation.Reservation(30_000, 100_000)
MS = 1_000_000


class RuleTest(unittest.TestCase):

    first = shortfall.Sighting(WANTED, 5 * MS, 7, 99.0, 100.0)

    def after(self, seconds: float, ran_ms: float, pauses: int = 7,
              wanted: reservation.Reservation = WANTED) -> bool:
        """Tells whether a reading of 1 s, so much later, is short."""
        begin = self.first.end + seconds
        return shortfall.is_short(self.first, shortfall.Sighting(
            wanted, self.first.ran_ns + int(ran_ms * MS), pauses, begin,
            begin + 1))

    def test_the_share(self) -> None:
        self.assertFalse(self.after(60, 18_000))

    def test_less(self) -> None:
        self.assertTrue(self.after(60, 15_000))
        self.assertTrue(self.after(60, 0))

    def test_nothing_is_said_about_short_times(self) -> None:
        """The thread may have used up its runtime just before, and wait."""
        self.assertFalse(self.after(0.1, 0))
        self.assertFalse(self.after(0.4, 0))

    def test_nothing_is_owed_to_one_that_slept(self) -> None:
        self.assertFalse(self.after(60, 100, pauses=8))

    def test_nothing_is_known_of_one_that_was_resized(self) -> None:
        self.assertFalse(self.after(
            60, 100, wanted=reservation.Reservation(20_000, 100_000)))

    def test_the_kernel_rounds_and_is_late(self) -> None:
        """No runtime of a period is lost by what a timer comes late."""
        for periods in range(5, 600):
            seconds = periods * 0.1
            self.assertFalse(self.after(
                seconds, WANTED.runtime_us / 1000 * (periods - 2)), periods)


class LedgerTest(unittest.TestCase):
    """Thread 7 is ready all the time, and gets *rate* of the CPU."""

    def setUp(self) -> None:
        self.now, self.rate = 0.0, 0.3
        self.policy = sched.Policy(sched.SCHED_DEADLINE, 0, 30 * MS,
                                   100 * MS, 100 * MS)
        self.ready = True
        for target, name, new in (
                (shortfall, 'time', self), (sched, 'get', self.get),
                (thread, 'ran_ns', lambda _: int(self.now * self.rate * 1e9)),
                (thread, 'pauses', lambda _: 3),
                (thread, 'is_runnable', lambda _: self.ready)):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)
        self.ledger = shortfall.Ledger()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def get(self, number: int) -> sched.Policy:
        if number != 7:
            raise ProcessLookupError(errno.ESRCH, 'gone')
        return self.policy

    def audits(self) -> list[int]:
        """The second of two audits, a minute apart."""
        self.ledger.note([7, 8])
        self.now += 60
        return self.ledger.note([7, 8])

    def test_one_that_gets_its_share(self) -> None:
        self.assertEqual([], self.audits())

    def test_one_that_gets_half(self) -> None:
        self.rate = 0.15
        self.assertEqual([7], self.audits())
        self.rate = 0.0
        self.assertEqual([7], self.audits())

    def test_one_that_sleeps(self) -> None:
        self.rate, self.ready = 0.15, False
        self.assertEqual([], self.audits())

    def test_one_that_is_ordinary(self) -> None:
        self.rate, self.policy = 0.15, sched.Policy(0)
        self.assertEqual([], self.audits())

    def test_one_that_was_forgotten(self) -> None:
        self.rate = 0.15
        self.ledger.note([7])
        self.ledger.forget(7)
        self.now += 60
        self.assertEqual([], self.ledger.note([7]))

    def test_found_at_once(self) -> None:
        wanted = dict.fromkeys((7, 8), WANTED)
        self.assertEqual([], shortfall.find(wanted))
        self.rate = 0.15
        self.assertEqual([7], shortfall.find(wanted))
        self.assertLess(self.now, 4)

    def test_nobody_is_waited_for(self) -> None:
        self.ready = False
        self.assertEqual([], shortfall.find({7: WANTED}))
        self.assertEqual(0.0, self.now)
