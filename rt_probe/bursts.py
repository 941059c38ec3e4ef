# SPDX-License-Identifier: Apache-2.0

"""Decides when bursts are due, and combines their results."""

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

#: How many of the last bursts are kept; their median is reported.
KEPT = 5
#: The factor by which pauses between checks are longer than the load
#: requires.  The load that is saved pays for whole bursts.
_SPARE = 1.2
#: The part of the load that is planned with.  The rest is a margin, because
#: the charge for a burst is only as exact as the estimate of the reservation.
_SAFE = 0.95
#: The assumed length of a check, in periods, until one has been made.
_CHECK = 3
_NO_ENDS = 'the budget did not run out often enough within a burst'
#: A burst begins only while the VNF uses less than this part of what is
#: available.
QUIET = 0.7


class Bursts:
    """The last few bursts of one reservation.

    :param max_load: the part of the reservation that bursts may use
    :ivar known: the combined estimate; None while there is no estimate
    :ivar reason: why the last burst gave no estimate
    """

    def __init__(self, max_load: float) -> None:
        self._estimates: deque[supply.Estimate] = deque(maxlen=KEPT)
        self._load = allowance.Allowance(_SAFE * max_load)
        self._spent_ns = self._check_ns = 0
        self._next_ns = 0
        self._running: spin.Burst | None = None
        self.known: report.Known | None = None
        self.reason = 'no burst has ended yet'

    def clear(self) -> None:
        """Forgets all bursts, because the reservation may have changed."""
        self._estimates.clear()
        self.known = None
        self._check_ns = 0

    def end(self) -> None:
        """Ends a running burst; may be called by a signal handler."""
        if self._running is not None:
            self._running.end()

    def due(self, used: float) -> bool:
        """Returns whether a burst may begin now.

        The debt of earlier bursts must be paid off, and the VNF must be idle.

        :param used: what the VNF uses, in CPUs
        """
        if time.monotonic_ns() < self._next_ns:
            return False
        return (self.known is None
                or used < QUIET * self.known.estimate.available)

    def take_due(self, order: spin.Order) -> float | None:
        """Takes a whole burst where the load allows one, otherwise a check.

        A check that finds too little is followed by a whole burst.

        :returns: as :meth:`take`
        :raises ProbeError: when a burst is not permitted
        """
        if (self.known is None or order.period_ns is None
                or not self._load.debt_ns(time.monotonic_ns())):
            return self.take(order)
        known = self.known.estimate
        check = rt_check.Check(known.available, known.lower, order.period_ns,
                               order.error_ns)
        trace, now = self._run(dataclasses.replace(order, check=check))
        self._check_ns = self._spent_ns
        self._plan(now, order)
        if trace.stopped or check.verdict(
                trace.used_ns, trace.wall_ns) is not False:
            return None
        changed = self.take(order)
        # Checks that are wrong repeatedly must not exceed the load: the
        # whole debt is paid off before the next burst.
        self._next_ns = self._load.free_ns()
        return changed

    def take(self, order: spin.Order) -> float | None:
        """Takes a whole burst, which measures how much is available.

        :returns: the previous estimate of the available CPUs, if the new
            estimate differs; otherwise None
        :raises ProbeError: when a burst is not permitted
        """
        trace, now = self._run(order)
        estimate = gaps.estimate(trace.gaps, order.period_ns, order.error_ns)
        changed = None
        self.reason = (trace.stopped or _NO_ENDS if estimate is None
                       else trace.stopped or _doubt(trace, order.error_ns))
        if estimate is not None and not self.reason:
            changed = self._add(estimate, now)
        self._plan(now, order)
        return changed

    def _run(self, order: spin.Order) -> tuple[spin.Trace, int]:
        self._running = spin.Burst(order)
        try:
            trace = self._running.run()
        finally:
            self._running = None
        now = time.monotonic_ns()
        # The load is a part of what is available.  Before the first estimate,
        # the CPU time that the group got during this burst is used instead.
        available = self.known.estimate.available if self.known else 0.0
        available = available or (max(trace.used_ns, trace.cpu_ns, 1)
                                  / max(1, trace.wall_ns))
        self._spent_ns = round(trace.cpu_ns / available)
        self._load.spend(self._spent_ns, now)
        return trace, now

    def _plan(self, now: int, order: spin.Order) -> None:
        """Sets the time from which on the next check or burst may begin."""
        self._next_ns = self._load.free_ns()
        if self.known is not None and order.period_ns is not None:
            check = _SPARE * (self._check_ns or _CHECK * order.period_ns)
            self._next_ns = min(self._next_ns,
                                now + self._load.pause_ns(check))

    def _add(self, estimate: supply.Estimate, now: int) -> float | None:
        before = self.known
        changed = (before is not None
                   and not estimate.touches(before.estimate))
        if changed:
            self._estimates.clear()
        self._estimates.append(estimate)
        self.known = report.Known(_median(self._estimates), now)
        return before.estimate.available if before and changed else None

    @property
    def count(self) -> int:
        """The number of bursts that the estimate is made of."""
        return len(self._estimates)


def _doubt(trace: spin.Trace, error_ns: int) -> str:
    """Returns why the estimate of a burst is not believed; '' if it is.

    In a virtual machine, a gap of the burst may be the work of another task
    or CPU time that the hypervisor took.  The steal shows the difference.

    :param error_ns: how far the steal may be off
    """
    if trace.stolen_ns is None:
        return ''
    if not trace.stolen_ns:
        return ('the hypervisor reported no steal during a burst, so a gap of '
                'the burst cannot be told from the work of other tasks')
    still = sum(gap.long_ns - gap.others_ns for gap in trace.gaps if gap.still)
    unseen = trace.blind_ns + sum(gap.others_ns if gap.still else gap.long_ns
                                  for gap in trace.gaps)
    if -error_ns <= trace.stolen_ns - still <= unseen + error_ns:
        return ''
    return (f'the gaps of a burst last {still / 1e6:.0f} ms, but the '
            f'hypervisor reported {trace.stolen_ns / 1e6:.0f} ms of steal')


def _median(estimates: deque[supply.Estimate]) -> supply.Estimate:
    return supply.Estimate(
        statistics.median(burst.available for burst in estimates),
        min(burst.lower for burst in estimates),
        max(burst.upper for burst in estimates))
