# SPDX-License-Identifier: Apache-2.0

"""The estimates from the gaps of bursts on simulated servers."""

import itertools

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import reservation as rt_reservation
from rt_models.model.simulator import cbs
from rt_models.model.simulator import cpu
from rt_models.model.simulator import traffic
from rt_probe import gaps
from tests.unit import base as unit

_MS = 1_000_000
_TICK_NS = 4 * _MS
_FEWER = hypothesis.settings(unit.PROPERTY, max_examples=30)


def server(share, period_us):
    return cpu.Station(rt_reservation.Reservation(
        round(share * period_us), period_us), traffic.busy())


def seen(trace):
    """Returns the gaps of a burst that uses up a server alone."""
    runs = [(round(begin * 1000), round(end * 1000))
            for begin, end in trace.runs_us.tolist()]
    used, found = 0, []
    for (begin, end), (after, _) in itertools.pairwise(runs):
        used += end - begin
        if after - end > 300_000:
            found.append(gaps.Gap(end, after, used, 0))
    return found


def ends(*at_ms, share=0.3):
    return [gaps.Gap(round((at - 5) * _MS), round(at * _MS),
                     round(share * at * _MS), 0) for at in at_ms]


class EstimateTest(base.BaseTestCase):

    @_FEWER
    @hypothesis.given(share=st.floats(0.05, 0.95),
                      period_ms=st.sampled_from([10, 20, 50, 100]),
                      known=st.booleans())
    def test_alone_it_is_the_share(self, share, period_ms, known):
        """The estimate is right with and without a known period."""
        period_us = 1000 * period_ms
        share = round(share * period_us) / period_us
        trace, = cbs.simulate([server(share, period_us)],
                              until_us=max(5, 140 // period_ms) * period_us)
        found = gaps.estimate(
            seen(trace), period_ms * _MS if known else None, _TICK_NS)
        if share * period_us > period_us - 300:
            return  # its gaps are too short to be any
        self.assertAlmostEqual(share, found.available, 5)

    @_FEWER
    @hypothesis.given(share=st.floats(0.1, 0.6), beside=st.floats(0.05, 0.35),
                      period_ms=st.sampled_from([20, 50, 100]),
                      other_us=st.sampled_from([3_000, 7_000, 30_000]))
    def test_beside_another_server_the_interval_holds_or_nothing_is_said(
            self, share, beside, period_ms, other_us):
        period_us = 1000 * period_ms
        share = round(share * period_us) / period_us
        trace, _ = cbs.simulate(
            [server(share, period_us), server(beside, other_us)],
            until_us=10 * period_us)
        found = gaps.estimate(seen(trace), period_ms * _MS, _TICK_NS)
        if found is not None:
            # Ends may be a millisecond off the grid, at either end.
            wall = gaps.least_ns(period_ms * _MS, _TICK_NS)
            self.assertLessEqual(found.lower, share + 2 * _MS / wall)
            self.assertGreaterEqual(found.upper, share - 2 * _MS / wall)

    def test_foreign_gaps_are_left_out(self):
        found = gaps.estimate(
            [*ends(0), *ends(13.1), *ends(100, 200), *ends(237, share=0.5),
             *ends(300)], 100 * _MS, _TICK_NS)
        self.assertAlmostEqual(0.3, found.available)

    def test_turns_of_the_vnf_are_no_ends(self):
        turn = gaps.Gap(0, 100 * _MS, 30 * _MS, 60 * _MS)
        self.assertEqual([], gaps.ends([turn]))

    def test_where_the_vnf_runs_first_the_budget_came_earlier(self):
        gap = gaps.Gap(30 * _MS, 103 * _MS, 50 * _MS, 3 * _MS)
        self.assertEqual([gaps.End(100 * _MS, 47 * _MS)], gaps.ends([gap]))

    def test_too_few(self):
        self.assertIsNone(gaps.estimate(ends(0, 100), 100 * _MS, _TICK_NS))
        self.assertIsNone(gaps.estimate(ends(0, 100, 200), 100 * _MS,
                                        _TICK_NS))
        self.assertIsNone(gaps.estimate([], None, _TICK_NS))

    def test_window_of_25_ticks(self):
        self.assertIsNone(gaps.estimate(ends(*range(0, 100, 10)), 10 * _MS,
                                        _TICK_NS))
        self.assertIsNotNone(gaps.estimate(ends(*range(0, 101, 10)),
                                           10 * _MS, _TICK_NS))

    def test_no_grid(self):
        self.assertIsNone(gaps.estimate(ends(0, 107, 231, 402), 100 * _MS,
                                        _TICK_NS))

    def test_period_that_nobody_knows(self):
        self.assertEqual(20 * _MS, gaps.fit_period_ns(
            gaps.ends(ends(0, 20, 33, 40, 60, 80))))
