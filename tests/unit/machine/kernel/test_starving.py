# SPDX-License-Identifier: Apache-2.0

"""Tests who starves, by a clock and threads of our own."""

import errno
import unittest
from unittest import mock

from nova_rt.machine.host import thread
from nova_rt.machine.kernel import starving

PERIOD_US = 100_000


class WatchTest(unittest.TestCase):
    """Thread 7 gets 1 ms of CPU time at each moment of *runs*."""

    def setUp(self) -> None:
        self.now = 0.0
        self.runs: list[float] = []
        self.sleeps_at = float('inf')
        self.asked = 0
        for target, name, new in (
                (starving, 'time', self), (thread, 'ran_ns', self.ran_ns),
                (thread, 'is_runnable', self.is_runnable)):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)
        self.watch = starving.Watch()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def is_runnable(self, number: int) -> bool:
        if number != 7:
            raise ProcessLookupError(errno.ESRCH, 'gone')
        return self.now < self.sleeps_at

    def ran_ns(self, number: int) -> int:
        self.asked += 1
        return 1_000_000 * sum(moment <= self.now for moment in self.runs)

    def test_one_that_never_runs(self) -> None:
        self.assertTrue(self.watch.starves(7, PERIOD_US))
        self.assertGreater(self.now, 0.2)
        self.assertLess(self.now, 0.6)

    def test_a_host_so_busy_that_we_are_late(self) -> None:
        """The vCPU runs while this process cannot run."""
        self.runs = [0.15]

        def ran_ns(number: int) -> int:
            found = self.ran_ns(number)
            if self.asked == 1:
                self.now += 10
            return found
        with mock.patch.object(thread, 'ran_ns', ran_ns):
            self.assertFalse(self.watch.starves(7, PERIOD_US))

    def test_throttled_until_its_next_period(self) -> None:
        self.runs = [0.15]
        self.assertFalse(self.watch.starves(7, PERIOD_US))
        self.assertLess(self.now, 0.2)

    def test_one_that_falls_asleep(self) -> None:
        self.sleeps_at = 0.05
        self.assertFalse(self.watch.starves(7, PERIOD_US))
        self.assertFalse(self.watch.starves(7, PERIOD_US))

    def test_one_that_ended(self) -> None:
        self.assertFalse(self.watch.starves(8, PERIOD_US))
        self.watch.note([8])

    def test_what_was_noted_is_not_waited_for(self) -> None:
        self.watch.note([7])
        self.runs, self.now = [0.1], 0.2
        self.assertFalse(self.watch.starves(7, PERIOD_US))
        self.assertEqual(0.2, self.now)

    def test_stuck_after_it_was_noted(self) -> None:
        """The vCPU ran since it was noted, but not for long enough."""
        self.watch.note([7])
        self.runs, self.now = [0.1], 2.0
        self.assertTrue(self.watch.starves(7, PERIOD_US))

    def test_stuck_since_it_was_noted(self) -> None:
        self.watch.note([7])
        self.now = 60.0
        self.assertTrue(self.watch.starves(7, PERIOD_US))
        self.assertEqual(60.0, self.now)

    def test_forgotten(self) -> None:
        """Another thread may have its id by now."""
        self.watch.note([7])
        self.watch.forget()
        self.now, self.runs = 60.0, [60.1]
        self.assertFalse(self.watch.starves(7, PERIOD_US))
