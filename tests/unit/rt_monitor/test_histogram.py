# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.histogram: buckets, quantiles, and what Prometheus gets."""

import struct
import unittest

import hypothesis
from hypothesis import strategies as st

from rt_monitor import histogram
from tests.unit import base

TIMES = st.lists(st.integers(0, 1 << 39), min_size=1, max_size=50)


def of(times):
    counts = [0] * histogram.BUCKETS
    for time in times:
        counts[histogram.bucket_of(time)] += 1
    return histogram.Histogram.from_counts(counts, sum(times))


class HistogramTest(unittest.TestCase):

    @hypothesis.given(st.integers(0, 1 << 39))
    @base.PROPERTY
    def test_bucket(self, time):
        bucket = histogram.bucket_of(time)
        low, high = (histogram.floor_ns(bucket),
                     histogram.floor_ns(bucket + 1))
        self.assertTrue(low <= time < high)
        # Half of it is the most that a quantile is wrong by.
        self.assertLessEqual(high - low, max(16, low / 32))

    def test_edges(self):
        self.assertEqual(0, histogram.bucket_of(0))
        self.assertEqual(0, histogram.bucket_of(15))
        self.assertEqual(1, histogram.bucket_of(16))
        self.assertEqual(histogram.BUCKETS - 1, histogram.bucket_of(1 << 63))

    @hypothesis.given(TIMES, st.floats(0.001, 1))
    @base.PROPERTY
    def test_quantile(self, times, part):
        ordered = sorted(times)
        rank = next(index for index in range(len(ordered))
                    if (index + 1) >= part * len(ordered))
        self.assertAlmostEqual(ordered[rank], of(times).quantile_ns(part),
                               delta=max(16, ordered[rank] * 0.016))

    @hypothesis.given(TIMES, TIMES)
    @base.PROPERTY
    def test_adding_and_taking_away(self, first, second):
        both = of(first) + of(second)
        self.assertEqual(of(first + second), both)
        self.assertEqual(of(second), both.since(of(first)))
        self.assertAlmostEqual(sum(first + second) / len(first + second),
                               both.mean_ns)

    @hypothesis.given(TIMES)
    @base.PROPERTY
    def test_cumulative(self, times):
        found = of(times).cumulative()
        self.assertEqual(sorted(found), found)
        for bound, count in zip(histogram.BOUNDS, found, strict=True):
            margin = max(16, bound * 1e9 / 32)
            self.assertTrue(
                sum(time <= bound * 1e9 - margin for time in times) <= count
                <= sum(time <= bound * 1e9 + margin for time in times))

    def test_at_most_24_bounds(self):
        self.assertLessEqual(len(histogram.BOUNDS), 24)

    def test_none(self):
        empty = histogram.Histogram()
        self.assertEqual((0, 0.0, 0.0), (
            empty.count, empty.mean_ns, empty.quantile_ns(0.5)))

    def test_decode(self):
        data = struct.pack('=1024QQ', *range(1024), 7)
        self.assertEqual(histogram.Histogram.from_counts(range(1024), 7),
                         histogram.Histogram.decode(data))
