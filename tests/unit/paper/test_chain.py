# SPDX-License-Identifier: Apache-2.0

"""The stored runs of benchmarks.chain, which the pages cite."""

import unittest

import ddt

from benchmarks import chain
from paper import facts

RUNS = facts.rows(facts.CHAIN)


def rates(run):
    return [float(run[f'{name}_hz']) for name in ('least', 'reached', 'most')]


@ddt.ddt
class ChainTest(unittest.TestCase):

    def test_the_columns_are_those_of_the_benchmark(self):
        self.assertEqual([*chain.COLUMNS], [*RUNS[0]])

    @ddt.data(chain.QUOTA, chain.RESERVATION)
    def test_there_are_enough_runs(self, held):
        self.assertGreaterEqual(
            sum(run['held'] == held for run in RUNS), 3)

    def test_the_interval_holds_each_rate(self):
        """Neighbours that come later may take more from a full chain."""
        for run in RUNS:
            if run['held'] == chain.QUOTA:
                least, reached, most = rates(run)
                full = float(run['beside_hz']) < 1.1 * least
                self.assertLessEqual((0.85 if full else 1) * least, reached,
                                     run)
                self.assertLessEqual(reached, most, run)

    def test_with_reservations_the_prediction_is_within_a_tenth(self):
        for run in RUNS:
            if run['held'] == chain.RESERVATION:
                least, reached, most = rates(run)
                self.assertEqual(least, most)
                self.assertLess(abs(reached / most - 1), 0.1, run)
