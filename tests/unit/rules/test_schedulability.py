# SPDX-License-Identifier: Apache-2.0

"""Tests what fixed priorities can give to several servers.

The analysis is compared with a pCPU that is simulated here, unit of time by
unit of time, with neighbours that do their worst.
"""

import math

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import reservation
from nova_rt.rules import schedulability
from tests.unit import base as unit

#: A unit of time of the simulated pCPU, in us.
UNIT_US = 1_000

_PERIODS = st.integers(4, 30)
_SERVERS = st.lists(
    _PERIODS.flatmap(lambda period: st.tuples(
        st.integers(1, max(1, period // 2)), st.just(period))),
    min_size=2, max_size=4)


def rule(levels=48, tick_us=0, min_period_us=1):
    return schedulability.FixedPriorities(levels, tick_us, min_period_us)


def ms(runtime, period):
    return reservation.Reservation(int(runtime * 1000), int(period * 1000))


class LevelTest(base.BaseTestCase):

    def test_ends_of_the_scale(self):
        for levels in (1, 2, 48, 99):
            self.assertEqual(levels - 1, rule(levels).level(2))
            self.assertEqual(levels - 1, rule(levels).level(1024))
            self.assertEqual(0, rule(levels).level(4_194_304))

    def test_four_levels_an_octave(self):
        for shift in range(12):
            self.assertEqual(47 - 4 * shift, rule().level(1024 << shift))

    @hypothesis.given(st.integers(1, 99), st.integers(2, 4_194_304),
                      st.integers(2, 4_194_304))
    @unit.PROPERTY
    def test_the_shorter_period_is_never_below(self, levels, one, other):
        low, high = sorted((one, other))
        self.assertGreaterEqual(rule(levels).level(low),
                                rule(levels).level(high))
        self.assertIn(rule(levels).level(one), range(levels))


class HoldsTest(base.BaseTestCase):

    def test_one_server(self):
        self.assertTrue(rule().holds([ms(1000, 1000)]))
        self.assertTrue(rule().holds([]))

    def test_a_short_period_beside_a_long_one(self):
        """At one priority, these servers got 0.14 and 0.60 (measured)."""
        self.assertTrue(rule(tick_us=4000).holds([ms(3, 10), ms(600, 1000)]))
        self.assertFalse(rule(levels=1, tick_us=4000).holds(
            [ms(3, 10), ms(600, 1000)]))

    def test_late_and_again_early(self):
        """The sum is 0.9; three runs of 30 ms can fall into 200 ms."""
        self.assertFalse(rule().holds([ms(30, 100), ms(120, 200)]))
        self.assertTrue(rule().holds([ms(30, 100), ms(110, 200)]))

    def test_equal_periods_delay_each_other(self):
        """The kernel does not say which of the servers runs first."""
        self.assertTrue(rule().holds([ms(30, 100)] * 2))
        self.assertFalse(rule().holds([ms(30, 100)] * 3))

    def test_a_period_that_ticks_cannot_keep(self):
        self.assertFalse(rule(min_period_us=10_000).holds([ms(0.1, 9.999)]))
        self.assertTrue(rule(min_period_us=10_000).holds([ms(0.1, 10)]))

    def test_an_overrun_counts(self):
        """Overruns count: the other server's and its own before a refill."""
        servers = [ms(4, 12), ms(4, 16)]
        self.assertTrue(rule(tick_us=2000).holds(servers))
        self.assertFalse(rule(tick_us=2001).holds(servers))

    def test_response_time(self):
        # It ends within the 87th run of the other: 600 + 87 * 3.
        self.assertEqual(861_000, rule().response_us(
            ms(600, 1000), [ms(3, 10)]))
        self.assertEqual(3_000, rule().response_us(
            ms(3, 10), [ms(600, 1000)]))
        self.assertIsNone(rule().response_us(ms(3, 10), [ms(8, 10)]))

    @hypothesis.given(_SERVERS)
    @unit.PROPERTY
    def test_fewer_servers_never_fit_worse(self, pairs):
        servers = [ms(*pair) for pair in pairs]
        if rule().holds(servers):
            for place in range(len(servers)):
                self.assertTrue(rule().holds(
                    servers[:place] + servers[place + 1:]))

    @hypothesis.given(_SERVERS)
    @unit.PROPERTY
    def test_more_than_the_pcpu_never_fits(self, pairs):
        if sum(runtime / period for runtime, period in pairs) > 1:
            self.assertFalse(rule().holds([ms(*pair) for pair in pairs]))

    @hypothesis.given(_SERVERS, st.booleans(), st.integers(1, 48),
                      st.randoms(use_true_random=False))
    @unit.PROPERTY
    def test_each_gets_its_runtime_in_each_period(self, pairs, turns, levels,
                                                  chosen):
        found = rule(levels)
        hypothesis.assume(found.holds([ms(*pair) for pair in pairs]))
        for victim in range(len(pairs)):
            cpu = Pcpu(pairs, found, turns, victim, chosen)
            cpu.run(8 * max(period for _, period in pairs))
            self.assertEqual([], cpu.short)


class Pcpu:
    """Deferrable servers under fixed priorities, by units of time.

    The victim always has work.  Each neighbour uses its runtime as early as
    it can in one period, and as late as it can, or not at all, in another.

    :ivar short: the periods in which the victim did not get its runtime
    """

    def __init__(self, pairs, found, turns, victim, chosen):
        self.pairs, self.turns, self.victim = pairs, turns, victim
        self.chosen = chosen
        self.levels = [found.level(period * UNIT_US) for _, period in pairs]
        self.phases = [chosen.randrange(period) for _, period in pairs]
        self.left = [0] * len(pairs)
        self.early = [True] * len(pairs)
        self.got = 0
        self.short = []
        # Who ran longest ago; without turns the victim comes last.
        self.queue = [n for n in range(len(pairs)) if n != victim] + [victim]

    def run(self, units):
        for now in range(units):
            for number, (runtime, period) in enumerate(self.pairs):
                if (now + self.phases[number]) % period == 0:
                    self._refill(number, runtime, now)
            ready = [n for n in self.queue if self._wants(n, now)]
            if ready:
                self._give(max(ready, key=lambda n: self.levels[n]))

    def _refill(self, number, runtime, now):
        if number == self.victim:
            if now > self.pairs[number][1] and self.left[number]:
                self.short.append(now)
        self.left[number] = runtime
        self.early[number] = self.chosen.random() < 0.5

    def _wants(self, number, now):
        runtime, period = self.pairs[number]
        if not self.left[number]:
            return False
        if number == self.victim or self.early[number]:
            return True
        # As late as it still gets all of it, were it alone.
        until = period - (now + self.phases[number]) % period
        return until <= self.left[number]

    def _give(self, number):
        self.left[number] -= 1
        if self.turns:
            self.queue.remove(number)
            self.queue.append(number)


class SourceTest(base.BaseTestCase):

    def test_the_scale_ends_where_reservations_do(self):
        self.assertEqual(12, math.log2(reservation.MAX_PERIOD_US / 1024))
