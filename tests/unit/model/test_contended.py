# SPDX-License-Identifier: Apache-2.0

"""What is tested here: the bound, by hand; simulator/test_edf.py has more."""

import math

from oslotest import base

from nova_rt.model import contended
from nova_rt.model import load as rt_load
from nova_rt import reservation as rt_reservation

LOAD = rt_load.Load(1000, 2000)
RESERVATION = rt_reservation.Reservation(1600, 2000)


class ContendedTest(base.BaseTestCase):

    def test_a_period_more_than_the_paper(self):
        trip = contended.RoundTrip(LOAD, RESERVATION, rt_load.Network(50))
        self.assertAlmostEqual(1e6 / 600 + 100 + 2000, trip.mean_us)
        self.assertAlmostEqual(
            math.log(10) * 1e6 / 600 + 100 + 2000, trip.percentile_us(0.9))
        self.assertEqual(1, trip.survival(2100))
        self.assertAlmostEqual(0.1, trip.survival(trip.percentile_us(0.9)))

    def test_overhead_is_taken_from_the_runtime(self):
        less = rt_reservation.Reservation(1500, 2000)
        self.assertAlmostEqual(
            contended.RoundTrip(LOAD, less).mean_us,
            contended.RoundTrip(LOAD, RESERVATION, overhead_us=100).mean_us)
