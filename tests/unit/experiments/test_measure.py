# SPDX-License-Identifier: Apache-2.0

import csv
import dataclasses
import math
import pathlib
import tempfile
import unittest

from experiments import measure
from nova_rt import exception
from nova_rt.model import load
from nova_rt.model import paper
from nova_rt import reservation
from tests.unit.experiments import base


class PointTest(unittest.TestCase):

    def test_statistics(self):
        point = base.point([100] * 100, [300] * 100)
        self.assertEqual(200, point.mean_us.value)
        # Of all 200 responses, not 200 as the mean of both runs'.
        self.assertEqual(300, point.p99_us.value)

    def test_disturbed_runs_do_not_count(self):
        point = base.point([100] * 10, [300] * 10)
        point.runs[1].around.steal = 0.02
        self.assertEqual(100, point.mean_us.value)
        self.assertEqual(100, point.p99_us.value)

    def test_a_late_client_does_not_count(self):
        point = base.point([100] * 10, [300] * 10)
        point.runs[1] = dataclasses.replace(
            point.runs[1], found=base.found(
                range(0, 10_000, 1000), [300] * 10, late_us=501))
        self.assertEqual(100, point.mean_us.value)
        self.assertEqual([False, True],
                         [run.disturbed for run in point.runs])

    def test_a_client_that_stood_still_does_not_count(self):
        point = base.point([100] * 200, [300] * 200)
        late_us = [0] * 199 + [5001]
        point.runs[1] = dataclasses.replace(
            point.runs[1], found=base.found(
                range(0, 200_000, 1000), [300] * 200, late_us=late_us))
        self.assertLess(point.runs[1].found.late_us, measure.MAX_LATE_US)
        self.assertEqual(100, point.mean_us.value)

    def test_all_disturbed(self):
        point = base.point([100] * 10)
        point.runs[0].around.steal = 0.02
        self.assertEqual(100, point.mean_us.value)

    def test_lost(self):
        self.assertEqual(2, base.point([1, None], [None, 1]).lost)


class EffortTest(unittest.TestCase):

    def test_dense_requests_take_more_seeds(self):
        effort = measure.Effort(seeds=10)
        self.assertEqual(40, effort.at(100).seeds)
        self.assertEqual(10, effort.at(400).seeds)
        self.assertEqual(effort, effort.at(800))


class PredictTest(unittest.TestCase):

    def test_models(self):
        point = base.point([150] * 10, delay_us=20)
        whole = reservation.Reservation(2000, 2000)
        found = measure.predict(point, whole)
        self.assertEqual(set(measure.MODELS), set(found))
        # A whole CPU: 1 / (10 kHz - 1 kHz), and 20 us on the way.
        for model in ('paper', 'exact'):
            self.assertAlmostEqual(20 + 1e6 / 9000, found[model].mean_us,
                                   places=3)
        # The requests themselves: 100 us each, none waits.
        self.assertEqual(measure.Prediction(120, 120), found['replay'])

    def test_link(self):
        point = base.point([150] * 10, delay_us=20)
        half = reservation.Reservation(1000, 2000)
        found = measure.predict(point, half, megabits=10)
        network = load.Network(10, 10e6 / (8 * 128))
        self.assertEqual(
            paper.RoundTrip(load.Load(1000, 10_000), half, network).mean_us,
            found['paper'].mean_us)
        self.assertGreater(
            found['exact'].mean_us,
            measure.predict(point, half, math.inf)['exact'].mean_us)

    def test_unstable(self):
        with self.assertRaises(exception.InvalidLoad):
            measure.predict(base.point([150] * 10),
                            reservation.Reservation(100, 2000))


class WriteTest(unittest.TestCase):

    def test_lines(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, 'points.csv')
            measure.write(path, {'a': base.point([1, 3], [5, None]),
                                 'b': base.point([7])})
            with path.open() as file:
                rows = list(csv.DictReader(file))
        self.assertEqual(['a', 'a', 'b'], [row['point'] for row in rows])
        self.assertEqual(['2.0', '5.0', '7.0'],
                         [row['mean_us'] for row in rows])
        self.assertEqual(['0', '1', '0'], [row['lost'] for row in rows])
