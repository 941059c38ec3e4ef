# SPDX-License-Identifier: Apache-2.0

"""Tests the input that the models accept."""

import math

from oslotest import base

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load


class LoadTest(base.BaseTestCase):

    def test_rates(self):
        for bad in (0, -1, math.nan, math.inf):
            for rates in ((bad, 1), (1, bad)):
                error = self.assertRaises(exception.InvalidLoad,
                                          rt_load.Load, *rates)
                self.assertIn(f'{bad}: it must be positive', str(error))

    def test_absurd_rates(self):
        rt_load.Load(rt_load.LEAST, rt_load.MOST)
        for bad in (1e-300, 1e300):
            for ask in (lambda bad: rt_load.Load(bad, 1),
                        lambda bad: rt_load.Load(1, bad), rt_load.Target,
                        lambda bad: rt_load.Network(delay_us=bad),
                        lambda bad: rt_load.Network(rate_hz=bad)):
                error = self.assertRaises(exception.InvalidLoad, ask, bad)
                self.assertIn(f'{bad}: it must lie between 1e-09 and 1e+12',
                              str(error))

    def test_network(self):
        rt_load.Network(0, math.inf)
        for bad in ((-1, 1), (math.nan, 1), (math.inf, 1), (0, 0), (0, -1),
                    (0, math.nan)):
            self.assertRaises(exception.InvalidLoad, rt_load.Network, *bad)

    def test_percentile(self):
        for bad in (0, 1, -1, 99, math.nan):
            self.assertRaises(exception.InvalidLoad,
                              rt_load.check_percentile, bad)

    def test_target(self):
        self.assertEqual('a mean of 3000 us', str(rt_load.Target(3000)))
        self.assertEqual('a percentile 0.99 of 0.5 us',
                         str(rt_load.Target(0.5, 0.99)))
        for bad in ((0,), (math.nan,), (1, 1), (1, 0)):
            self.assertRaises(exception.InvalidLoad, rt_load.Target, *bad)

    def test_target_below_the_network_delay(self):
        target = rt_load.Target(100)
        self.assertEqual(40, target.left_us(rt_load.Network(30)))
        error = self.assertRaises(exception.NoAnswer, target.left_us,
                                  rt_load.Network(50))
        self.assertEqual('No reservation gives a mean of 100 us: the '
                         'network alone takes 100 us in both '
                         'directions.', str(error))

    def test_largest_runtime(self):
        self.assertEqual(7, rt_load.largest_runtime_us(10, 0.7))
        self.assertEqual(6, rt_load.largest_runtime_us(10, 0.69))
        longest = rt_reservation.MAX_PERIOD_US
        self.assertEqual(longest, rt_load.largest_runtime_us(longest, 1))
        for bad in ((0, 1), (longest + 1, 1), (10, 0), (10, 1.1),
                    (10, math.nan)):
            self.assertRaises(exception.InvalidLoad,
                              rt_load.largest_runtime_us, *bad)

    def test_stability(self):
        reservation = rt_reservation.Reservation(50, 100)
        rt_load.check_stable(rt_load.Load(499, 1000), reservation)
        error = self.assertRaises(
            exception.InvalidLoad, rt_load.check_stable,
            rt_load.Load(500, 1000), reservation)
        self.assertEqual(
            'Invalid arrival rate in Hz 500: the reservation takes 500 '
            'requests per second, so that the queue would grow without end; '
            'give more runtime.',
            str(error))
        rt_load.check_network(rt_load.Load(499, 1), rt_load.Network())
        self.assertRaises(exception.InvalidLoad, rt_load.check_network,
                          rt_load.Load(500, 1), rt_load.Network(0, 500))
