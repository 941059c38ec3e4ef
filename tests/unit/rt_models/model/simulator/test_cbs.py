# SPDX-License-Identifier: Apache-2.0

"""Tests CBS servers under EDF, by a timer or at ticks."""

import math

import hypothesis
from hypothesis import strategies as st
import numpy as np
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model.simulator import cbs
from rt_models.model.simulator import cpu
from rt_models.model.simulator import lone
from rt_models.model.simulator import ticks
from rt_models.model.simulator import traffic
from tests.unit import base as unit
from tests.unit.rt_models.model import strategies

#: Each example is a simulation.
_FEWER = hypothesis.settings(unit.PROPERTY, max_examples=20)


def server(runtime, period, *pairs):
    arrivals, works = (np.array(column, dtype=float)
                       for column in zip(*pairs, strict=True))
    return cpu.Station(rt_reservation.Reservation(runtime, period),
                       traffic.Arrivals(arrivals, works))


class ByHandTest(base.BaseTestCase):

    def check(self, expected, *servers):
        self.assertEqual(expected, [
            seen.responses_us.tolist() for seen in cbs.simulate(servers)])

    def test_earliest_deadline_first(self):
        self.check([[5], [2]],
                   server(3, 10, (0, 3)), server(2, 5, (0, 2)))

    def test_preemption(self):
        """The other server arrives at 1 with the deadline 6."""
        self.check([[5], [2]],
                   server(3, 10, (0, 3)), server(2, 5, (1, 2)))

    def test_no_preemption_by_an_equal_deadline(self):
        self.check([[3], [4]],
                   server(3, 10, (0, 3)), server(2, 9, (1, 2)))

    def test_throttled_server_leaves_the_cpu(self):
        self.check([[11], [6]],
                   server(3, 10, (0, 4)), server(3, 12, (0, 3)))

    def test_no_request(self):
        empty = traffic.Arrivals(np.array([]), np.array([]))
        self.check([[], [1]], cpu.Station(
            rt_reservation.Reservation(1, 2), empty), server(1, 2, (5, 1)))

    def test_too_much_for_a_cpu(self):
        fits = server(5, 10, (0, 1))
        error = self.assertRaises(
            exception.InvalidLoad, cbs.simulate,
            [fits, server(6, 11, (0, 1))])
        self.assertIn('their shares must not add up to more than 1',
                      str(error))

    def test_received(self):
        trace, = cbs.simulate([server(3, 10, (5, 4))])
        self.assertEqual([[5, 8], [15, 16]], trace.runs_us.tolist())
        self.assertEqual([0, 1, 3, 3, 4], trace.received_us(
            np.array([5, 6, 8, 15, 20])).tolist())

    def test_stopped(self):
        """A request that is not done by then has no answer."""
        trace, = cbs.simulate([server(3, 10, (0, 4))], until_us=5)
        self.assertEqual([math.inf], trace.responses_us.tolist())
        self.assertEqual([[0, 3]], trace.runs_us.tolist())


class TicksTest(base.BaseTestCase):
    """Ticks at 0, 4, 8, ..."""

    def check(self, runs, *servers, until=100):
        self.assertEqual(runs, [
            one.runs_us.tolist() for one in cbs.simulate(
                servers, ticks.Ticks(4), until_us=until)])

    def test_overrun_is_paid(self):
        """The server used 4 of 3 us, so its next budget is 2 us."""
        self.check([[[0, 4], [10, 12], [20, 24]]], server(3, 10, (0, 10)))

    def test_budget_used_when_it_leaves_the_cpu(self):
        """The request takes the budget and 0.5 us more."""
        self.check([[[0, 3.5], [10, 11]]],
                   server(3, 10, (0, 3.5), (4, 1)))

    def test_the_deadline_passed_before_the_tick(self):
        """1 us every 2 us: at 4 the deadline 2 has passed, so no wait.

        Deadline and budget move to 10 and 1; that is known to be used at 8.
        """
        self.check([[[0, 8], [10, 11]]], server(1, 2, (0, 9)))

    def test_behind_an_overrun(self):
        """The other server, with the deadline 9, begins at the tick."""
        self.check([[[0, 4]], [[4, 6]]],
                   server(3, 8, (0, 4)), server(2, 9, (0, 2)))


class PropertiesTest(base.BaseTestCase):

    @hypothesis.given(strategies.cases(requests=(0.3, 100)),
                      st.integers(0, 1000))
    @_FEWER
    def test_alone_is_as_lone(self, case, seed):
        reservation, load = case
        requests = traffic.poisson(load, 200, seed)
        seen = cbs.simulate([cpu.Station(reservation, requests)]
                            )[0].responses_us
        np.testing.assert_allclose(
            seen, lone.responses_us(requests, reservation.runtime_us,
                                    reservation.period_us), rtol=1e-6)
