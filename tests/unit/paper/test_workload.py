# SPDX-License-Identifier: Apache-2.0

import unittest

import hypothesis
from hypothesis import strategies
import numpy as np

from paper import workload
from tests.unit import base

Distribution = workload.Distribution

DISTRIBUTIONS = strategies.builds(
    Distribution, strategies.floats(0, 1e6), strategies.booleans())


class DistributionTest(unittest.TestCase):

    def test_fixed(self):
        drawn = Distribution(3.5, fixed=True).draw(
            np.random.default_rng(1), 4)
        self.assertEqual([3.5] * 4, drawn.tolist())

    def test_exponential(self):
        drawn = Distribution(10.0).draw(np.random.default_rng(1), 100_000)
        # Of the mean the standard deviation is 0.03.
        self.assertAlmostEqual(10.0, drawn.mean(), delta=0.15)
        self.assertAlmostEqual(10.0, drawn.std(), delta=0.3)


class WorkloadTest(unittest.TestCase):

    @base.PROPERTY
    @hypothesis.given(DISTRIBUTIONS, DISTRIBUTIONS, DISTRIBUTIONS,
                      strategies.integers(1, 50), strategies.integers(1, 20))
    def test_schedule(self, intervals, service, size, clients, requests):
        one = workload.Workload(intervals, service, size, clients)
        at, work, sizes, client = one.schedule(requests, 7).T
        self.assertTrue((np.diff(at, prepend=0) >= 0).all())
        self.assertTrue((work >= 0).all())
        self.assertGreaterEqual(sizes.min(), workload.MIN_SIZE)
        self.assertLessEqual(sizes.max(), workload.MAX_SIZE)
        self.assertEqual(set(range(min(clients, requests))), set(client))

    def test_units(self):
        one = workload.Workload(
            Distribution(20, fixed=True), Distribution(5, fixed=True))
        self.assertEqual([[20_000, 5000, 128, 0], [40_000, 5000, 128, 0]],
                         one.schedule(2, 1).tolist())

    def test_seeds(self):
        one = workload.Workload(Distribution(20), Distribution(5))
        first = one.schedule(9, 1).tolist()
        self.assertEqual(first, one.schedule(9, 1).tolist())
        self.assertNotEqual(first, one.schedule(9, 2).tolist())

    def test_backlog(self):
        """A run starts as a random moment finds the queue."""
        one = workload.Workload(Distribution(20), Distribution(5),
                                backlog=4.0)
        waiting = [one.waiting(seed) for seed in range(4000)]
        # Geometric: its standard deviation is 4.5, of the mean 0.07.
        self.assertAlmostEqual(4.0, np.mean(waiting), delta=0.3)
        seed = next(seed for seed in range(100) if waiting[seed] == 3)
        at = one.schedule(9, seed)[:, 0]
        self.assertEqual([0] * 3, at[:3].tolist())
        self.assertGreater(at[3], 0)

    def test_loads_are_independent(self):
        first, second = (workload.Workload(
            Distribution(10), Distribution(mean)).schedule(9, 1)
            for mean in (5, 6))
        self.assertNotEqual(first[:, 0].tolist(), second[:, 0].tolist())

    def test_intervals_are_independent(self):
        short, long = (workload.Workload(
            Distribution(mean), Distribution(5)).schedule(9, 1)
            for mean in (10, 20))
        self.assertNotEqual(short[:, 1].tolist(), long[:, 1].tolist())
