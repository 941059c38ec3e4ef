# SPDX-License-Identifier: Apache-2.0

"""What is tested here: several servers on several CPUs."""

import hypothesis
from hypothesis import strategies as st
import numpy as np
from oslotest import base

from nova_rt import exception
from nova_rt.model import contended
from nova_rt.model import load as rt_load
from nova_rt.model.simulator import edf
from nova_rt.model.simulator import lone
from nova_rt.model.simulator import traffic
from nova_rt import reservation as rt_reservation
from tests.unit import base as unit
from tests.unit.model import strategies

#: Each example is a simulation.
_FEWER = hypothesis.settings(unit.PROPERTY, max_examples=20)


def server(runtime, period, *pairs):
    arrivals, works = (np.array(column, dtype=float)
                       for column in zip(*pairs, strict=True))
    return edf.Server(rt_reservation.Reservation(runtime, period),
                      traffic.Requests(arrivals, works))


def hog(runtime, period, until):
    """A server that never has nothing to do."""
    return server(runtime, period, (0, until))


class ByHandTest(base.BaseTestCase):

    def check(self, expected, *servers):
        self.assertEqual(expected, [
            seen.tolist() for seen in edf.responses_us([servers])[0]])

    def test_earliest_deadline_first(self):
        self.check([[5], [2]],
                   server(3, 10, (0, 3)), server(2, 5, (0, 2)))

    def test_preemption(self):
        """The other arrives at 1 with the deadline 6."""
        self.check([[5], [2]],
                   server(3, 10, (0, 3)), server(2, 5, (1, 2)))

    def test_no_preemption_by_an_equal_deadline(self):
        self.check([[3], [4]],
                   server(3, 10, (0, 3)), server(2, 9, (1, 2)))

    def test_throttled_server_leaves_the_cpu(self):
        self.check([[11], [6]],
                   server(3, 10, (0, 4)), server(3, 12, (0, 3)))

    def test_no_request(self):
        empty = traffic.Requests(np.array([]), np.array([]))
        self.check([[], [1]], edf.Server(
            rt_reservation.Reservation(1, 2), empty), server(1, 2, (5, 1)))

    def test_cpus_are_apart(self):
        seen = edf.responses_us([[server(2, 10, (0, 2))], [],
                                 [server(9, 10, (0, 9))]])
        self.assertEqual([[[2.0]], [], [[9.0]]], [
            [one.tolist() for one in cpu] for cpu in seen])

    def test_too_much_for_a_cpu(self):
        fits = server(5, 10, (0, 1))
        error = self.assertRaises(
            exception.InvalidLoad, edf.responses_us,
            [[fits, fits], [fits, server(6, 11, (0, 1))]])
        self.assertIn('on CPU 1: their shares', str(error))


class PropertiesTest(base.BaseTestCase):

    @hypothesis.given(strategies.cases(requests=(0.3, 100)),
                      st.integers(0, 1000))
    @_FEWER
    def test_alone_is_as_lone(self, case, seed):
        reservation, load = case
        requests = traffic.poisson(load, 200, seed)
        seen = edf.responses_us([[edf.Server(reservation, requests)]])[0][0]
        np.testing.assert_allclose(
            seen, lone.responses_us(requests, reservation.runtime_us,
                                    reservation.period_us), rtol=1e-6)

    @hypothesis.given(strategies.cases(least=0.3, requests=(0.3, 30)),
                      st.integers(0, 1000), st.floats(0.2, 5))
    @_FEWER
    def test_contended_at_most_a_period_behind_the_fluid_queue(
            self, case, seed, ratio):
        """The bound of ``contended``, for each and every request."""
        reservation, load = case
        period = int(reservation.period_us * ratio)
        left = period * (reservation.period_us - reservation.runtime_us
                         ) // reservation.period_us
        hypothesis.assume(left >= 2)
        requests = traffic.poisson(load, 30, seed)
        seen = edf.responses_us([[
            edf.Server(reservation, requests),
            hog(left, period, requests.arrivals_us[-1])]])[0][0]
        fluid = lone.responses_us(traffic.Requests(
            requests.arrivals_us, requests.works_us / reservation.share),
            1, 1)
        late = seen - fluid - reservation.period_us
        self.assertLessEqual(late.max(), 1e-6 * requests.arrivals_us[-1])

    def test_bound_of_the_distribution(self):
        load = rt_load.Load(600, 2000)
        reservation = rt_reservation.Reservation(1000, 2000)
        requests = traffic.poisson(load, 20_000, seed=1)
        seen = edf.responses_us([[
            edf.Server(reservation, requests), hog(750, 1500, 2e7)]])[0][0]
        bound = contended.RoundTrip(load, reservation)
        self.assertLess(seen.mean(), bound.mean_us)
        for one in (0.5, 0.9, 0.99):
            self.assertLess(np.quantile(seen, one), bound.percentile_us(one))
