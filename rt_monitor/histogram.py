# SPDX-License-Identifier: Apache-2.0

"""Histograms of times with 32 buckets per octave, from 16 ns to 18 minutes.

A quantile is wrong by at most half the width of a bucket, 1.6 %.  The
histograms of several CPUs, servers or hosts are added bucket by bucket.
"""

import bisect
from collections.abc import Callable, Iterable
import dataclasses
import functools
import itertools
import operator
import struct
import sys

#: The same numbers as in ``programs/histogram.h``.
BUCKETS = 1024
_OCTAVE = 32
_UNIT_NS = 16
#: The size of a count in bytes; the sum comes after the counts of all
#: buckets.
_WIDTH = 8
_COUNTS = struct.Struct(f'={BUCKETS}Q')
SIZE = _COUNTS.size + _WIDTH
_NOTHING, _NO_OCTAVE = bytes(_COUNTS.size), bytes(_OCTAVE * _WIDTH)

#: The bounds that Prometheus gets, in seconds: at most 24 for a histogram.
BOUNDS = tuple(float(f'{mantissa}e{power}')
               for power, mantissas in ((-6, (1, 2.5, 5)), (-5, (1, 2.5, 5)),
                                        (-4, (1, 2.5, 5)), (-3, (1, 2.5, 5)),
                                        (-2, (1, 2.5, 5)), (-1, (1, 2.5, 5)),
                                        (0, (1, 2.5, 5)), (1, (1,)))
               for mantissa in mantissas)


def floor_ns(bucket: int) -> int:
    """Returns the shortest time that is counted in a bucket."""
    octave = max(0, bucket // _OCTAVE - 1)
    return (bucket - octave * _OCTAVE << octave) * _UNIT_NS


@functools.cache
def _floors() -> tuple[int, ...]:
    return tuple(floor_ns(bucket) for bucket in range(BUCKETS + 1))


def bucket_of(ns: int) -> int:
    """Returns the bucket in which a time is counted."""
    return min(BUCKETS - 1, bisect.bisect_right(_floors(), ns) - 1)


@dataclasses.dataclass(frozen=True)
class Histogram:
    """A histogram of times.

    :ivar data: the count of each bucket, with 64 bits, as the kernel stores
        them.  The counts are unpacked only when they are needed; most are
        never needed.
    :ivar sum_ns: the exact sum of all times
    """

    data: bytes = _NOTHING
    sum_ns: int = 0

    @classmethod
    def from_counts(cls, counts: Iterable[int], sum_ns: int) -> 'Histogram':
        """Returns a histogram with these counts of all buckets."""
        return cls(_COUNTS.pack(*counts), sum_ns)

    @classmethod
    def decode(cls, data: bytes) -> 'Histogram':
        """Returns the histogram that a program in the kernel has counted."""
        return cls(data[:_COUNTS.size],
                   int.from_bytes(data[_COUNTS.size:], sys.byteorder))

    @functools.cached_property
    def _begin(self) -> int:
        """The first bucket that is not empty."""
        return BUCKETS - -(-len(self.data.lstrip(b'\0')) // _WIDTH)

    @functools.cached_property
    def _reached(self) -> tuple[int, ...]:
        """The cumulative counts, from the first bucket that is not empty."""
        end = BUCKETS * _WIDTH
        while end and self.data[end - len(_NO_OCTAVE):end] == _NO_OCTAVE:
            end -= len(_NO_OCTAVE)
        used = self.data[self._begin * _WIDTH:end]
        return tuple(itertools.accumulate(
            struct.unpack(f'={len(used) // _WIDTH}Q', used)))

    @functools.cached_property
    def count(self) -> int:
        """The number of all times."""
        return self._reached[-1] if self._reached else 0

    @property
    def mean_ns(self) -> float:
        """The mean of all times; 0 if there are none."""
        return self.sum_ns / self.count if self.count else 0.0

    def __add__(self, other: 'Histogram') -> 'Histogram':
        if other.data == _NOTHING:
            return self
        if self.data == _NOTHING:
            return other
        return self._joined(operator.add, other)

    def since(self, before: 'Histogram') -> 'Histogram':
        """Returns the times that were added after an earlier state."""
        return self._joined(operator.sub, before)

    def _joined(self, how: Callable[[int, int], int], other: 'Histogram'
                ) -> 'Histogram':
        # The counts of a histogram are treated as one large number, because
        # no count ever carries into the next bucket.
        joined = how(*(int.from_bytes(times.data, sys.byteorder)
                       for times in (self, other)))
        return Histogram(joined.to_bytes(_COUNTS.size, sys.byteorder),
                         how(self.sum_ns, other.sum_ns))

    def without(self, part: 'Histogram') -> 'Histogram':
        """Returns the difference of the times; no bucket is less than 0."""
        whole, known = (_COUNTS.unpack(times.data) for times in (self, part))
        return Histogram.from_counts(
            (max(0, count - of_part) for count, of_part in
             zip(whole, known, strict=True)),
            max(0, self.sum_ns - part.sum_ns))

    def quantile_ns(self, part: float) -> float:
        """Returns a quantile of the times; 0 if there are none.

        The quantile is the middle of the bucket that it lies in.

        :param part: the part of all times that do not exceed the quantile,
            from 0 to 1
        """
        if not self.count:
            return 0.0
        # The quantile of part 0 lies in the first bucket that is not empty.
        bucket = self._begin + bisect.bisect_left(
            self._reached, max(1.0, part * self.count))
        floors = _floors()
        return (floors[bucket] + floors[bucket + 1]) / 2

    def cumulative(self, bounds_s: tuple[float, ...] = BOUNDS) -> list[int]:
        """Counts the times within each bound; one bucket may be wrong."""
        within, reached, begin = _within(bounds_s), self._reached, self._begin
        below = bisect.bisect_right(within, begin)
        above = bisect.bisect_left(within, begin + len(reached))
        return [*[0] * below,
                *[reached[upto - begin - 1] for upto in within[below:above]],
                *[self.count] * (len(within) - above)]


@functools.cache
def _within(bounds_s: tuple[float, ...]) -> list[int]:
    """Counts, for each bound, the buckets whose middle is within the bound."""
    middles = [(low + high) / 2 for low, high in
               itertools.pairwise(_floors())]
    return [bisect.bisect_right(middles, bound * 1e9) for bound in bounds_s]
