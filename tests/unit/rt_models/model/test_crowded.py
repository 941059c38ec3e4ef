# SPDX-License-Identifier: Apache-2.0

from oslotest import base

from nova_rt.rules import exception
from rt_models.model import crowded
from rt_models.model import kernel
from rt_models.model import load as rt_load
from rt_models.model import varied

LOAD = rt_load.Load(60, 300)
TICKS = kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 4_000)
DEADLINE = kernel.Kernel(kernel.Rule.SCHED_DEADLINE, 4_000)


def trip(runtime_us=50_000, rule=TICKS, room=0.95, variation=1.0):
    return crowded.RoundTrip(LOAD, runtime_us, 100_000, variation, rule, room)


class RoundTripTest(base.BaseTestCase):

    def test_a_neighbour_costs_time(self):
        for rule in (TICKS, DEADLINE, kernel.CBS):
            alone, beside = (trip(rule=rule, room=room).percentile_us(0.95)
                             for room in (0.5, 0.95))
            self.assertLess(alone, beside)

    def test_the_bound_for_any_neighbours_is_later(self):
        for rule in (TICKS, DEADLINE, kernel.CBS):
            found = trip(rule=rule)
            bound = varied.RoundTrip(LOAD, 50_000, 100_000, 1.0, rule)
            self.assertLess(found.mean_us, bound.mean_us)
            for part in (0.9, 0.99):
                self.assertLess(found.percentile_us(part),
                                bound.percentile_us(part))

    def test_survival_is_the_inverse_of_the_percentile(self):
        found = trip()
        self.assertAlmostEqual(
            0.1, found.survival(found.percentile_us(0.9)), delta=0.001)

    def test_more_variation_takes_longer(self):
        times = [trip(variation=one).percentile_us(0.95)
                 for one in (0, 1, 4)]
        self.assertEqual(sorted(times), times)

    def test_saturated(self):
        self.assertRaises(exception.InvalidLoad, trip, 20_000)

    def test_nearly_saturated(self):
        """Requests that are not done at the end have a time, too."""
        self.assertGreater(trip(20_400).percentile_us(0.99), 100_000)


class RuntimeTest(base.BaseTestCase):

    def test_meets_the_target_by_little(self):
        target = rt_load.Target(150_000, 0.95)
        runtime_us = crowded.runtime_us(LOAD, target, 100_000, 1.0, TICKS,
                                        0.95)
        self.assertLessEqual(trip(runtime_us).percentile_us(0.95), 150_000)
        self.assertGreater(trip(0.97 * runtime_us).percentile_us(0.95),
                           150_000)
        self.assertLess(runtime_us, varied.runtime_us(
            LOAD, target, 100_000, 1.0, TICKS, 0.95))

    def test_no_runtime_suffices(self):
        self.assertRaises(exception.NoAnswer, crowded.runtime_us, LOAD,
                          rt_load.Target(5_000, 0.95), 100_000, 1.0, TICKS,
                          0.95)
