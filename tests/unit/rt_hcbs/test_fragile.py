# SPDX-License-Identifier: Apache-2.0

"""A budget is taken when no timer of its servers can stand any more."""

import os
import unittest

import testscenarios

from nova_rt.machine.host import ticks
from nova_rt.rules import exception
from rt_hcbs import timers
from tests.unit.machine.kernel import base

TICK_US = ticks.tick_us()
LEAF = base.LEAF
THREAD = 7


class LeastRuntimeTest(unittest.TestCase):

    def test_the_shortest_runtime(self) -> None:
        for by_timer, least in ((True, 100), (False, 4_000), (None, 4_000)):
            self.assertEqual(
                least, timers.least_runtime_us(4_000, by_timer))


class TimersTest(unittest.TestCase):
    """Tests what was in force counts until the last of its timers is gone."""

    def setUp(self) -> None:
        self.timers = timers.Timers(100.0)
        self.unknown = 100.0 + 8.408608

    def test_a_group_found_at_the_start(self) -> None:
        self.assertAlmostEqual(self.unknown, self.timers.until('a'))

    def test_one_that_held_nothing(self) -> None:
        self.timers.note('a', 0, 101.0)
        self.assertEqual(101.0, self.timers.until('a'))

    def test_the_longest_counts(self) -> None:
        self.timers.note('a', 0, 100.0)
        self.timers.note('a', 2_000_000, 101.0)
        self.timers.note('a', 50_000, 101.5)
        self.timers.note('a', 0, 102.0)
        self.assertEqual(103.0, self.timers.until('a'))

    def test_a_change_of_what_was_found(self) -> None:
        self.timers.note('a', 50_000, 101.0)
        self.assertAlmostEqual(self.unknown, self.timers.until('a'))

    def test_forgets_what_is_over(self) -> None:
        for number in range(100):
            self.timers.note(f'{number}', 1_000_000, 200.0 + number)
        self.assertLess(len(self.timers._until), 4)


class FragileTest(testscenarios.WithScenarios, base.KernelTest):
    """Kernels of the first patches, which die of it."""

    scenarios = [(kind, {'kind': kind}) for kind in (
        'F2', 'F2-v2', 'F2m', 'F2m-v2', 'F3', 'F3m')]

    def setUp(self) -> None:
        super().setUp()
        self.kernel.shows_timers = False
        base.mkdirs(self.kernel, LEAF)
        self.every = range(self.kernel.cpus)

    def run_in(self, runtime: int, period: int) -> None:
        self.interface.reserve(
            {LEAF: base.budget(runtime, period, *self.every)})
        if THREAD not in self.kernel.tasks:
            self.kernel.spawn(THREAD, LEAF, LEAF)
        self.kernel.set_policy(THREAD, os.SCHED_FIFO, 1)

    def release(self) -> None:
        self.kernel.set_policy(THREAD, os.SCHED_OTHER)
        self.interface.release([LEAF])
        self.assertIsNone(self.interface.read(LEAF))

    def test_a_runtime_below_a_tick_is_refused(self) -> None:
        with self.assertRaisesRegex(exception.KernelError,
                                    f'at least {TICK_US} us'):
            self.run_in(TICK_US - 1, 100 * TICK_US)
        self.assertEqual(TICK_US,
                         self.interface.capacity('/machine').min_runtime_us)

    def test_a_runtime_below_a_tick_that_is_found(self) -> None:
        """Given by hand, or by an earlier version."""
        least = self.interface.least_runtime_us
        self.interface.least_runtime_us = lambda: 2  # type: ignore
        self.run_in(TICK_US // 5, 5 * TICK_US)
        self.interface.least_runtime_us = least  # type: ignore
        self.kernel.clock.sleep(0.5)
        self.release()

    def test_after_a_resize_to_a_shorter_period(self) -> None:
        self.run_in(100_000, 1_000_000)
        self.kernel.clock.sleep(1.2)
        self.run_in(TICK_US, 50_000)
        self.release()

    def test_after_several(self) -> None:
        for runtime, period in ((60, 200), (25, 500), (10, 200)):
            self.run_in(runtime * 1000, period * 1000)
        self.release()

    def test_after_a_restart(self) -> None:
        """The process before this one had resized the server."""
        self.run_in(1_000_000, 4_194_304)
        self.run_in(TICK_US, 50_000)
        self.interface = self.interface_on(self.kernel)
        self.release()

    def test_a_group_known_for_long_costs_a_few_of_its_periods(self) -> None:
        self.run_in(40_000, 100_000)
        self.kernel.clock.sleep(10)
        before = self.kernel.clock.now
        self.release()
        self.assertAlmostEqual(0.22, self.kernel.clock.now - before)

    def test_run_time_that_was_charged_very_late(self) -> None:
        """A hypervisor took the CPU away; the kernel shows its timers."""
        self.kernel.shows_timers = True
        self.kernel.stolen_us = 300_000
        self.run_in(10_000, 200_000)
        self.kernel.clock.sleep(1)
        self.run_in(30_000, 100_000)
        self.release()
        self.assertGreater(self.kernel.clock.now, 6)

    def test_timers_of_others_are_outlasted_too(self) -> None:
        """The timers cannot be told apart, and all of them end soon."""
        self.kernel.shows_timers = True
        base.mkdirs(self.kernel, base.OTHER)
        self.interface.reserve({base.OTHER: base.budget(
            100_000, 1_000_000, *self.every)})
        self.kernel.spawn(8, base.OTHER, base.OTHER)
        self.kernel.set_policy(8, os.SCHED_FIFO, 1)
        self.kernel.exit(8)
        self.run_in(40_000, 100_000)
        self.release()
        self.assertLess(self.kernel.clock.now, 3)


class SturdyTest(testscenarios.WithScenarios, base.KernelTest):
    """Kernels that stop the timer with the budget cost no wait."""

    scenarios = [(kind, {'kind': kind}) for kind in ('F4', 'F5')]

    def test_release(self) -> None:
        base.mkdirs(self.kernel, LEAF)
        self.interface.reserve({LEAF: base.budget(
            40_000, 100_000, *range(self.kernel.cpus))})
        before = self.kernel.clock.now
        self.interface.release([LEAF])
        self.assertEqual(before, self.kernel.clock.now)
