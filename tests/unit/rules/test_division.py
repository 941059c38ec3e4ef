# SPDX-License-Identifier: Apache-2.0

"""Tests divided reservations: what they give, and what fits with them."""

import dataclasses
import fractions
import itertools
import random

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import cpus
from nova_rt.rules import division
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from tests.unit import base as unit
from tests.unit.rules import test_schedulability

LEAST_US = 100
_RULES = st.sampled_from([
    unit.FIXED, dataclasses.replace(unit.FIXED, tick_us=1_000,
                                    min_period_us=2_500)])
_RESERVATIONS = st.integers(2, 4_194_304).flatmap(
    lambda period: st.builds(reservation.Reservation,
                             st.integers(2, period), st.just(period)))


def ms(runtime, period):
    return reservation.Reservation(round(runtime * 1000), period * 1000)


def host(pcpus=1, rule=unit.FIXED, least_us=LEAST_US):
    return dataclasses.replace(
        cpus.CpuBandwidth.empty(range(pcpus), 950_000, True, rule),
        min_divided_us=least_us)


def admit(state, vcpus, wanted, policy=policies.worst_fit):
    """Claims as nova-compute does; returns the state and the divisor."""
    chosen = cpus.fit(state, vcpus, wanted, policy)
    if chosen is None:
        return state, None
    divisor = cpus.divisor(state, chosen, wanted)
    return state.claim(chosen, division.divided(wanted, divisor)), divisor


class DividedTest(base.BaseTestCase):

    def test_divided(self):
        self.assertEqual(ms(3, 10), division.divided(ms(30, 100), 10))
        self.assertEqual(ms(30, 100), division.divided(ms(30, 100), 1))
        self.assertEqual(
            reservation.Reservation(4_286, 14_285),
            division.divided(ms(30, 100), 7))

    @hypothesis.given(_RULES, _RESERVATIONS, st.integers(0, 5_000))
    @unit.PROPERTY
    def test_the_whole_reservation_and_hardly_more(self, rule, wanted,
                                                   least_us):
        numbers = division.divisors(rule, wanted, least_us)
        self.assertEqual(1, numbers[0])
        self.assertEqual(sorted(set(numbers)), list(numbers))
        if not least_us:
            self.assertEqual((1,), numbers)
        for number in numbers[1:]:
            part = division.divided(wanted, number)
            self.assertGreaterEqual(number * part.runtime_us,
                                    wanted.runtime_us)
            self.assertLessEqual(number * part.period_us, wanted.period_us)
            self.assertGreaterEqual(part.runtime_us, least_us)
            self.assertGreaterEqual(part.period_us, rule.min_period_us)
            more = (fractions.Fraction(part.runtime_us, part.period_us)
                    - fractions.Fraction(wanted.runtime_us, wanted.period_us))
            self.assertLess(more, fractions.Fraction(102, reservation.PPM))
        levels = [rule.level(division.divided(wanted, number).period_us)
                  for number in numbers[1:]]
        self.assertEqual(len(set(levels)), len(levels))

    def test_edf_divides_nothing(self):
        self.assertEqual((1,), division.divisors(None, ms(30, 100), 100))
        state, divisor = admit(host(rule=None), 1, ms(30, 100))
        self.assertEqual((1, 300_000), (divisor, state.charged))

    def test_whole_microseconds_are_preferred(self):
        """9 and 10 have one priority, and 10 leaves no remainder."""
        numbers = division.divisors(unit.FIXED, ms(30, 100), LEAST_US)
        self.assertIn(10, numbers)
        self.assertNotIn(9, numbers)


