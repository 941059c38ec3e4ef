# SPDX-License-Identifier: Apache-2.0

import unittest
from unittest import mock

import ddt

from paper import measure
from paper import measured
from paper import points
from paper import rtwalk
from tests.unit.paper import base

EFFORT = measure.Effort(seeds=2, requests=100, warm_up=5, probes=20)


@ddt.ddt
class EffortTest(unittest.TestCase):

    @ddt.data((100, 10_000), (1000, 1000), (5000, 400), (50, 10_000))
    @ddt.unpack
    def test_a_run_lasts(self, interval_us, requests):
        self.assertEqual(requests, measure.Effort().lasting(
            1.0, interval_us).requests)

    def test_short_stays_short(self):
        self.assertEqual(measure.SHORT, measure.SHORT.lasting(1.0, 5000))

    def test_seeds_change(self):
        self.assertNotEqual(measure.random_base(), measure.random_base())


class MeasureTest(base.ServerTestCase):
    """Real requests to a real server, without a reservation."""

    def measure(self, point, limits):
        with (rtwalk.server(self.endpoint),
              mock.patch.object(measured, 'LIMITS', limits)):
            return measure.measure(self.endpoint, (), point, EFFORT, 40,
                                   self.directory)

    def test_runs(self):
        point, = points.curve((200,), 128, 0.1, 0.8)
        first, second = self.measure(point, base.NO_LIMITS)
        self.assertEqual((40, 41), (first.record.seed, second.record.seed))
        self.assertEqual(100, len(first.responses))
        self.assertAlmostEqual(first.responses.mean(),
                               first.record.measured.mean_us)
        self.assertGreater(first.record.replayed.mean_us,
                           first.record.delay_us)
        self.assertEqual(
            [f'{point.name}-1.csv', f'{point.name}-2.csv'],
            sorted(path.name for path in self.directory.iterdir()))

    def test_disturbed_runs_are_repeated(self):
        point, = points.curve((200,), 128, 0.1, 0.8)
        found = self.measure(point, measured.Limits(latest_us=-1))
        self.assertEqual([40] * 5 + [41] * 5,
                         [run.record.seed for run in found])

    def test_counted(self):
        calm, late = (measure.Run(
            base.record([100], late_p99_us=late_us), responses)
            for late_us, responses in ((0.0, 'calm'), (501.0, 'late')))
        self.assertEqual(['calm'], measure.counted([late, calm]))
        self.assertEqual(['late'], measure.counted([late]))

    def test_no_reservation(self):
        point = points.Point('fair', base.CURVE[1].workload)
        self.assertIsNone(
            self.measure(point, base.NO_LIMITS)[0].record.replayed)
