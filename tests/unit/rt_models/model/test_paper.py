# SPDX-License-Identifier: Apache-2.0

"""Tests the paper's equations, by hand, and their inverse."""

import math

import hypothesis
from hypothesis import strategies as st
from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load
from rt_models.model import paper
from tests.unit import base as unit
from tests.unit.rt_models.model import strategies

#: A row of Table 3: load 0.5, Q/P 0.8, P 2 ms, a request every ms.
LOAD = rt_load.Load(1000, 2000)
RESERVATION = rt_reservation.Reservation(1600, 2000)
SLOW = rt_load.Network(181.5, 1600)


class EquationsTest(base.BaseTestCase):

    def test_1(self):
        def some(*pairs):
            return [rt_reservation.Reservation(*pair) for pair in pairs]

        self.assertTrue(paper.schedulable(some((1, 3), (1, 3), (1, 3))))
        self.assertFalse(paper.schedulable(
            some((1, 3), (1, 3), (1, 3), (1, 10 ** 9))))

    def test_2(self):
        self.assertEqual(5000, paper.completion_us(4000, RESERVATION))
        self.assertEqual((4000, 6000),
                         paper.completion_bounds_us(4000, RESERVATION))

    def test_3(self):
        self.assertAlmostEqual(1e6 / 600, paper.mean_us(LOAD, RESERVATION))
        self.assertAlmostEqual(
            math.log(100) * 1e6 / 600,
            paper.percentile_us(LOAD, RESERVATION, 0.99))

    def test_4(self):
        self.assertEqual(500, paper.mm1_mean_us(1000, 3000))
        self.assertAlmostEqual(
            500 * math.log(2), paper.mm1_percentile_us(1000, 3000, 0.5))

    def test_5(self):
        trip = paper.RoundTrip(LOAD, RESERVATION, rt_load.Network(181.5))
        self.assertAlmostEqual(363 + 1e6 / 600, trip.mean_us)
        self.assertAlmostEqual(363 + math.log(100) * 1e6 / 600,
                               trip.percentile_us(0.99))

    def test_6_and_10(self):
        trip = paper.RoundTrip(LOAD, RESERVATION, SLOW)
        self.assertAlmostEqual(363 + 2e6 / 600, trip.mean_us)
        self.assertAlmostEqual(
            363 - math.log(1 - math.sqrt(0.99)) * 2e6 / 600,
            trip.percentile_us(0.99))

    def test_7(self):
        for load, network in ((rt_load.Load(1600, 2000), rt_load.Network()),
                              (LOAD, rt_load.Network(0, 1000))):
            self.assertRaises(exception.InvalidLoad, paper.RoundTrip, load,
                              RESERVATION, network)

    def test_9(self):
        trip = paper.RoundTrip(LOAD, RESERVATION, SLOW)
        self.assertEqual(1, trip.survival(363))
        self.assertAlmostEqual(
            1 - (1 - math.exp(-1)) ** 2, trip.survival(363 + 2e6 / 600))

    @hypothesis.given(strategies.cases(), st.floats(0.01, 0.9999))
    @unit.PROPERTY
    def test_percentile_and_survival_agree(self, case, percentile):
        reservation, load = case
        for network in (rt_load.Network(5), rt_load.Network(
                5, 2 * load.arrival_rate_hz)):
            trip = paper.RoundTrip(load, reservation, network)
            self.assertAlmostEqual(
                1 - percentile,
                trip.survival(trip.percentile_us(percentile)))

    def test_percentile_out_of_range(self):
        trip = paper.RoundTrip(LOAD, RESERVATION)
        for bad in (0, 1, 99):
            self.assertRaises(exception.InvalidLoad, trip.percentile_us, bad)
            self.assertRaises(exception.InvalidLoad, paper.percentile_us,
                              LOAD, RESERVATION, bad)


class InverseTest(base.BaseTestCase):

    @hypothesis.given(strategies.cases(), st.floats(0.1, 0.9999),
                      st.sampled_from((math.inf, 3)))
    @unit.PROPERTY
    def test_smallest(self, case, percentile, factor):
        reservation, load = case
        network = rt_load.Network(100, factor * load.arrival_rate_hz)
        given = paper.RoundTrip(load, reservation, network)
        keywords = {'arrival_rate_hz': load.arrival_rate_hz,
                    'service_rate_hz': load.service_rate_hz,
                    'period_us': reservation.period_us,
                    'network_delay_us': network.delay_us,
                    'network_rate_hz': network.rate_hz}
        # So long a target that rounding errors do not decide.
        self.assertEqual(reservation.runtime_us, paper.runtime_for_mean(
            target_us=given.mean_us * (1 + 1e-9), **keywords))
        self.assertEqual(
            reservation.runtime_us, paper.runtime_for_percentile(
                target_us=given.percentile_us(percentile) * (1 + 1e-9),
                percentile=percentile, **keywords))

    def test_max_share(self):
        keywords = {'arrival_rate_hz': 1000, 'service_rate_hz': 2000,
                    'period_us': 1000, 'target_us': 2000}
        self.assertEqual(750, paper.runtime_for_mean(max_share=0.75,
                                                     **keywords))
        error = self.assertRaises(
            exception.NoAnswer, paper.runtime_for_mean, max_share=0.74,
            **keywords)
        self.assertEqual(
            'No reservation gives a mean of 2000 us: this takes a share of '
            '0.750, and the largest share is 0.740.', str(error))

    def test_never_less_than_the_kernel_takes(self):
        self.assertEqual(
            rt_reservation.MIN_RUNTIME_US, paper.runtime_for_mean(
                arrival_rate_hz=1, service_rate_hz=1e6, period_us=1000,
                target_us=1e6))

    def test_network_takes_it_all(self):
        error = self.assertRaises(
            exception.NoAnswer, paper.runtime_for_mean, arrival_rate_hz=1000,
            service_rate_hz=2000, period_us=1000, target_us=2000,
            network_rate_hz=1500)
        self.assertIn('the network alone', str(error))
