# SPDX-License-Identifier: Apache-2.0

from oslotest import base

from nova_rt.rules import exception
from rt_models.model import contended
from rt_models.model import crowded
from rt_models.model import kernel
from rt_models.model import load as rt_load
from rt_models.model import varied

LOAD = rt_load.Load(60, 300)


class RoundTripTest(base.BaseTestCase):

    def trip(self, runtime_us=50_000, variation=1.0):
        return varied.RoundTrip(LOAD, runtime_us, 100_000, variation,
                                kernel.CBS)

    def test_exponential_times_are_the_known_queue(self):
        known = contended.RoundTrip(LOAD, 50_000, 100_000,
                                    rt_load.NO_NETWORK, kernel.CBS)
        found = self.trip()
        self.assertAlmostEqual(1, found.mean_us / known.mean_us, delta=0.01)
        for part in (0.5, 0.9, 0.99):
            self.assertAlmostEqual(1, found.percentile_us(part)
                                   / known.percentile_us(part), delta=0.02)

    def test_mean_of_equal_times(self):
        """Pollaczek and Khinchine: W = rho (1 + c) / 2 (1 - rho)."""
        unit, rho = 1e6 / 150, 0.4
        self.assertAlmostEqual(
            1, (self.trip(variation=0).mean_us - 50_000) / (
                unit * (1 + rho * 1.02 / 2 / (1 - rho))), delta=0.02)

    def test_more_variation_takes_longer(self):
        times = [self.trip(variation=one).percentile_us(0.99)
                 for one in (0, 0.5, 1, 4)]
        self.assertEqual(sorted(times), times)

    def test_saturated(self):
        self.assertRaises(exception.InvalidLoad, self.trip, 20_000)


class InterpolatedTest(base.BaseTestCase):

    def test_a_little_above_the_bound(self):
        for runtime_us in range(22_000, 95_000, 6_000):
            for variation in (0.0, 0.97, 3.04):
                exact, found = (kind(
                    LOAD, runtime_us, 100_000, variation, kernel.CBS
                    ).percentile_us(0.95) for kind in (
                        varied.RoundTrip, varied.Interpolated))
                self.assertLess(0.99, found / exact)
                self.assertLess(found / exact, 1.1)

    def test_the_smallest_runtime(self):
        target = rt_load.Target(60_000, 0.95)
        exact, found = (varied.runtime_us(
            LOAD, target, 20_000, 1.0, kernel.CBS, 0.95, kind)
            for kind in (varied.RoundTrip, varied.Interpolated))
        self.assertAlmostEqual(exact, found, delta=200)


class PlanTest(base.BaseTestCase):

    def test_meets_the_target_by_little(self):
        target = rt_load.Target(60_000, 0.99)
        for variation in (0, 1, 2):
            found = varied.plan(LOAD, target, variation, kernel.CBS, 0.95)
            reached = varied.RoundTrip(
                LOAD, found.runtime_us, found.period_us, variation,
                kernel.CBS).percentile_us(0.99)
            self.assertLessEqual(reached, 60_000)
            self.assertGreater(reached, 57_000)

    def test_out_of_reach(self):
        self.assertRaises(exception.NoAnswer, varied.plan, LOAD,
                          rt_load.Target(3_000, 0.99), 1, kernel.CBS, 0.95)

    def test_near_the_simulated_neighbour_on_mainline(self):
        """The bound holds beside any servers, and needs little more."""
        groups = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 4000)
        target = rt_load.Target(40_000, 0.95)
        load = rt_load.Load(437, 3125)
        beside_us = crowded.runtime_us(load, target, 10_000, 0.56, groups,
                                       0.9)
        self.assertLess(varied.runtime_us(load, target, 10_000, 0.56, groups,
                                          0.9), 1.15 * beside_us)
