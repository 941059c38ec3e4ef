# SPDX-License-Identifier: Apache-2.0

"""Tests round trips, the network's queue and the inverse."""

import math

import hypothesis
from hypothesis import strategies as st
import numpy as np
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import exact
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model.simulator import lone
from rt_models.model.simulator import traffic
from tests.unit import base as unit
from tests.unit.rt_models.model import strategies

LOAD = rt_load.Load(1000, 2000)
RESERVATION = rt_reservation.Reservation(1600, 2000)


class PredictTest(base.BaseTestCase):

    def test_delay(self):
        alone = exact.predict(LOAD, RESERVATION)
        far = exact.predict(LOAD, RESERVATION, rt_load.Network(100))
        self.assertAlmostEqual(alone.mean_us + 200, far.mean_us)
        self.assertAlmostEqual(alone.percentile_us(0.9) + 200,
                               far.percentile_us(0.9))
        self.assertAlmostEqual(alone.survival(1000), far.survival(1200))
        self.assertEqual(1, far.survival(200))

    def test_a_network_of_next_to_no_time(self):
        slow = rt_load.Load(125, 250)
        alone = exact.predict(slow, RESERVATION).percentile_us(0.99)
        fast = exact.predict(slow, RESERVATION, rt_load.Network(0, 976_562))
        self.assertAlmostEqual(1, fast.percentile_us(0.99) / alone, 2)

    def test_two_equal_queues(self):
        """The survival of two exponential times is (1 + t) exp(-t)."""
        whole = rt_reservation.Reservation(100, 100)
        trip = exact.predict(LOAD, whole, rt_load.Network(50, 2000))
        self.assertAlmostEqual(2100, trip.mean_us, delta=0.1)
        for time in (100, 1000, 5000):
            self.assertAlmostEqual(
                (1 + time / 1000) * math.exp(-time / 1000),
                trip.survival(time + 100), delta=1e-4)
        percentile = trip.percentile_us(0.99)
        self.assertAlmostEqual(0.01, trip.survival(percentile), delta=1e-5)
        self.assertLess(percentile, paper.RoundTrip(
            LOAD, whole, rt_load.Network(50, 2000)).percentile_us(0.99))

    def test_network_and_server_in_the_simulator(self):
        reservation = rt_reservation.Reservation(4000, 10_000)
        load, network = rt_load.Load(500, 2000), rt_load.Network(0, 800)
        sent = traffic.poisson(load, 400_000, seed=1)
        random = np.random.default_rng(2)
        link = lone.responses_us(traffic.Arrivals(
            sent.arrivals_us, random.exponential(1e6 / 800, 400_000)), 1, 1)
        seen = link + lone.responses_us(traffic.Arrivals(
            sent.arrivals_us + link, sent.works_us), 4000, 10_000)
        trip = exact.predict(load, reservation, network)
        # Some four standard errors of this run.
        self.assertAlmostEqual(1, trip.mean_us / seen.mean(), delta=0.02)
        for one in (0.5, 0.99):
            self.assertAlmostEqual(
                1, trip.percentile_us(one) / np.quantile(seen, one),
                delta=0.03)

    def test_overhead_is_taken_from_the_runtime(self):
        less = rt_reservation.Reservation(1500, 2000)
        self.assertEqual(
            exact.predict(LOAD, less).mean_us,
            exact.predict(LOAD, RESERVATION, overhead_us=100).mean_us)

    def test_refused(self):
        for load, network, overhead in (
                (rt_load.Load(1600, 2000), rt_load.Network(), 0),
                (rt_load.Load(1569, 2000), rt_load.Network(), 0),
                (LOAD, rt_load.Network(), 700),
                (LOAD, rt_load.Network(), 1600),
                (LOAD, rt_load.Network(), -1),
                (LOAD, rt_load.Network(), math.nan),
                (LOAD, rt_load.Network(0, 1000), 0)):
            self.assertRaises(exception.InvalidLoad, exact.predict, load,
                              RESERVATION, network, overhead)
        exact.predict(rt_load.Load(1567, 2000), RESERVATION)

    def test_percentile_out_of_range(self):
        trip = exact.predict(LOAD, RESERVATION)
        for bad in (0, 1, 99):
            self.assertRaises(exception.InvalidLoad, trip.percentile_us, bad)


