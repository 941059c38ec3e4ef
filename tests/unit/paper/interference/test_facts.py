# SPDX-License-Identifier: Apache-2.0

"""The numbers about pairs of functions are those of the matrices."""

import unittest

from nova_rt.rules import neighbours
from paper.interference import facts
from rt_models.interference import matrix

_TYPES = {name: name for name in 'abcde'}


def _matrix(noise):
    """Most cells have a noise of 1 %; the second cell has another noise."""
    rows = {one: dict.fromkeys(_TYPES, 0.5) for one in _TYPES}
    known = {(one, other): matrix.Cell(
        one, other, 0.5, matrix.Origin.ESTIMATED if one == 'a'
        else matrix.Origin.MEASURED,
        noise if (one, other) == ('a', 'b') else 0.005, 5)
        for one in _TYPES for other in _TYPES}
    return matrix.Matrix(
        neighbours.Kind.RESERVED, _TYPES, rows, {}, known,
        {'setting': '1/2 us', 'load_average': '3 to 4'})


class FactsTest(unittest.TestCase):

    def test_the_noise_has_its_largest_cell(self):
        found = dict(facts.pairs(_matrix(0.1), _matrix(0.1)))
        self.assertEqual(('1 %', '1 %', '20 %'), tuple(
            found[f'pairs.noise-{name}']
            for name in ('least', 'second', 'most')))

    def test_the_conditions_are_those_of_the_file(self):
        found = dict(facts.pairs(_matrix(0.1), _matrix(0.1)))
        self.assertEqual(('1/2 us', '3 to 4', '5'), tuple(
            found[f'pairs.told.{name}']
            for name in ('setting', 'load_average', 'runs')))

    def test_estimates_are_counted(self):
        found = dict(facts.published(_matrix(0.1)))
        self.assertEqual(('25', '5', '20'), tuple(
            found[f'matrix.{name}']
            for name in ('cells', 'estimates', 'published')))
