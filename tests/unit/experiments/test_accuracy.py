# SPDX-License-Identifier: Apache-2.0

import unittest

from experiments import accuracy


class AccuracyTest(unittest.TestCase):

    def test_rmse(self):
        self.assertAlmostEqual(
            12.5 ** 0.5, accuracy.rmse([10, 20], [13, 24]))

    def test_mape_is_of_the_measured(self):
        self.assertAlmostEqual(
            (50 + 10) / 2, accuracy.mape([10, 20], [15, 18]))
