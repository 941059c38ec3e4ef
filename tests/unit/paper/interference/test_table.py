# SPDX-License-Identifier: Apache-2.0

"""Tests how pairs and their prediction are judged."""

import unittest

from nova_rt.rules import neighbours
from paper.interference import table
from rt_models.interference import matrix

_TYPES = {name: name for name in 'abcde'}


def _matrix(value, odd=None):
    """Returns a matrix of one value, except in the cell of a beside b."""
    rows = {one: dict.fromkeys(_TYPES, value) for one in _TYPES}
    rows['a'] |= {'a': 0.1, 'b': odd or value}
    known = {(one, other): matrix.Cell(
        one, other, rows[one][other], matrix.Origin.MEASURED, 0.01, 5)
        for one in _TYPES for other in _TYPES}
    return matrix.Matrix(neighbours.Kind.RESERVED, _TYPES, rows, {}, known, {})


class TableTest(unittest.TestCase):

    def test_two_of_a_type_do_not_count(self):
        (said, met), _ = table.judged(_matrix(0.97), _matrix(0.97))
        self.assertTrue(met)
        self.assertEqual(
            '20 of 20 cells at least 0.95, mean 0.970, least 0.970, n from 5',
            said)

    def test_two_may_be_worse_if_the_mean_is_not(self):
        (_, met), (_, predicted) = table.judged(_matrix(0.97, 0.7),
                                                _matrix(0.97))
        self.assertFalse(met)
        self.assertFalse(predicted)
        (_, met), _ = table.judged(_matrix(0.99, 0.7), _matrix(0.99))
        self.assertTrue(met)

    def test_each_prediction_counts(self):
        _, (said, met) = table.judged(_matrix(1.0), _matrix(1.0, 0.91))
        self.assertTrue(met)
        self.assertEqual('mean 0.4 %, worst 9.0 %', said)
        _, (_, met) = table.judged(_matrix(1.0), _matrix(1.0, 0.89))
        self.assertFalse(met)

    def test_table(self):
        text = table.text(_matrix(1.0), _matrix(1.0, 0.91))
        self.assertRegex(
            text, r'a +b +5 +1.0 % +1.000 +0.910 +-9.0 %\n')
        self.assertIn('Prediction: mean 0.4 %, worst 9.0 %.', text)
