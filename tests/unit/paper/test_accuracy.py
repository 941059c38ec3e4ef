# SPDX-License-Identifier: Apache-2.0

import unittest

import numpy as np

from paper import accuracy
from tests.unit.paper import base


def column(*values):
    return np.array(values, float).reshape(-1, 1)


class ErrorTest(unittest.TestCase):

    def test_rmse(self):
        self.assertAlmostEqual(12.5 ** 0.5, accuracy.rmse(
            column(10, 20), column(13, 24))[0])

    def test_mape_is_of_the_measured(self):
        self.assertAlmostEqual((50 + 10) / 2, accuracy.mape(
            column(10, 20), column(15, 18))[0])


class ViewTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        #: The mean is what the exact model says, and twice that.
        self.exact = base.measured_point([1]).predicted['exact'].mean_us
        self.paper = base.measured_point([1]).predicted['paper'].mean_us
        point = base.measured_point([self.exact] * 9, [2 * self.exact] * 9)
        self.view = accuracy.View([[point]])

    def test_errors(self):
        # 1.5 times as long as the exact model says.
        self.assertAlmostEqual(
            100 / 3, self.view.errors('exact', 'mean')[0, 0])
        self.assertAlmostEqual(
            100 * abs(1 - self.paper / self.exact / 1.5),
            self.view.errors('paper', 'mean')[0, 0])

    def test_controlled(self):
        """The simulator says the same to these runs: no error is left."""
        controlled = accuracy.View(self.view.curves, controlled=True)
        self.assertAlmostEqual(0, controlled.errors('exact', 'mean')[0, 0])
        self.assertAlmostEqual(
            100 * (self.paper / self.exact - 1),
            controlled.errors('paper', 'mean')[0, 0])

    def test_ratio(self):
        self.assertAlmostEqual(
            self.view.errors('exact', 'mean')[0, 0]
            / self.view.errors('paper', 'mean')[0, 0],
            self.view.ratio('mean')[0])

    def test_interval(self):
        found = self.view.estimate('mean')
        self.assertEqual(self.view.ratio('mean')[0], found.value)
        # A quarter of the samples has the first run twice (no error), and a
        # quarter the second, half have both.
        second = accuracy.View(
            [[base.measured_point([2 * self.exact] * 9)]]).ratio('mean')[0]
        ratios = [0, found.value, found.value, second]
        self.assertAlmostEqual(1.96 * np.std(ratios), found.half, delta=0.3)
        self.assertEqual(found, self.view.estimate('mean'))

    def test_one_run(self):
        view = accuracy.View([[base.measured_point([500] * 9)]])
        self.assertAlmostEqual(0, view.estimate('p99').half)

    def test_within(self):
        curve = [base.measured_point([1], point=point)
                 for point in base.CURVE]
        self.assertEqual([curve[0], curve[2]],
                         accuracy.within(curve, (100, 400, 800)))
