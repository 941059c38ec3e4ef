# SPDX-License-Identifier: Apache-2.0

"""Campaigns of real requests, without a reservation or a namespace."""

import contextlib
import io
import itertools
from unittest import mock

from paper import bench
from paper import campaign
from paper import link
from paper import measure
from paper import measured
from paper import points
from paper import records
from paper import rtwalk
from tests.unit.paper import base

EFFORT = measure.Effort(seeds=2, requests=50, warm_up=0, probes=20)
CURVES = [points.curve((100, 200), 128, 0.1, 0.8),
          points.curve((300,), 2048, 0.1, 0.8, 100)]


@contextlib.contextmanager
def unreserved(endpoint, reservation):
    with rtwalk.server(endpoint):
        yield ()


class CampaignTest(base.ServerTestCase):

    def setUp(self):
        super().setUp()
        self.data = self.directory / 'runs.csv'
        for patch in (
                mock.patch.object(measured, 'LIMITS', base.NO_LIMITS),
                mock.patch.object(
                    link, 'limited',
                    lambda _: contextlib.nullcontext(self.endpoint))):
            patch.start()
            self.addCleanup(patch.stop)

    def run_it(self, seed_base=1, effort=EFFORT, **extent):
        with contextlib.redirect_stdout(io.StringIO()) as self.said:
            return campaign.run(
                bench.Settings(self.directory, unreserved, effort,
                               seed_base),
                bench.Extent(self.data, **extent), CURVES)

    def seeds(self):
        return {(run.point, run.seed)
                for run in records.Data(self.data).records}

    def test_all(self):
        found = self.run_it(seed_base=70)
        self.assertEqual([[2, 2], [2]], [
            [len(one.runs) for one in curve] for curve in found])
        self.assertEqual({(point.name, seed) for curve in CURVES
                          for point in curve for seed in (70, 71)},
                         self.seeds())
        self.assertIn('--seed-base 70', self.said.getvalue())

    def test_a_later_command_goes_on(self):
        with self.assertRaisesRegex(
                campaign.Incomplete, '2 of 3 points have no run yet '
                r'\(128B-0.1-0.8-1000Mb-200us\)'):
            self.run_it(only=['*-100us'])
        self.run_it(seed_base=9)
        self.assertEqual(
            {1: 2, 9: 4}, {first: sum(seed in (first, first + 1)
                                      for _, seed in self.seeds())
                           for first in (1, 9)})
        before = self.data.read_bytes()
        self.run_it(seed_base=5)
        self.assertEqual(before, self.data.read_bytes())
        self.assertEqual(1, len(self.said.getvalue().splitlines()))

    def test_more_seeds(self):
        self.run_it()
        self.run_it(effort=measure.Effort(seeds=3, requests=50, warm_up=0,
                                          probes=20))
        self.assertEqual({1, 2, 3}, {seed for _, seed in self.seeds()})

    def test_no_time(self):
        with self.assertRaises(campaign.Incomplete):
            self.run_it(seconds=0)
        self.assertFalse(self.data.exists())
        with (mock.patch.object(link, 'limited') as limited,
              self.assertRaises(campaign.Incomplete)):
            self.run_it(seconds=1e-9)
        limited.assert_not_called()

    def test_no_run_begins_too_late(self):
        # A second passes from each look at the clock to the next.
        clock = mock.Mock(monotonic=itertools.count().__next__)
        with (mock.patch.object(campaign, 'time', clock),
              self.assertRaises(campaign.Incomplete)):
            self.run_it(seconds=3.5)
        self.assertEqual({(CURVES[0][0].name, seed) for seed in (1, 2)},
                         self.seeds())

    def test_first_points_of_a_curve(self):
        self.assertEqual([1, 1], [len(curve)
                                  for curve in self.run_it(first=1)])
