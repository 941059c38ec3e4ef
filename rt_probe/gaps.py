# SPDX-License-Identifier: Apache-2.0

"""Computes from the gaps of a burst how much CPU time was available.

This module is pure.  A burst wants all CPU time.  If no thread of the group
ran in a gap, the group may have been throttled; such a gap ends when the
kernel refills the budget.  The ends of throttlings are whole periods apart;
the ends of other gaps are not.
"""

import bisect
from collections.abc import Iterable, Sequence
import dataclasses

from rt_probe import supply

#: The least number of ends and periods for an estimate.
ENDS, PERIODS = 3, 3
#: A window for an estimate is at least this many times as long as the error of
#: its readings.
ERRORS = 25
#: How far an end may be off the grid: as a part of a period, and at most.
_OFF_PART, _OFF_NS = 0.05, 1_000_000
#: Periods shorter than this are not searched for.
_SHORTEST_NS = 2_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class Gap:
    """A time in which the burst did not run.

    :ivar used_ns: CPU time of the group at the end of the gap, since the
        burst began
    :ivar others_ns: CPU time of the other threads of the group in the gap
    """

    begin_ns: int
    end_ns: int
    used_ns: int
    others_ns: int

    @property
    def long_ns(self) -> int:
        """The length of the gap."""
        return self.end_ns - self.begin_ns

    @property
    def still(self) -> bool:
        """True if no thread of the group ran for most of the gap."""
        return 2 * self.others_ns < self.long_ns


@dataclasses.dataclass(frozen=True, slots=True)
class End:
    """The moment of a refill, if other threads ran right after that."""

    at_ns: int
    used_ns: int


def ends(gaps: Iterable[Gap]) -> list[End]:
    """Returns the ends of the gaps in which the group stood still."""
    return [End(gap.end_ns - gap.others_ns, gap.used_ns - gap.others_ns)
            for gap in gaps if gap.still]


def least_ns(period_ns: int, error_ns: int) -> int:
    """Returns the least length of a window for an estimate."""
    return max(PERIODS * period_ns, ERRORS * error_ns)


def on_grid(all_ends: Sequence[End], period_ns: int) -> list[End]:
    """Returns the largest set of ends that whole periods separate."""
    off = min(_OFF_NS, int(_OFF_PART * period_ns))
    phases = sorted(end.at_ns % period_ns for end in all_ends)
    # The circle of phases is cut open, and its ends overlap.
    circle = [*(phase - period_ns for phase in phases), *phases,
              *(phase + period_ns for phase in phases)]

    def beside(origin: End) -> int:
        phase = origin.at_ns % period_ns
        return (bisect.bisect_right(circle, phase + off)
                - bisect.bisect_left(circle, phase - off))
    if not all_ends:
        return []
    best = max(all_ends, key=beside)
    return [end for end in all_ends
            if (end.at_ns - best.at_ns + off) % period_ns <= 2 * off]


def fit_period_ns(all_ends: Sequence[End]) -> int | None:
    """Returns the period whose grid has the most ends.

    :returns: the longest of several such periods; None if no period has
        enough ends
    """
    candidates = sorted({
        later.at_ns - end.at_ns for number, end in enumerate(all_ends)
        for later in all_ends[number + 1:number + 3]
        if later.at_ns - end.at_ns >= _SHORTEST_NS}, reverse=True)
    best = max(candidates, default=None,
               key=lambda period: len(on_grid(all_ends, period)))
    if best is None or len(on_grid(all_ends, best)) < ENDS:
        return None
    return best


def estimate(gaps: Iterable[Gap], period_ns: int | None, error_ns: int
             ) -> supply.Estimate | None:
    """Returns what was available between the first end and the last.

    :param period_ns: None: the period is derived from the gaps
    :param error_ns: how far the difference of two readings of the CPU time may
        be off: a budget that is charged at ticks may be overdrawn by up to a
        tick, and the kernel may have taken an earlier overdraft back, or not
        yet
    :returns: None if the ends are too few or too close to each other
    """
    refills = ends(gaps)
    if not _long(refills, period_ns or 0, error_ns):
        return None
    period_ns = period_ns or fit_period_ns(refills)
    if not period_ns:
        return None
    refills = on_grid(refills, period_ns)
    if len(refills) < ENDS or not _long(refills, period_ns, error_ns):
        return None
    wall = refills[-1].at_ns - refills[0].at_ns
    used = refills[-1].used_ns - refills[0].used_ns
    return supply.Estimate(used / wall, max(0, used - error_ns) / wall,
                           min(wall, used + error_ns) / wall)


def _long(refills: Sequence[End], period_ns: int, error_ns: int) -> bool:
    """Returns whether the window of these ends is long enough."""
    if not refills:
        return False
    off = min(_OFF_NS, int(_OFF_PART * period_ns)) if period_ns else _OFF_NS
    return (refills[-1].at_ns - refills[0].at_ns + 2 * off
            >= least_ns(period_ns, error_ns))
