# SPDX-License-Identifier: Apache-2.0

"""Tests the groups of mainline, by hand and as measured."""

import dataclasses

import ddt
import numpy as np
from oslotest import base

from nova_rt.rules import reservation as rt_reservation
from rt_models.model.simulator import cpu
from rt_models.model.simulator import rt_group
from rt_models.model.simulator import ticks
from rt_models.model.simulator import traffic


def server(runtime, period, *pairs, priority=0):
    arrivals, works = (np.array(column, dtype=float)
                       for column in zip(*pairs, strict=True))
    return cpu.Station(rt_reservation.Reservation(runtime, period),
                       traffic.Arrivals(arrivals, works), priority)


def busy(runtime, period, priority=0):
    return cpu.Station(rt_reservation.Reservation(runtime, period),
                       traffic.busy(), priority)


class ByHandTest(base.BaseTestCase):
    """Ticks at 0, 4, 8, ...; turns of 8 us."""

    def check(self, runs, *servers, until=100, parents=()):
        self.assertEqual(runs, [
            one.runs_us.tolist() for one in rt_group.simulate(
                servers, ticks.Ticks(4), parents, slice_us=8,
                until_us=until)])

    def test_overrun_is_paid(self):
        """More than 3 us are seen at 4; a refill of 3 leaves 1."""
        self.check([[[0, 4], [10, 16], [30, 32]]],
                   server(3, 10, (0, 12)))

    def test_just_the_runtime(self):
        """The runtime is within the budget at 4, and must be left at 10."""
        self.check([[[0, 8], [20, 22]]], server(4, 10, (0, 10)))

    def test_charged_when_it_leaves_the_cpu(self):
        """3.5 us at once: it sleeps throttled, until the refill at 10."""
        self.check([[[0, 3.5], [10, 11]]],
                   server(3, 10, (0, 3.5), (5, 1)))

    def test_timer_goes_on_while_something_is_charged(self):
        """The refill at 10 stops it, so that 25 is a new beginning."""
        self.check([[[0, 2], [25, 32], [45, 46]]],
                   server(3, 10, (0, 2), (25, 8)))

    def test_early_wake_up_keeps_the_instants(self):
        """After the refill at 10 the next one stays at 20."""
        self.check([[[0, 2], [15, 21], [30, 31]]],
                   server(6, 10, (0, 2), (15, 6), (30, 1)))

    def test_higher_priority_at_once(self):
        self.check([[[0, 1], [3, 5]], [[1, 3]]],
                   server(9, 10, (0, 3)), server(9, 10, (1, 2), priority=1))

    def test_equals_take_turns_at_ticks(self):
        self.check([[[0, 8], [16, 18]], [[8, 16], [18, 19]]],
                   server(90, 100, (0, 10)), server(90, 100, (1, 9)))

    def test_part_of_a_turn_is_kept(self):
        """The other one has seen a tick of its two when it is stopped."""
        self.check(
            [[[0, 5], [6, 8], [16, 17]], [[8, 16]], [[5, 6]]],
            server(90, 100, (0, 8)), server(90, 100, (1, 8)),
            server(90, 100, (5, 1), priority=1))

    def test_back_to_the_end(self):
        """At 10 the first may run again, after the turn of the second."""
        self.check([[[0, 4], [12, 14]], [[4, 12], [14, 18]]],
                   server(3, 10, (0, 6)), server(90, 100, (1, 12)),
                   until=30)

    def test_whole_cpu_is_never_throttled(self):
        self.check([[[0, 50]]], server(10, 10, (0, 50)))

    def test_group_above_stops_all(self):
        """More than 5 of 10 us are used by both together."""
        above = rt_reservation.Reservation(5, 10)
        self.check([[[0, 2], [10, 12]], [[2, 8]]],
                   server(9, 10, (0, 2), (10, 2)),
                   server(9, 10, (0, 6)), parents=[above], until=20)


@ddt.ddt
class MeasuredTest(base.BaseTestCase):
    """Two busy groups on one CPU of a kernel with a tick of 4 ms.

    Shares over 12 s on Linux 6.18; see doc/source/model/simulator.rst.
    """

    def shares(self, *servers, slice_us=rt_group.SLICE_US, parents=()):
        until = 12e6
        return [float(one.received_us(np.array([until]))[0]) / until
                for one in rt_group.simulate(
                    servers, ticks.Ticks(4000), parents, slice_us, until)]

    @ddt.data(((600_000, 1_000_000), (3_000, 10_000), 0.140),
              ((600_000, 1_000_000), (30_000, 100_000), 0.258),
              ((120_000, 200_000), (30_000, 100_000), 0.250))
    @ddt.unpack
    def test_one_priority(self, long, short, measured):
        first, second = busy(*long), busy(*short)
        self.assertAlmostEqual(
            measured, self.shares(first, second)[1], delta=0.011)
        higher = dataclasses.replace(second, priority=1)
        for shares in (self.shares(first, higher),
                       self.shares(first, second, slice_us=4000)):
            self.assertAlmostEqual(0.6, shares[0], delta=0.002)
            self.assertAlmostEqual(0.3, shares[1], delta=0.002)

    @ddt.data((0.6, 0.197), (0.95, 0.299))
    @ddt.unpack
    def test_budget_of_the_group_above(self, parent, measured):
        """One server uses its runtime late, and early in the next period."""
        above = rt_reservation.Reservation(round(parent * 1e6), 1_000_000)
        late = server(300_000, 1_000_000, (500_000, 1_000),
                      (1_070_000, 600_000))
        short = rt_group.simulate(
            [busy(3_000, 10_000, priority=1), late], ticks.Ticks(4000),
            [above], until_us=2e6)[0]
        had = short.received_us(np.array([1e6, 2e6]))
        self.assertAlmostEqual(measured, (had[1] - had[0]) / 1e6,
                               delta=0.01)
