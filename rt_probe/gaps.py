# SPDX-License-Identifier: Apache-2.0

"""From the gaps of a burst to what was available.

Pure.  A burst wants all the time.  A gap in which nothing of the group ran
may be throttling; its end is then where a budget was given.  Such ends lie
on one grid, the period; those of other gaps do not.
"""

from collections.abc import Iterable, Sequence
import dataclasses

from rt_probe import supply

#: So many ends, periods and ticks at least.
ENDS, PERIODS, TICKS = 3, 3, 25
#: How far an end may be off the grid: part of a period, and at most.
_OFF_PART, _OFF_NS = 0.05, 1_000_000
#: Shorter periods than this are not looked for.
_SHORTEST_NS = 2_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class Gap:
    """A time in which the burst did not run.

    :ivar used_ns: CPU time of the group at its end
    :ivar others_ns: what others of the group used meanwhile
    """

    begin_ns: int
    end_ns: int
    used_ns: int
    others_ns: int

    @property
    def still(self) -> bool:
        """Whether the group stood still for most of it."""
        return 2 * self.others_ns < self.end_ns - self.begin_ns


@dataclasses.dataclass(frozen=True, slots=True)
class End:
    """Where a budget was given, if the others ran right after it."""

    at_ns: int
    used_ns: int


def ends(of: Iterable[Gap]) -> list[End]:
    """The ends of gaps in which the group stood still."""
    return [End(gap.end_ns - gap.others_ns, gap.used_ns - gap.others_ns)
            for gap in of if gap.still]


def least_ns(period_ns: int, tick_ns: int) -> int:
    """How long a window must be."""
    return max(PERIODS * period_ns, TICKS * tick_ns)


def on_grid(found: Sequence[End], period_ns: int) -> list[End]:
    """The most that are whole periods apart, but for a little."""
    off = min(_OFF_NS, int(_OFF_PART * period_ns))

    def beside(origin: End) -> list[End]:
        return [end for end in found if (end.at_ns - origin.at_ns + off)
                % period_ns <= 2 * off]
    return max((beside(end) for end in found), key=len, default=[])


def fit_period_ns(found: Sequence[End]) -> int | None:
    """The longest period with most ends on its grid; None: there is none."""
    candidates = sorted({
        later.at_ns - end.at_ns for number, end in enumerate(found)
        for later in found[number + 1:number + 3]
        if later.at_ns - end.at_ns >= _SHORTEST_NS}, reverse=True)
    best = max(candidates, default=None,
               key=lambda period: len(on_grid(found, period)))
    if best is None or len(on_grid(found, best)) < ENDS:
        return None
    return best


def estimate(of: Iterable[Gap], period_ns: int | None, tick_ns: int
             ) -> supply.Estimate | None:
    """What was available, from the first end to the last.

    :param period_ns: None: it is looked for
    :returns: None where the ends are too few or too close for an answer
    """
    found = ends(of)
    period_ns = period_ns or fit_period_ns(found)
    if not period_ns:
        return None
    found = on_grid(found, period_ns)
    if len(found) < ENDS:
        return None
    wall = found[-1].at_ns - found[0].at_ns
    off = min(_OFF_NS, int(_OFF_PART * period_ns))
    if wall + 2 * off < least_ns(period_ns, tick_ns):
        return None
    used = found[-1].used_ns - found[0].used_ns
    # Budgets that are charged at ticks are paid back, or not yet.
    return supply.Estimate(used / wall, max(0, used - tick_ns) / wall,
                           min(wall, used + tick_ns) / wall)
