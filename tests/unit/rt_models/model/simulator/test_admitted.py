# SPDX-License-Identifier: Apache-2.0

"""Tests that admitted servers of one CPU each get their share.

Random sets of 2 to 5 servers with periods of 10 ms to 1 s, always busy or
with random requests, on each interface; tests.seeds says which.
NOVA_RT_SETS asks for more of them, 10000 in a campaign.
"""

import os
import random

import ddt
from oslotest import base

from nova_rt.rules import reservation as rt_reservation
from rt_models.model.simulator import cpu
from rt_models.model.simulator import rt_group
from rt_models.model.simulator import ticks as rt_ticks
from tests import seeds
from tests.unit.rt_models.model.simulator import company

_SETS = int(os.environ.get('NOVA_RT_SETS', 200))
_SHORTEST_US = 10_000
_PART = 0.01
_ROUNDING_US = 1e-3


@ddt.ddt
class AdmittedTest(base.BaseTestCase):

    def check(self, kernel, poisson, later_us, single_us):
        """Each server gets 0.99 of its share over the first 20 periods.

        :param later_us: how much more any later 20 periods may lack
        :param single_us: what a single period may lack
        """
        seed = seeds.seed()
        draw = random.Random(seed)  # noqa: S311
        shortest = max(_SHORTEST_US, 5 * kernel.tick_us // 2)
        for number in range(_SETS):
            servers = kernel.in_kernel(
                company.admitted(draw, kernel, shortest))
            for lost in company.lost(draw, kernel, servers, poisson):
                part = _PART * company.PERIODS * lost.server.runtime_us
                seen = f'seed {seed}, set {number}: {servers}: {lost}'
                self.assertLessEqual(lost.first, part + _ROUNDING_US, seen)
                self.assertLessEqual(lost.any,
                                     part + later_us + _ROUNDING_US, seen)
                self.assertLessEqual(lost.single, single_us + _ROUNDING_US,
                                     seen)

    @ddt.data(False, True)
    def test_cbs(self, poisson):
        """Each server gets its whole runtime in each period."""
        self.check(company.Kernel('cbs'), poisson, 0, 0)

    @ddt.data((1000, False), (4000, False), (4000, True))
    @ddt.unpack
    def test_sched_deadline_at_ticks(self, tick, poisson):
        """A server pays for its own tick, and waits for that of another."""
        self.check(company.Kernel('sched_deadline', tick), poisson,
                   2 * tick, 2 * tick)

    @ddt.data((1000, False), (4000, False), (4000, True), (10_000, True))
    @ddt.unpack
    def test_rt_group_sched(self, tick, poisson):
        """A server pays for its own tick."""
        self.check(company.fixed_priorities(tick), poisson, tick, tick)

    @ddt.data((1000, False), (4000, False), (4000, True))
    @ddt.unpack
    def test_rt_group_sched_divided(self, tick, poisson):
        """The kernel has other periods than the reservations."""
        self.check(company.fixed_priorities(tick, min_divided_us=100),
                   poisson, tick, tick)


class CheatTest(base.BaseTestCase):
    """A slice of one tick never ends for a server that sleeps at ticks.

    Two servers of 47.5 ms every 100 ms at one priority.  One sleeps until
    the other's period begins, and uses its runtime late and early again.
    """

    TICK, RUNTIME, PERIOD = 4000, 47_500, 100_000

    def period_us(self, ticks):
        """Returns what the other server gets in that period."""
        reservation = rt_reservation.Reservation(self.RUNTIME, self.PERIOD)
        naps = range(0, self.PERIOD + 1, self.TICK)
        cheat = company.requests(
            (50_000.0, 10.0),
            *((self.PERIOD + nap - 50.0, self.TICK - 100.0) for nap in naps))
        trace = rt_group.simulate(
            [cpu.Station(reservation, company.busy_from(1.0)),
             cpu.Station(reservation, cheat)], rt_ticks.Ticks(self.TICK),
            slice_us=ticks * self.TICK, until_us=2.5 * self.PERIOD)[0]
        before, after = trace.received_us(
            company.points(self.PERIOD + 1.0, 2 * self.PERIOD + 1.0))
        return after - before

    def test_turns(self):
        self.assertLess(self.period_us(1), 0.1 * self.RUNTIME)
        self.assertGreater(self.period_us(2), 0.99 * self.RUNTIME)
