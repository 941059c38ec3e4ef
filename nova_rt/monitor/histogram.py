# SPDX-License-Identifier: Apache-2.0

"""Histograms of times: 32 buckets an octave, from 16 ns to 18 minutes.

A quantile is wrong by half the width of a bucket at most, 1.6 %.  Those of
several CPUs, servers or hosts are added bucket by bucket.
"""

import bisect
from collections.abc import Sequence
import dataclasses
import functools
import itertools
import struct

#: As ``programs/histogram.h`` has them.
BUCKETS = 1024
_OCTAVE = 32
_UNIT_NS = 16
_FORMAT = struct.Struct(f'={BUCKETS}QQ')
SIZE = _FORMAT.size

#: What Prometheus is given, in seconds: at most 24 bounds a histogram.
BOUNDS = tuple(float(f'{mantissa}e{power}')
               for power, mantissas in ((-6, (1, 2.5, 5)), (-5, (1, 2.5, 5)),
                                        (-4, (1, 2.5, 5)), (-3, (1, 2.5, 5)),
                                        (-2, (1, 2.5, 5)), (-1, (1, 2.5, 5)),
                                        (0, (1, 2.5, 5)), (1, (1,)))
               for mantissa in mantissas)


def floor_ns(bucket: int) -> int:
    """The least time that is counted in a bucket."""
    octave = max(0, bucket // _OCTAVE - 1)
    return (bucket - octave * _OCTAVE << octave) * _UNIT_NS


@functools.cache
def _floors() -> tuple[int, ...]:
    return tuple(floor_ns(bucket) for bucket in range(BUCKETS + 1))


def bucket_of(ns: int) -> int:
    """The bucket that a time is counted in."""
    return min(BUCKETS - 1, bisect.bisect_right(_floors(), ns) - 1)


@dataclasses.dataclass(frozen=True)
class Histogram:
    """How many times were how long.

    :ivar counts: by bucket
    :ivar sum_ns: of all times, exact
    """

    counts: tuple[int, ...] = (0,) * BUCKETS
    sum_ns: int = 0

    @classmethod
    def decode(cls, data: bytes) -> 'Histogram':
        """What a program of the kernel has counted."""
        if data == _NOTHING:
            return _EMPTY
        *counts, total = _FORMAT.unpack(data)
        return cls(tuple(counts), total)

    @functools.cached_property
    def _reached(self) -> tuple[int, ...]:
        """How many are in the buckets up to each."""
        return tuple(itertools.accumulate(self.counts))

    @property
    def count(self) -> int:
        return self._reached[-1]

    @property
    def mean_ns(self) -> float:
        """0 where there was none."""
        return self.sum_ns / self.count if self.count else 0.0

    def __add__(self, other: 'Histogram') -> 'Histogram':
        if not other.count:
            return self
        return Histogram(
            tuple(map(int.__add__, self.counts, other.counts)),
            self.sum_ns + other.sum_ns)

    def since(self, before: 'Histogram') -> 'Histogram':
        """What came after an earlier look at the same histogram."""
        return Histogram(
            tuple(map(int.__sub__, self.counts, before.counts)),
            self.sum_ns - before.sum_ns)

    def quantile_ns(self, part: float) -> float:
        """The time that this part of all is not longer than; 0 for none.

        The middle of its bucket.
        """
        if not self.count:
            return 0.0
        # The first bucket with any is that of the least.
        bucket = bisect.bisect_left(self._reached,
                                    max(1.0, part * self.count))
        floors = _floors()
        return (floors[bucket] + floors[bucket + 1]) / 2

    def cumulative(self, bounds_s: Sequence[float] = BOUNDS) -> list[int]:
        """How many are within each bound, as far as the buckets tell."""
        return [self._reached[within - 1] if within else 0
                for within in map(_within, bounds_s)]


#: Most histograms of most servers, so they are not taken apart.
_NOTHING, _EMPTY = bytes(SIZE), Histogram()


@functools.cache
def _within(bound_s: float) -> int:
    """How many buckets lie below a bound, by their middles."""
    floors = _floors()
    middles = [(low + high) / 2 for low, high in itertools.pairwise(floors)]
    return bisect.bisect_right(middles, bound_s * 1e9)
