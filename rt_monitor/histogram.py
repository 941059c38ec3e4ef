# SPDX-License-Identifier: Apache-2.0

"""Histograms of times: 32 buckets an octave, from 16 ns to 18 minutes.

A quantile is wrong by half the width of a bucket at most, 1.6 %.  Those of
several CPUs, servers or hosts are added bucket by bucket.
"""

import bisect
from collections.abc import Callable, Iterable
import dataclasses
import functools
import itertools
import operator
import struct
import sys

#: As ``programs/histogram.h`` has them.
BUCKETS = 1024
_OCTAVE = 32
_UNIT_NS = 16
#: Of a count, in bytes; after those of the buckets comes the sum.
_WIDTH = 8
_COUNTS = struct.Struct(f'={BUCKETS}Q')
SIZE = _COUNTS.size + _WIDTH
_NOTHING, _NO_OCTAVE = bytes(_COUNTS.size), bytes(_OCTAVE * _WIDTH)

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

    :ivar data: the count of each bucket, 64 bits long, as the kernel has it:
        they are taken apart as late as possible, and most never
    :ivar sum_ns: of all times, exact
    """

    data: bytes = _NOTHING
    sum_ns: int = 0

    @classmethod
    def of(cls, counts: Iterable[int], sum_ns: int) -> 'Histogram':
        """A histogram with the counts of all buckets."""
        return cls(_COUNTS.pack(*counts), sum_ns)

    @classmethod
    def decode(cls, data: bytes) -> 'Histogram':
        """What a program of the kernel has counted."""
        return cls(data[:_COUNTS.size],
                   int.from_bytes(data[_COUNTS.size:], sys.byteorder))

    @functools.cached_property
    def _begin(self) -> int:
        """The first bucket with any."""
        return BUCKETS - -(-len(self.data.lstrip(b'\0')) // _WIDTH)

    @functools.cached_property
    def _reached(self) -> tuple[int, ...]:
        """How many are in the buckets up to each, from the first with any."""
        end = BUCKETS * _WIDTH
        while end and self.data[end - len(_NO_OCTAVE):end] == _NO_OCTAVE:
            end -= len(_NO_OCTAVE)
        used = self.data[self._begin * _WIDTH:end]
        return tuple(itertools.accumulate(
            struct.unpack(f'={len(used) // _WIDTH}Q', used)))

    @functools.cached_property
    def count(self) -> int:
        return self._reached[-1] if self._reached else 0

    @property
    def mean_ns(self) -> float:
        """0 where there was none."""
        return self.sum_ns / self.count if self.count else 0.0

    def __add__(self, other: 'Histogram') -> 'Histogram':
        if other.data == _NOTHING:
            return self
        if self.data == _NOTHING:
            return other
        return self._joined(operator.add, other)

    def since(self, before: 'Histogram') -> 'Histogram':
        """What came after an earlier look at the same histogram."""
        return self._joined(operator.sub, before)

    def _joined(self, how: Callable[[int, int], int], other: 'Histogram'
                ) -> 'Histogram':
        # As one large number each: no bucket runs over into the next one.
        joined = how(*(int.from_bytes(each.data, sys.byteorder)
                       for each in (self, other)))
        return Histogram(joined.to_bytes(_COUNTS.size, sys.byteorder),
                         how(self.sum_ns, other.sum_ns))

    def quantile_ns(self, part: float) -> float:
        """The time that this part of all is not longer than; 0 for none.

        The middle of its bucket.
        """
        if not self.count:
            return 0.0
        # The first bucket with any is that of the least.
        bucket = self._begin + bisect.bisect_left(
            self._reached, max(1.0, part * self.count))
        floors = _floors()
        return (floors[bucket] + floors[bucket + 1]) / 2

    def cumulative(self, bounds_s: tuple[float, ...] = BOUNDS) -> list[int]:
        """How many are within each bound, as far as the buckets tell."""
        within, reached, begin = _within(bounds_s), self._reached, self._begin
        below = bisect.bisect_right(within, begin)
        above = bisect.bisect_left(within, begin + len(reached))
        return [*[0] * below,
                *[reached[upto - begin - 1] for upto in within[below:above]],
                *[self.count] * (len(within) - above)]


@functools.cache
def _within(bounds_s: tuple[float, ...]) -> list[int]:
    """How many buckets lie below each bound, by their middles."""
    middles = [(low + high) / 2 for low, high in
               itertools.pairwise(_floors())]
    return [bisect.bisect_right(middles, bound * 1e9) for bound in bounds_s]
