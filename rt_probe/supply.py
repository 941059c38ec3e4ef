# SPDX-License-Identifier: Apache-2.0

"""From CPU time received to what was available, with an interval.

Pure.  The law is that of the periodic resource model (Shin and Lee, RTSS
2003): a budget of Q in each P, wherever in the period it comes, is between
s (w - 2 (P - Q)) and s (w + 2 (P - Q)) in any window w, with s = Q / P.
"""

import collections
import math
from typing import NamedTuple

#: How much of the past counts.
LONGEST_NS = 10_000_000_000
#: Steps of which the spread is part of the interval.
_SPREAD_FROM = 4
#: Shares are counted in so many parts, so that their sums are exact.
_PARTS = 1_000_000_000


class Estimate(NamedTuple):
    """CPU time available per wall time; 1 is one CPU.

    :ivar lower: of the interval that holds the truth, with *upper*
    """

    available: float
    lower: float
    upper: float

    def touches(self, other: 'Estimate') -> bool:
        return self.lower <= other.upper and other.lower <= self.upper


class Supply(NamedTuple):
    """CPU time that came in a window while all of it was wanted.

    :ivar cpus: how many CPUs it came from
    :ivar error_ns: how far off readings may be, on each CPU: a tick where
        budgets are charged at ticks
    :ivar unwanted_ns: for how long it may not have been wanted, which is
        the most that could have been had on top
    """

    used_ns: int
    wall_ns: int
    period_ns: int
    cpus: int = 1
    error_ns: int = 0
    unwanted_ns: int = 0

    def estimate(self) -> Estimate:
        """:raises ZeroDivisionError: of a window of nothing"""
        used, error = self.used_ns / self.cpus, self.error_ns
        available = self.used_ns / self.wall_ns
        lower = self.cpus * self._least(used - error)
        upper = self.cpus * self._most(used + error + self.unwanted_ns)
        return Estimate(available, min(lower, available),
                        max(upper, available))

    def _least(self, used: float) -> float:
        """The s with s (w + 2 P (1 - s)) = used."""
        period, wall = self.period_ns, self.wall_ns + 2 * self.period_ns
        root = wall * wall - 8 * period * max(0.0, used)
        return min(1.0, (wall - math.sqrt(max(0.0, root))) / (4 * period))

    def _most(self, used: float) -> float:
        """The s with s (w - 2 P (1 - s)) = used."""
        period, wall = self.period_ns, self.wall_ns - 2 * self.period_ns
        root = wall * wall + 8 * period * used
        return min(1.0, (math.sqrt(root) - wall) / (4 * period))


class Window:
    """Consecutive supplies, as long as they are of the same reservation.

    Their sums are kept: adding all up again was a seventh of a report.
    """

    def __init__(self) -> None:
        self._steps: collections.deque[Supply] = collections.deque()
        self._sums = _Sums()
        self._known: Estimate | None = None
        self._straddles = False

    def clear(self) -> None:
        self._steps.clear()
        self._sums = _Sums()
        self._known = None
        self._straddles = False

    def add(self, step: Supply) -> float | None:
        """Take one more.

        :returns: what was available before, where that is no longer so
        """
        before = self._known
        changed = False
        if before is None or before.touches(step.estimate()):
            if self._straddles:
                # The change was somewhere in the step that showed it.
                self._forget()
            self._straddles = False
        else:
            # A second one is still the change that was told.
            changed = not self._straddles
            self._straddles = True
            self._steps.clear()
            self._sums = _Sums()
        self._steps.append(step)
        self._sums.add(step, 1)
        self._known = self._made()
        return before.available if before and changed else None

    def estimate(self) -> Estimate:
        """What all steps come to: the law, and what they differ by.

        :raises IndexError: there is none
        """
        return self._known or self._made()

    def _made(self) -> Estimate:
        last, sums = self._steps[-1], self._sums
        while sums.wall_ns > LONGEST_NS and sums.count > 1:
            self._forget()
        found = Supply(sums.used_ns, sums.wall_ns, last.period_ns, last.cpus,
                       last.error_ns, sums.unwanted_ns).estimate()
        if sums.count < _SPREAD_FROM:
            return found
        half = 2 * sums.standard_error()
        return Estimate(found.available, max(0.0, found.lower - half),
                        found.upper + half)

    def _forget(self) -> None:
        self._sums.add(self._steps.popleft(), -1)


class _Sums:
    """What the steps of a window add up to."""

    def __init__(self) -> None:
        self.count = self.used_ns = self.wall_ns = self.unwanted_ns = 0
        self._shares = self._squares = 0

    def add(self, step: Supply, times: int) -> None:
        """One more, or with -1 one less."""
        share = step.used_ns * _PARTS // step.wall_ns
        self.count += times
        self.used_ns += times * step.used_ns
        self.wall_ns += times * step.wall_ns
        self.unwanted_ns += times * step.unwanted_ns
        self._shares += times * share
        self._squares += times * share * share

    def standard_error(self) -> float:
        """That of the mean of their shares."""
        count = self.count
        spread = count * self._squares - self._shares * self._shares
        return math.sqrt(spread / (count * count * (count - 1))) / _PARTS