class InverseTest(base.BaseTestCase):

    @hypothesis.given(strategies.cases(least=0.1),
                      st.one_of(st.none(), st.floats(0.5, 0.999)),
                      st.floats(0, 0.02))
    @hypothesis.settings(unit.PROPERTY, max_examples=30)
    def test_smallest(self, case, percentile, overhead):
        reservation, load = case
        network = rt_load.Network(100)
        lost = overhead * reservation.runtime_us
        trip = exact.predict(load, reservation, network, lost)
        time = (trip.mean_us if percentile is None
                else trip.percentile_us(percentile))
        target = rt_load.Target(time * (1 + 1e-4), percentile)
        found = exact.smallest_runtime_us(
            load, target, reservation.period_us, network=network,
            overhead_us=lost)
        self.assertLessEqual(found, reservation.runtime_us)
        # It meets the target, and 1 us less does not.
        self.assertLessEqual(
            self.reached(load, found, reservation, target, network, lost),
            target.time_us * (1 + 1e-5))
        if self.utilisation(load, found - 1 - lost, reservation) < 0.98:
            self.assertGreater(self.reached(
                load, found - 1, reservation, target, network, lost),
                target.time_us * (1 - 1e-5))

    def utilisation(self, load, runtime, reservation):
        return (load.arrival_rate_hz * reservation.period_us
                / load.service_rate_hz / max(runtime, 1e-9))

    def reached(self, load, runtime, reservation, target, network, lost):
        trip = exact.predict(load, rt_reservation.Reservation(
            runtime, reservation.period_us), network, lost)
        if target.percentile is None:
            return trip.mean_us
        return trip.percentile_us(target.percentile)

    def test_less_than_the_paper_asks_for(self):
        keywords = {'arrival_rate_hz': 100, 'service_rate_hz': 1000,
                    'period_us': 100_000, 'target_us': 20_000,
                    'percentile': 0.99}
        self.assertEqual(33_026, paper.runtime_for_percentile(**keywords))
        self.assertEqual(19_361, exact.runtime_for_percentile(**keywords))

    def test_mean(self):
        keywords = {'arrival_rate_hz': 100, 'service_rate_hz': 1000,
                    'period_us': 10, 'target_us': 5000}
        self.assertEqual(paper.runtime_for_mean(**keywords),
                         exact.runtime_for_mean(**keywords))

    def test_any_time_will_do(self):
        """The smallest runtime serves the requests and leaves 2 % unused."""
        self.assertEqual(
            math.ceil(1000 / 2 / 0.98), exact.runtime_for_mean(
                arrival_rate_hz=1000, service_rate_hz=2000, period_us=1000,
                target_us=1e9))

    def test_no_answer(self):
        for keywords, reason in (
                ({'target_us': 900}, 'with 1000 us every 1000 us, the most '
                 'that is allowed, the response time is 1000 us'),
                ({'target_us': 2000, 'max_share': 0.73}, 'with 730 us every '
                 '1000 us, the most that is allowed, the response time is 20'),
                ({'target_us': 2000, 'max_share': 0.5}, 'serving these '
                 'requests at all needs a share of 0.511, and the largest '
                 'share is 0.500'),
                ({'target_us': 2000, 'network_delay_us': 1000},
                 'the network alone takes 2000 us in both directions')):
            error = self.assertRaises(
                exception.NoAnswer, exact.runtime_for_mean, period_us=1000,
                arrival_rate_hz=1000, service_rate_hz=2000, **keywords)
            self.assertIn(reason, str(error))
