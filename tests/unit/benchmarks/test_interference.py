# SPDX-License-Identifier: Apache-2.0

"""Tests that the simulation is of what was published, and fair."""

import itertools
import random

from oslotest import base

from benchmarks import interference


class InterferenceTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.rng = random.Random(7)  # noqa: S311

    def test_drawn_matrices_have_what_is_published(self):
        found = [interference.drawn(self.rng) for _ in range(50)]
        for rows in found:
            self.assertEqual(
                (0.8541, 0.6153, 0.6449),
                (rows['I']['III'], rows['II']['III'], rows['III']['II']))
            for target, mean in interference.SHIPPED.means.items():
                row = rows[target]
                self.assertAlmostEqual(mean, sum(row.values()) / 5, 9)
                self.assertTrue(all(0 < value <= 1 for value
                                    in row.values()))
                self.assertLessEqual(max(row['IV'], row['V']), min(
                    row['I'], row['II'], row['III']) + 0.05)
        self.assertNotEqual(found[0], found[1])

    def test_the_best_is_the_best(self):
        """Compared with all ways to pair four of 40 that fill the hosts."""
        rows = interference.drawn(self.rng)
        self.assertAlmostEqual(
            4.0, interference.best(rows, ['I', 'II', 'III', 'IV']))
        arrivals = self.rng.choices(interference.TYPES, k=4)
        ways = [sum(interference._pair(rows, *pair) for pair in (
            order[:2], order[2:])) for order in itertools.permutations(
                arrivals)]
        self._hosts(2)
        self.assertAlmostEqual(max(ways), interference.best(rows, arrivals))

    def _hosts(self, count):
        self.addCleanup(setattr, interference, 'HOSTS', interference.HOSTS)
        interference.HOSTS = count

    def test_no_run_is_better_than_the_best(self):
        for number in range(3):
            run = interference.simulate(str(number), 40, 2,
                                        interference.PAPER)
            self.assertLessEqual(max(run.ours, run.both, run.wrong,
                                     run.shipped, 1.0), run.best + 1e-9)

    def test_the_same_seed_is_the_same_run(self):
        self.assertEqual(
            interference.simulate('x', 30, 4, interference.PAPER),
            interference.simulate('x', 30, 4, interference.PAPER))