class RoomTest(base.BaseTestCase):

    def test_equal_periods(self):
        """Undivided, two servers of 0.30 fit, and no third one of 0.20."""
        tick_1ms = dataclasses.replace(unit.FIXED, tick_us=1_000,
                                       min_period_us=2_500)
        servers = [ms(30, 100), ms(30, 100), ms(28, 100)]
        for least_us, fitting in ((0, 2), (LEAST_US, 3)):
            state = host(rule=tick_1ms, least_us=least_us)
            for number, wanted in enumerate(servers):
                self.assertEqual(number < fitting,
                                 cpus.fits(state, 1, wanted))
                state, _ = admit(state, 1, wanted)

    def test_a_lone_server_is_not_divided(self):
        for wanted in (ms(30, 100), ms(3, 10), ms(600, 1000)):
            self.assertEqual(1, admit(host(), 1, wanted)[1])

    def test_one_divisor_for_all_pcpus(self):
        state, _ = admit(host(2), 1, ms(40, 100))
        state, divisor = admit(state, 2, ms(45, 100))
        self.assertGreater(divisor, 1)
        part = division.divided(ms(45, 100), divisor)
        for cpu in (0, 1):
            self.assertIn(part, state.servers[cpu])

    def test_the_rounding_of_a_division_counts(self):
        """A request that fills the cap is not divided beyond the cap."""
        state, _ = admit(host(), 1, ms(45, 100))
        for runtime_us in range(44_000, 50_001, 7):
            wanted = reservation.Reservation(runtime_us, 100_003)
            more, divisor = admit(state, 1, wanted)
            self.assertLessEqual(more.charged, more.cap)
            if divisor is not None:
                self.assertGreater(more.charged, state.charged)

    @hypothesis.given(st.lists(st.tuples(
        st.integers(1, 3), st.integers(1, 60), st.integers(20, 400)),
        max_size=7), st.sampled_from([policies.worst_fit,
                                      policies.first_fit]), _RULES)
    @unit.PROPERTY
    def test_what_fits_the_kernel_can_serve(self, requests, policy, rule):
        state, made = host(3, rule), []
        for vcpus, percent, period in requests:
            wanted = ms(percent * period / 100, period)
            fits = cpus.fits(state, vcpus, wanted)
            before = state
            state, divisor = admit(state, vcpus, wanted, policy)
            self.assertEqual(fits, divisor is not None)
            if divisor is None:
                self.assertEqual(before, state)
                continue
            part = division.divided(wanted, divisor)
            chosen = [cpu for cpu in state.cpus
                      if before.used_on(cpu) != state.used_on(cpu)]
            made.append((chosen, part))
        self.assertLessEqual(state.charged, state.cap)
        for cpu in state.cpus:
            self.assertTrue(rule.holds(state.servers.get(cpu, ())))
        for chosen, part in made:
            state = state.release(chosen, part)
        self.assertEqual(host(3, rule), state)

    @hypothesis.given(st.lists(st.tuples(
        st.integers(1, 60), st.integers(20, 400)), max_size=6))
    @unit.PROPERTY
    def test_what_fits_undivided_fits(self, requests):
        state = host()
        for percent, period in requests:
            wanted = ms(percent * period / 100, period)
            if cpus.fits(dataclasses.replace(state, min_divided_us=0), 1,
                         wanted):
                self.assertTrue(cpus.fits(state, 1, wanted))
            state, _ = admit(state, 1, wanted)


class SimulationTest(base.BaseTestCase):
    """Beside neighbours that use their runtime late, and early again."""

    @hypothesis.given(
        st.lists(st.tuples(st.integers(1, 12), st.sampled_from(
            [12, 24, 36, 48])), min_size=2, max_size=4),
        st.booleans(), st.randoms(use_true_random=False))
    @unit.PROPERTY
    def test_each_gets_its_runtime_in_each_period(self, pairs, turns, chosen):
        found = test_schedulability.rule(min_period_us=3_000)
        state = host(rule=found, least_us=1_000)
        parts = []
        for runtime, period in pairs:
            state, divisor = admit(state, 1, ms(runtime, period))
            if divisor is not None:
                # The simulation knows whole units only, which is more here.
                part = division.divided(ms(runtime, period), divisor)
                parts.append((part, divisor))
        units = [(-(-part.runtime_us // 1000), part.period_us // 1000)
                 for part, _ in parts]
        hypothesis.assume(found.holds([ms(*unit) for unit in units]))
        for victim in range(len(units)):
            cpu = test_schedulability.Pcpu(units, found, turns, victim,
                                           chosen)
            cpu.run(8 * 48)
            self.assertEqual([], cpu.short)


class CapacityTest(base.BaseTestCase):
    """The capacity of one pCPU with a tick of 1 ms, relative to EDF."""

    def test_equal_periods_of_100_ms_and_more(self):
        rule = dataclasses.replace(unit.FIXED, tick_us=1_000,
                                   min_period_us=2_500)
        draw = random.Random(34)  # noqa: S311
        for least_us, low, high in ((0, 0.3, 0.7), (LEAST_US, 0.9, 1.0)):
            parts = [self.part(draw, rule, least_us) for _ in range(12)]
            self.assertTrue(low <= sum(parts) / len(parts) <= high, parts)

    @staticmethod
    def part(draw, rule, least_us):
        """Returns the part of the cap that servers with one period get."""
        period_us = draw.randint(100_000, 1_000_000)
        weights = [draw.uniform(0.2, 1) for _ in range(draw.randint(2, 4))]
        for per_cent in itertools.count(100, -1):
            state = host(rule=rule, least_us=least_us)
            for weight in weights:
                state, divisor = admit(state, 1, reservation.Reservation(
                    round(0.0095 * per_cent * period_us * weight
                          / sum(weights)), period_us))
                if divisor is None:
                    break
            else:
                return per_cent / 100
        return 0.0
