# SPDX-License-Identifier: Apache-2.0

import unittest

from experiments import measure
from experiments import published
from experiments import table3
from tests.unit.experiments import base


class ErrorsTest(unittest.TestCase):

    def test_errors(self):
        points = [base.point([100] * 10), base.point([200] * 10)]
        found = table3.errors(points, [measure.Prediction(110, 150),
                                       measure.Prediction(200, 200)])
        self.assertAlmostEqual(50 ** 0.5, found.mean_rmse)
        self.assertAlmostEqual(5, found.mean_mape)
        self.assertAlmostEqual(1250 ** 0.5, found.p99_rmse)
        self.assertAlmostEqual(25, found.p99_mape)


class PublishedTest(unittest.TestCase):

    def test_load_ratios(self):
        """LDR of section 6.2: LD / (Q/P)."""
        self.assertEqual([0.625, 0.778, 0.889] * 2, [
            round(row.load / row.share, 3) for row in published.TABLE3])
