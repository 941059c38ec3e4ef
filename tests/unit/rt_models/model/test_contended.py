# SPDX-License-Identifier: Apache-2.0

"""Tests the bound by hand; test_kernel.py has that it holds."""

import math

from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import contended
from rt_models.model import kernel
from rt_models.model import load as rt_load

LOAD = rt_load.Load(1000, 2000)
RESERVATION = rt_reservation.Reservation(1600, 2000)
GROUPS = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 400)


class PredictTest(base.BaseTestCase):

    def test_later_than_the_paper(self):
        trip = contended.predict(LOAD, RESERVATION, rt_load.Network(50))
        self.assertAlmostEqual(1e6 / 600 + 100 + 400, trip.mean_us)
        self.assertAlmostEqual(
            math.log(10) * 1e6 / 600 + 100 + 400, trip.percentile_us(0.9))
        self.assertEqual(1, trip.survival(500))
        self.assertAlmostEqual(0.1, trip.survival(trip.percentile_us(0.9)))

    def test_kernel(self):
        trip = contended.predict(LOAD, RESERVATION, kernel=GROUPS)
        self.assertAlmostEqual(1e6 / 600 + GROUPS.tick_us, trip.mean_us)

    def test_overhead_is_taken_from_the_runtime(self):
        """The server serves less, and waits longer for its next period."""
        less = rt_reservation.Reservation(1500, 2000)
        self.assertAlmostEqual(
            contended.predict(LOAD, less).mean_us,
            contended.predict(LOAD, RESERVATION, overhead_us=100).mean_us)

    def test_network(self):
        """Two exponential times; for equal means (1 + t) exp(-t)."""
        for rate in (4000, 1600, 1600.001, 1200):
            way = rt_load.Network(0, rate)
            trip = contended.predict(LOAD, RESERVATION, way)
            one, other = 1e6 / 600, 1e6 / (rate - 1000)
            self.assertAlmostEqual(one + other + 400, trip.mean_us)
            for percentile in (0.5, 0.99):
                self.assertAlmostEqual(
                    1 - percentile,
                    trip.survival(trip.percentile_us(percentile)), 6)
        equal = contended.predict(LOAD, RESERVATION,
                                  rt_load.Network(0, 1600))
        self.assertAlmostEqual(3 * math.exp(-2),
                               equal.survival(400 + 2 * 1e6 / 600))

    def test_refused(self):
        for load, keywords in (
                (rt_load.Load(1600, 2000), {}),
                (LOAD, {'overhead_us': 1600}),
                (LOAD, {'network': rt_load.Network(0, 900)}),
                (LOAD, {'kernel': kernel.Kernel(
                    kernel.Rule.RT_GROUP_SCHED, 1000)})):
            self.assertRaises(exception.InvalidLoad, contended.predict, load,
                              RESERVATION, **keywords)


class InverseTest(base.BaseTestCase):

    def test_smallest(self):
        way = rt_load.Network(100, 5000)
        for known in (kernel.CBS, GROUPS):
            for target in (rt_load.Target(9000),
                           rt_load.Target(20_000, 0.99)):
                runtime = contended.smallest_runtime_us(
                    LOAD, target, 2000, 0.95, way, 20, known)
                for less, meets in ((0, True), (1, False)):
                    trip = contended.predict(
                        LOAD, rt_reservation.Reservation(runtime - less,
                                                         2000),
                        way, 20, known)
                    reached = (trip.mean_us if target.percentile is None
                               else trip.percentile_us(target.percentile))
                    self.assertEqual(meets, reached <= target.time_us)

    def test_none(self):
        error = self.assertRaises(
            exception.NoAnswer, contended.smallest_runtime_us, LOAD,
            rt_load.Target(1000), 2000, 0.95)
        self.assertIn('with 1900 us every 2000 us, the most that is allowed',
                      str(error))
