# SPDX-License-Identifier: Apache-2.0

"""The law of supply on simulated servers, and windows of supplies."""

import statistics

import hypothesis
from hypothesis import strategies as st
import numpy as np
from oslotest import base

from nova_rt.rules import reservation as rt_reservation
from rt_models.model.simulator import cbs
from rt_models.model.simulator import cpu
from rt_models.model.simulator import rt_group
from rt_models.model.simulator import ticks
from rt_models.model.simulator import traffic
from rt_probe import supply
from tests.unit import base as unit

_MS = 1_000_000
_TICK_US = 4_000
#: Each example is a simulation.
_FEWER = hypothesis.settings(unit.PROPERTY, max_examples=30)
_PERIODS_US = st.sampled_from([10_000, 20_000, 50_000, 100_000])


def server(share, period_us):
    return cpu.Station(rt_reservation.Reservation(
        max(1, round(share * period_us)), period_us), traffic.busy())


def of_ms(used, wall, period=100, **kwargs):
    return supply.Supply(round(used * _MS), round(wall * _MS), period * _MS,
                         **kwargs)


class LawTest(base.BaseTestCase):

    def check(self, trace, share, period_us, start, length, error_us):
        begin = start * period_us
        used = np.diff(trace.received_us(np.array(
            [begin, begin + length])))[0]
        found = supply.Supply(round(used * 1000), round(length * 1000),
                              period_us * 1000, 1, round(error_us * 1000)
                              ).estimate()
        self.assertLessEqual(found.lower - 1e-6, share)
        self.assertGreaterEqual(found.upper + 1e-6, share)

    @_FEWER
    @hypothesis.given(share=st.floats(0.05, 0.6), beside=st.floats(0.05, 0.35),
                      period_us=_PERIODS_US, other_us=_PERIODS_US,
                      start=st.floats(2, 20), length=st.floats(0.1, 15))
    def test_cbs_holds_the_share_in_any_window(
            self, share, beside, period_us, other_us, start, length):
        """The law also holds beside a server that shifts the budgets."""
        share = round(share * period_us) / period_us
        trace, _ = cbs.simulate(
            [server(share, period_us), server(beside, other_us)],
            until_us=40 * period_us)
        self.check(trace, share, period_us, start, length * period_us, 0)

    @_FEWER
    @hypothesis.given(share=st.floats(0.1, 0.9), period_us=_PERIODS_US,
                      phase=st.floats(0, _TICK_US),
                      start=st.floats(2, 20), length=st.floats(1, 15))
    def test_groups_that_are_charged_at_ticks(
            self, share, period_us, phase, start, length):
        share = round(share * period_us) / period_us
        trace, = rt_group.simulate(
            [server(share, period_us)], ticks.Ticks(_TICK_US, phase),
            until_us=40 * period_us)
        self.check(trace, share, period_us, start, length * period_us,
                   _TICK_US)

    @unit.PROPERTY
    @hypothesis.given(share=st.floats(0.01, 1), periods=st.floats(0.1, 100))
    def test_lower_and_upper_are_around_it(self, share, periods):
        found = of_ms(share * 100 * periods, 100 * periods).estimate()
        self.assertLessEqual(found.lower, found.available)
        self.assertGreaterEqual(found.upper, found.available)

    def test_longer_windows_are_narrower(self):
        short, long = (of_ms(0.3 * wall, wall).estimate()
                       for wall in (500, 5000))
        self.assertLess(long.upper - long.lower,
                        (short.upper - short.lower) / 5)

    def test_what_was_not_wanted_could_have_been_had(self):
        sure, unsure = (of_ms(300, 1000, unwanted_ns=ms * _MS).estimate()
                        for ms in (0, 50))
        self.assertEqual(sure.lower, unsure.lower)
        self.assertGreater(unsure.upper, sure.upper + 0.05)

    def test_several_cpus(self):
        found = of_ms(1200, 1000, cpus=2).estimate()
        self.assertAlmostEqual(1.2, found.available)
        self.assertTrue(1 < found.lower < 1.2 < found.upper < 1.4)


class WindowTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.window = supply.Window()

    def add(self, *shares, wall=500):
        return [self.window.add(of_ms(share * wall, wall))
                for share in shares]

    def test_same(self):
        self.assertEqual([None] * 8, self.add(*[0.3, 0.31] * 4))
        self.assertAlmostEqual(0.305, self.window.estimate().available)

    def test_halved_is_told_once(self):
        """The step of the change has both shares; the next step drops it."""
        told = self.add(*[0.6] * 8, 0.4, 0.3, 0.3)
        self.assertEqual([None] * 8, told[:8])
        self.assertAlmostEqual(0.6, told[8])
        self.assertEqual([None, None], told[9:])
        self.assertAlmostEqual(0.3, self.window.estimate().available)

    def test_halved_where_two_steps_differ(self):
        told = self.add(*[0.9] * 8, 0.7, 0.2, 0.2)
        self.assertEqual(1, sum(one is not None for one in told))
        self.assertAlmostEqual(0.2, self.window.estimate().available)

    def test_spread_counts(self):
        self.add(0.30, 0.30, 0.30, 0.30)
        steady = self.window.estimate()
        self.window.clear()
        self.add(0.27, 0.33, 0.27, 0.33)
        self.assertGreater(self.window.estimate().upper, steady.upper)

    def test_a_step_that_is_longer_than_all_that_counts(self):
        self.add(0.3, 0.3, 0.5, wall=20_000)
        self.assertAlmostEqual(0.5, self.window.estimate().available)

    def test_the_past_is_forgotten(self):
        self.add(*[0.32] * 20, *[0.30] * 20)
        self.assertAlmostEqual(0.30, self.window.estimate().available, 3)

    @unit.PROPERTY
    @hypothesis.given(st.lists(st.tuples(
        st.floats(0.29, 0.31), st.integers(400, 900)), min_size=5,
        max_size=80))
    def test_sums_are_of_what_still_counts(self, steps):
        window = supply.Window()
        for share, wall in steps:
            window.add(of_ms(share * wall, wall, unwanted_ns=wall))
        while sum(wall for _, wall in steps) * _MS > supply.LONGEST_NS:
            steps = steps[1:]
        found = window.estimate()
        used = sum(share * wall for share, wall in steps)
        total = sum(wall for _, wall in steps)
        law = of_ms(used, total, unwanted_ns=total).estimate()
        half = 2 * statistics.stdev(
            share for share, _ in steps) / len(steps) ** 0.5
        self.assertAlmostEqual(used / total, found.available, 6)
        self.assertAlmostEqual(law.lower - half, found.lower, 6)
        self.assertAlmostEqual(law.upper + half, found.upper, 6)

    @_FEWER
    @hypothesis.given(share=st.floats(0.1, 0.9), beside=st.floats(0.05, 0.35),
                      period_us=_PERIODS_US, other_us=_PERIODS_US)
    def test_no_false_alarm(self, share, beside, period_us, other_us):
        """A constant reservation is never reported as changed."""
        hypothesis.assume(share + beside <= 0.95)
        trace, _ = cbs.simulate(
            [server(share, period_us), server(beside, other_us)],
            until_us=10_000_000)
        received = np.diff(trace.received_us(np.arange(0, 10e6, 500_000)))
        window = supply.Window()
        self.assertEqual({None}, {window.add(supply.Supply(
            round(used * 1000), 500 * _MS, period_us * 1000))
            for used in received})
