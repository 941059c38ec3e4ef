# SPDX-License-Identifier: Apache-2.0

import unittest

import ddt
import hypothesis
from hypothesis import strategies
import numpy as np

from paper import measured
from paper import points
from paper import workload
from tests.unit import base as unit
from tests.unit.paper import base


def exponential(seed, mean_us, count=5000):
    return np.random.default_rng(seed).exponential(mean_us, count)


@ddt.ddt
class CountedTest(unittest.TestCase):

    @ddt.data({'steal': 0.006}, {'late_p99_us': 501.0},
              {'latest_us': 5001.0})
    def test_disturbed_runs_do_not_count(self, disturbance):
        point = measured.Measured(base.CURVE[0], [
            base.record([100] * 10), base.record([300] * 10, **disturbance)])
        self.assertEqual(1, len(point.counted))
        self.assertEqual(100, point.value('mean')[0])

    @ddt.data({'steal': 0.005}, {'late_p99_us': 500.0}, {'latest_us': 5000.0})
    def test_limits_are_allowed(self, disturbance):
        self.assertTrue(measured.LIMITS.allow(
            base.record([100], **disturbance)))

    def test_all_disturbed(self):
        point = base.measured_point([100] * 10, steal=0.02)
        self.assertEqual(100, point.value('mean')[0])


class ValueTest(unittest.TestCase):

    @unit.PROPERTY
    @hypothesis.given(strategies.lists(strategies.floats(50, 5000),
                                       min_size=1, max_size=4))
    def test_runs_together(self, means):
        """The pooled runs count as one run with all their requests."""
        runs = [exponential(number, mean)
                for number, mean in enumerate(means)]
        point = base.measured_point(*runs)
        every = np.concatenate(runs)
        self.assertAlmostEqual(1, point.value('mean')[0] / every.mean())
        # Requests are counted in steps of their times, far from each other
        # where they are few: within a few of them.
        least, most = np.quantile(every, [0.985, 0.995])
        self.assertLess(least, point.value('p99')[0])
        self.assertLess(point.value('p99')[0], most)

    def test_longer_runs_weigh_more(self):
        point = base.measured_point([100] * 30, [200] * 10)
        self.assertAlmostEqual(125, point.value('mean')[0])

    def test_resampled(self):
        point = base.measured_point([100] * 30, [200] * 10)
        weights = point.resampled(np.random.default_rng(1), 50)
        np.testing.assert_allclose(1, weights.sum(axis=1))
        found = set(point.value('mean', weights).round(6))
        # Both runs, or one of them twice.
        self.assertEqual({100, 125, 200}, found)


class ControlledTest(unittest.TestCase):

    def test_chance_is_taken_out(self):
        """Runs that take what the simulator says have the exact value."""
        point = base.measured_point(exponential(1, 250), exponential(2, 900))
        for statistic in measured.STATISTICS:
            self.assertEqual(point.predicted['exact'].value(statistic),
                             point.controlled(statistic)[0])

    def test_the_machine_stays(self):
        times = exponential(1, 250)
        point = measured.Measured(base.CURVE[0], [
            base.record(times + 30, times), base.record(times + 50, times)])
        self.assertAlmostEqual(
            40, point.controlled('mean')[0]
            - point.predicted['exact'].mean_us)
        estimate = point.estimate('mean', controlled=True)
        # Student's t of one degree of freedom, s / sqrt(2) = 10.
        self.assertAlmostEqual(127.06, estimate.half, places=1)

    def test_not_simulated(self):
        point = measured.Measured(
            points.Point('fair-quiet', workload.Workload(
                workload.Distribution(100), workload.Distribution(50))),
            [base.record([100])])
        with self.assertRaisesRegex(ValueError, 'fair-quiet has no reserv'):
            point.controlled('mean')
