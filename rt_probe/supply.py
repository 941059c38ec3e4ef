# SPDX-License-Identifier: Apache-2.0

"""Computes from received CPU time what was available, with an interval.

This module is pure.  The law of supply comes from the periodic resource model
(Shin and Lee, RTSS 2003).  A group has a budget of Q in each period P, at any
place within the period.  Then any window of length w receives between s (w - 2
(P - Q)) and s (w + 2 (P - Q)), where s = Q / P.
"""

import collections
import math
from typing import NamedTuple

#: The longest window: older steps do not count.
LONGEST_NS = 10_000_000_000
#: From this number of steps on, their spread widens the interval.
_SPREAD_FROM = 4
#: Shares are whole multiples of one in this many parts, so that their sums
#: are exact.
_PARTS = 1_000_000_000


class Estimate(NamedTuple):
    """CPU time available per wall time; 1 is one CPU.

    :ivar lower: the lower end of the interval that holds the true value
    :ivar upper: the upper end of this interval
    """

    available: float
    lower: float
    upper: float

    def touches(self, other: 'Estimate') -> bool:
        """Returns whether the two intervals have a value in common."""
        return self.lower <= other.upper and other.lower <= self.upper


class Supply(NamedTuple):
    """CPU time that was received in a window while all of it was wanted.

    :ivar cpus: the number of CPUs that the CPU time came from
    :ivar error_ns: the error of readings on each CPU: a tick where budgets
        are charged at ticks
    :ivar unwanted_ns: how long CPU time may not have been wanted.  At most
        this much could have been received in addition.
    """

    used_ns: int
    wall_ns: int
    period_ns: int
    cpus: int = 1
    error_ns: int = 0
    unwanted_ns: int = 0

    def estimate(self) -> Estimate:
        """Returns what was available in the window, by the law of supply.

        :raises ZeroDivisionError: when the window has no length
        """
        used, error = self.used_ns / self.cpus, self.error_ns
        available = self.used_ns / self.wall_ns
        lower = self.cpus * self._least(used - error)
        upper = self.cpus * self._most(used + error + self.unwanted_ns)
        return Estimate(available, min(lower, available),
                        max(upper, available))

    def _least(self, used: float) -> float:
        """Returns the s for which s (w + 2 P (1 - s)) = used."""
        period, wall = self.period_ns, self.wall_ns + 2 * self.period_ns
        root = wall * wall - 8 * period * max(0.0, used)
        return min(1.0, (wall - math.sqrt(max(0.0, root))) / (4 * period))

    def _most(self, used: float) -> float:
        """Returns the s for which s (w - 2 P (1 - s)) = used."""
        period, wall = self.period_ns, self.wall_ns - 2 * self.period_ns
        root = wall * wall + 8 * period * used
        return min(1.0, (math.sqrt(root) - wall) / (4 * period))


class Window:
    """Consecutive supplies of the same reservation.

    The window keeps the sums of its steps, because adding up all steps took
    a seventh of the time of a report.
    """

    def __init__(self) -> None:
        self._steps: collections.deque[Supply] = collections.deque()
        self._sums = _Sums()
        self._known: Estimate | None = None
        self._straddles = False

    def clear(self) -> None:
        """Forgets all steps."""
        self._steps.clear()
        self._sums = _Sums()
        self._known = None
        self._straddles = False

    def add(self, step: Supply) -> float | None:
        """Adds a step.

        :returns: the previous estimate of the available CPUs, if the new
            estimate differs; otherwise None
        """
        before = self._known
        changed = False
        if before is None or before.touches(step.estimate()):
            if self._straddles:
                # The change came somewhere within the step that showed it,
                # so that step belongs to neither reservation.
                self._forget()
            self._straddles = False
        else:
            # The second step that differs shows the same change, which was
            # reported with the first one.
            changed = not self._straddles
            self._straddles = True
            self._steps.clear()
            self._sums = _Sums()
        self._steps.append(step)
        self._sums.add(step, 1)
        self._known = self._made()
        return before.available if before and changed else None

    def estimate(self) -> Estimate:
        """Returns the estimate of all steps.

        The interval of the estimate follows from the law of supply and from
        the spread of the steps.

        :raises IndexError: when there is no step
        """
        return self._known or self._made()

    def _made(self) -> Estimate:
        last, sums = self._steps[-1], self._sums
        while sums.wall_ns > LONGEST_NS and sums.count > 1:
            self._forget()
        by_law = Supply(sums.used_ns, sums.wall_ns, last.period_ns, last.cpus,
                        last.error_ns, sums.unwanted_ns).estimate()
        if sums.count < _SPREAD_FROM:
            return by_law
        half = 2 * sums.standard_error()
        return Estimate(by_law.available, max(0.0, by_law.lower - half),
                        by_law.upper + half)

    def _forget(self) -> None:
        self._sums.add(self._steps.popleft(), -1)


class _Sums:
    """The sums over the steps of a window."""

    def __init__(self) -> None:
        self.count = self.used_ns = self.wall_ns = self.unwanted_ns = 0
        self._shares = self._squares = 0

    def add(self, step: Supply, times: int) -> None:
        """Adds a step; with *times* = -1, takes it out again."""
        share = step.used_ns * _PARTS // step.wall_ns
        self.count += times
        self.used_ns += times * step.used_ns
        self.wall_ns += times * step.wall_ns
        self.unwanted_ns += times * step.unwanted_ns
        self._shares += times * share
        self._squares += times * share * share

    def standard_error(self) -> float:
        """Returns the standard error of the mean share of the steps."""
        count = self.count
        spread = count * self._squares - self._shares * self._shares
        return math.sqrt(spread / (count * count * (count - 1))) / _PARTS
