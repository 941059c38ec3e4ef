# SPDX-License-Identifier: Apache-2.0

"""rt_models.model.variation: how different requests are, from sums."""

import unittest

import ddt
import numpy as np

from rt_models.model import variation
from tests import seeds

SPAN_S, PARTS, RATE_HZ = 30.0, 600, 100.0


def measured(rng, true, delay_s=0.0, speed=lambda _: 1.0):
    """Returns counts and CPU times of parts; requests have gamma times."""
    count = rng.poisson(SPAN_S * RATE_HZ)
    begins = rng.uniform(0, SPAN_S, count)
    works = (rng.gamma(1 / true, true, count) if true else np.ones(count)
             ) * speed(begins)
    ends = np.minimum(begins + rng.uniform(0, delay_s, count), SPAN_S)
    bins = {'bins': PARTS, 'range': (0, SPAN_S)}
    return (np.histogram(ends, **bins)[0].tolist(),
            np.histogram(begins, weights=works, **bins)[0].tolist())


@ddt.ddt
class VariationTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.rng = np.random.default_rng(seeds.seed())

    @ddt.data(0.1, 0.5, 1.0, 2.5)
    def test_is_an_upper_bound(self, true):
        """The bound is two standard deviations above; it may be below."""
        bounds = [variation.upper_bound(
            *measured(self.rng, true, 0.005), SPAN_S, 0.005)
            for _ in range(50)]
        self.assertLessEqual(sum(bound < true for bound in bounds), 10)
        self.assertLess(np.median(bounds), 1.6 * true + 0.1)

    def test_answers_in_later_parts(self):
        """At high frequencies, the power would be that of the counts."""
        found = variation.upper_bound(
            *measured(self.rng, 0.0, 0.1), SPAN_S, 0.1)
        self.assertLess(found, 0.6)
        self.assertGreater(variation.upper_bound(
            *measured(self.rng, 0.0, 0.1), SPAN_S, 0.001), 1.0)

    def test_speed_of_the_cpu_changes(self):
        """Requests are equal; they all take longer for some time."""
        def speed(begins):
            return 1 + 0.3 * np.sin(begins / 2)
        found = measured(self.rng, 0.0, speed=speed)
        self.assertLess(variation.upper_bound(*found, SPAN_S, 0.005), 0.15)

    @ddt.data(([1] * 9, [0.1] * 9, 0.01),       # parts
              ([0, 1] * 7, [0.1] * 14, 0.01),   # requests
              ([9] * 60, [0.1] * 60, 2.0),      # as long as the measurement
              ([9] * 60, [0.0] * 60, 0.01),     # CPU time
              ([0] * 60, [0.1] * 60, 0.0))
    @ddt.unpack
    def test_too_few(self, counts, works, response_s):
        self.assertIsNone(variation.upper_bound(
            counts, works, SPAN_S, response_s))

    def test_equal_requests(self):
        found = variation.upper_bound(
            [9, 7, 8] * 20, [0.9, 0.7, 0.8] * 20, SPAN_S, 0.01)
        self.assertAlmostEqual(0, found)
