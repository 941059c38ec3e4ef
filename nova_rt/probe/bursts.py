# SPDX-License-Identifier: Apache-2.0

"""When bursts are due, and what they come to."""

from collections import deque
import statistics
import time

from nova_rt.probe import gaps
from nova_rt.probe import report
from nova_rt.probe import spin
from nova_rt.probe import supply

#: Their median counts.
KEPT = 5
#: Part of what is available that the VNF may use for a burst to begin.
QUIET = 0.7


class Bursts:
    """The last few bursts of one reservation.

    :param max_load: part of the reservation that they may use
    :ivar known: what they come to; None: nothing yet
    :ivar reason: why the last one gave no answer
    """

    def __init__(self, max_load: float) -> None:
        self._max_load = max_load
        self._found: deque[supply.Estimate] = deque(maxlen=KEPT)
        self._next_ns = 0
        self._running: spin.Burst | None = None
        self.known: report.Known | None = None
        self.reason = 'no burst has ended yet'

    def clear(self) -> None:
        """Forget all: the reservation may be another."""
        self._found.clear()
        self.known = None

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

    def take(self, order: spin.Order) -> float | None:
        """Do one.

        :returns: what was available before, where that is no longer so
        :raises ProbeError: it is not allowed
        """
        self._running = spin.Burst(order)
        try:
            trace = self._running.run()
        finally:
            self._running = None
        now = time.monotonic_ns()
        # What the group got meanwhile is what a part is taken of.
        got = max(trace.used_ns, trace.cpu_ns, 1) / max(1, trace.wall_ns)
        self._next_ns = now + round(trace.cpu_ns / got / self._max_load)
        found = gaps.estimate(trace.gaps, order.period_ns, order.tick_ns)
        if trace.stopped or found is None:
            self.reason = trace.stopped or (
                'the budget did not end often enough within a burst')
            return None
        self.reason = ''
        return self._add(found, now)

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
