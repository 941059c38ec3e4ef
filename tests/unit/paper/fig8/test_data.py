# SPDX-License-Identifier: Apache-2.0

"""The stored runs of Fig. 8, which the pages show."""

import unittest

from paper import facts
from paper.fig8 import pairs
from paper.fig8 import table


class DataTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.runs = facts.fig8_runs()

    def test_the_papers_pair_on_two_kernels_with_edf(self):
        kernels = [one for one in table.sets(self.runs)
                   if one.pair == 'paper' and one.place == 'deadline']
        self.assertGreaterEqual(len(kernels), 2)
        for one in kernels:
            for noise in (pairs.PERIODIC, pairs.GREEDY):
                found = table.isolation(self.runs, one, noise)
                self.assertLessEqual(found.value, table.BAR, one)
                self.assertLessEqual(found.most, table.BAR, one)

    def test_each_case_has_runs_enough(self):
        """Long runs by the deterministic clock differ by nothing."""
        for one in table.sets(self.runs):
            least = 3 if one.pair == 'slower' else 5
            for case in pairs.CASES[2:]:
                self.assertGreaterEqual(
                    len(table.case_runs(self.runs, one, *case)), least,
                    (one, case))
