# SPDX-License-Identifier: Apache-2.0

"""CBS servers under EDF: SCHED_DEADLINE, and HCBS, which is built on it.

A server that wakes up keeps its budget q and its deadline d while
q / (d - now) <= Q / P; otherwise it starts again with budget Q and deadline
now + P.  A server without budget waits for its deadline; its budget then grows
by Q, and its deadline moves by P.

With HRTICK a timer ends a run at the end of the budget.  Without HRTICK, the
kernel notices at a tick, or when the server leaves the CPU, that the budget is
used up.  The kernel subtracts the time that the server ran too long from the
next budget.  If the deadline has already passed, the server does not wait: its
deadline moves at once.
"""

from collections.abc import Sequence
import math

from nova_rt.rules import exception
from rt_models.model import paper
from rt_models.model.simulator import cpu
from rt_models.model.simulator import ticks as rt_ticks


def simulate(servers: Sequence[cpu.Station],
             ticks: rt_ticks.Ticks | None = None,
             until_us: float = math.inf) -> list[cpu.Trace]:
    """Runs *servers* on one CPU and returns their traces.

    :param ticks: the ticks at which run time is charged; None: a timer
        charges it
    :raises InvalidLoad: when Eq. (1) does not hold
    """
    if not paper.schedulable(server.reservation for server in servers):
        raise exception.InvalidLoad(
            name='number of reservations on one CPU', value=len(servers),
            rule='their shares must not add up to more than 1')
    return cpu.run([_Process(server, ticks) for server in servers], until_us)


class _Process(cpu.Process):
    """A CBS server, whose rank is its deadline."""

    __slots__ = ('_budget', '_end', '_out', '_period', '_runtime',
                 '_throttled', '_ticks')

    def __init__(self, server: cpu.Station, ticks: rt_ticks.Ticks | None
                 ) -> None:
        super().__init__(server)
        self._ticks = ticks
        self._runtime = float(server.budget_us)
        self._period = float(server.reservation.period_us)
        self._budget = self._end = self._out = 0.0
        self._throttled = False

    @property
    def ready(self) -> bool:
        return self._arrived > self._done and not self._throttled

    def wake_up(self, now: float) -> None:
        left = self.rank - now
        if not self._throttled and (
                left <= 0
                or self._budget * self._period > left * self._runtime):
            self._budget, self.rank = self._runtime, now + self._period

    def replenish(self, now: float) -> None:
        self._throttled, self.refill = False, math.inf
        while self._budget <= 0:
            self._budget += self._runtime
            self.rank += self._period
        if self.rank < now:
            self._budget, self.rank = self._runtime, now + self._period

    def plan(self) -> None:
        self._end = self._since + self._work
        self._out = self._since + self._budget
        if self._ticks is not None:
            self._out = self._ticks.from_on(self._out)
        self.change = min(self._end, self._out)

    def reach(self, now: float) -> None:
        self._budget -= self.serve(now)
        if self._end <= now:
            self.finish(now)
        if self._out <= now:
            self._budget = min(self._budget, 0.0)
            self._throttle(now)
        if self.ready:
            self.plan()

    def stop(self, now: float) -> None:
        super().stop(now)
        self._budget -= self.serve(now)
        if self._budget <= 0 and not self._throttled:
            self._throttle(now)

    def _throttle(self, now: float) -> None:
        self._throttled = True
        if self.rank <= now:
            self.replenish(now)
        else:
            self.refill = self.rank
            self.event = min(self.event, self.refill)
