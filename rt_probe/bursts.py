# SPDX-License-Identifier: Apache-2.0

"""When bursts are due, and what they come to."""

from collections import deque
import dataclasses
import statistics
import time

from rt_probe import allowance
from rt_probe import check as rt_check
from rt_probe import gaps
from rt_probe import report
from rt_probe import spin
from rt_probe import supply

#: Their median counts.
KEPT = 5
#: How much longer the pauses between checks are than they have to be: what
#: is left of the load pays for whole bursts.
_SPARE = 1.2
#: Part of the load that is used: what a burst is charged for is only known
#: as well as what there is.
_SAFE = 0.95
#: How many periods a check may take, before one was made.
_CHECK = 3
#: Part of what is available that the VNF may use for a burst to begin.
QUIET = 0.7


class Bursts:
    """The last few bursts of one reservation.

    :param max_load: part of the reservation that they may use
    :ivar known: what they come to; None: nothing yet
    :ivar reason: why the last one gave no answer
    """

    def __init__(self, max_load: float) -> None:
        self._found: deque[supply.Estimate] = deque(maxlen=KEPT)
        self._load = allowance.Allowance(_SAFE * max_load)
        self._spent_ns = self._check_ns = 0
        self._next_ns = 0
        self._running: spin.Burst | None = None
        self.known: report.Known | None = None
        self.reason = 'no burst has ended yet'

    def clear(self) -> None:
        """Forget all: the reservation may be another."""
        self._found.clear()
        self.known = None
        self._check_ns = 0

    def end(self) -> None:
        """End the burst that runs, from a handler of a signal."""
        if self._running is not None:
            self._running.end()

    def due(self, used: float) -> bool:
        """Whether there is load to spend, and the VNF leaves room."""
        if time.monotonic_ns() < self._next_ns:
            return False
        return (self.known is None
                or used < QUIET * self.known.estimate.available)

    def take_due(self, order: spin.Order) -> float | None:
        """A whole one where the load allows it, or else a check.

        As :meth:`take`, which follows a check that finds too little.
        """
        if (self.known is None or order.period_ns is None
                or not self._load.debt_ns(time.monotonic_ns())):
            return self.take(order)
        known = self.known.estimate
        check = rt_check.Check(known.available, known.lower, order.period_ns,
                               order.tick_ns)
        trace, now = self._run(dataclasses.replace(order, check=check))
        self._check_ns = self._spent_ns
        self._plan(now, order)
        if trace.stopped or check.verdict(
                trace.used_ns, trace.wall_ns) is not False:
            return None
        changed = self.take(order)
        # Where checks are wrong again and again, all is paid first.
        self._next_ns = self._load.free_ns()
        return changed

    def take(self, order: spin.Order) -> float | None:
        """A whole one, that sees how much there is.

        :returns: what was available before, where that is no longer so
        :raises ProbeError: it is not allowed
        """
        trace, now = self._run(order)
        found = gaps.estimate(trace.gaps, order.period_ns, order.tick_ns)
        changed = None
        if trace.stopped or found is None:
            self.reason = trace.stopped or (
                'the budget did not end often enough within a burst')
        else:
            self.reason = ''
            changed = self._add(found, now)
        self._plan(now, order)
        return changed

    def _run(self, order: spin.Order) -> tuple[spin.Trace, int]:
        self._running = spin.Burst(order)
        try:
            trace = self._running.run()
        finally:
            self._running = None
        now = time.monotonic_ns()
        # What is available is what a part is taken of: as far as is known.
        got = self.known.estimate.available if self.known else 0.0
        got = got or (max(trace.used_ns, trace.cpu_ns, 1)
                      / max(1, trace.wall_ns))
        self._spent_ns = round(trace.cpu_ns / got)
        self._load.spend(self._spent_ns, now)
        return trace, now

    def _plan(self, now: int, order: spin.Order) -> None:
        """Say when the next one may be: a check, if not a whole one."""
        self._next_ns = self._load.free_ns()
        if self.known is not None and order.period_ns is not None:
            check = _SPARE * (self._check_ns or _CHECK * order.period_ns)
            self._next_ns = min(self._next_ns,
                                now + self._load.pause_ns(check))

    def _add(self, found: supply.Estimate, now: int) -> float | None:
        before = self.known
        changed = before is not None and not found.touches(before.estimate)
        if changed:
            self._found.clear()
        self._found.append(found)
        self.known = report.Known(_median(self._found), now)
        return before.estimate.available if before and changed else None

    @property
    def count(self) -> int:
        return len(self._found)


def _median(of: deque[supply.Estimate]) -> supply.Estimate:
    return supply.Estimate(
        statistics.median(one.available for one in of),
        min(one.lower for one in of), max(one.upper for one in of))
