# SPDX-License-Identifier: Apache-2.0

"""Mainline RT_GROUP_SCHED: groups with budgets under fixed priorities.

The rules come from ``kernel/sched/rt.c``:

* Run time is charged at ticks and at each switch, to the group and to all
  groups above it.  A group that has used more than its runtime is throttled at
  this moment.
* The timer of a group subtracts up to one runtime from the charged time, and
  lets the group run again if less than a runtime is left.  Thus the next
  budgets are shorter by the time that the group ran too long.
* The timer stops when nothing is charged and nothing waits.  The first
  wake-up after the time of the next refill starts the timer again at the
  time of the wake-up.
* A group of a higher priority runs at once.  Among equal priorities SCHED_RR
  takes turns: a group goes to the end of the queue when its slice has ended
  (counted at ticks), when it wakes up, and when it may run again.
"""

from collections.abc import Iterator, Sequence
import itertools
import math

from nova_rt.rules import reservation as rt_reservation
from rt_models.model.simulator import cpu
from rt_models.model.simulator import ticks as rt_ticks

#: The default of the sysctl kernel.sched_rr_timeslice_ms.
SLICE_US = 100_000
#: A number that is larger than the number of turns in any simulation.
_TURNS = 2.0 ** 40


def simulate(servers: Sequence[cpu.Station], ticks: rt_ticks.Ticks,
             parents: Sequence[rt_reservation.Reservation] = (),
             slice_us: float = SLICE_US, until_us: float = math.inf
             ) -> list[cpu.Trace]:
    """Runs *servers* on one CPU and returns their traces.

    :param parents: the budgets of the groups above all servers
    :param slice_us: the slice of SCHED_RR, a multiple of the tick
    """
    turns = itertools.count(1)
    above = [_Budget(parent.runtime_us, parent.period_us)
             for parent in parents]
    rounds = max(1, round(slice_us / ticks.length_us))
    priorities = [server.priority for server in servers]
    processes = [
        _Process(server, above, ticks, turns,
                 rounds if priorities.count(server.priority) > 1 else 0)
        for server in servers]
    return cpu.run(processes, until_us,
                   [_Parent(budget, processes) for budget in above])


class _Budget:
    """The charged run time of a group on a CPU, and the group's timer."""

    __slots__ = ('_active', '_period', '_runtime', 'charged', 'refill',
                 'runner', 'throttled')

    def __init__(self, runtime_us: float, period_us: float) -> None:
        self._runtime, self._period = float(runtime_us), float(period_us)
        self._active = self.throttled = False
        self.charged, self.refill = 0.0, -math.inf
        #: The server that runs in this group.
        self.runner: _Process | None = None

    def start(self, now: float) -> None:
        """Starts the timer if it does not run."""
        if not self._active:
            self._active = True
            self.refill = max(self.refill, now)

    def charge(self, time: float) -> None:
        """Charges run time; throttles a group that has used too much."""
        self.charged += time
        if self.charged > self._runtime and self._runtime < self._period:
            self.throttled = True

    def until_throttled(self) -> float:
        """Returns the run time above which the group is throttled."""
        return (self._runtime - self.charged
                if self._runtime < self._period else math.inf)

    def replenish(self, waiting: bool) -> None:
        """Subtracts a runtime from the charged time.

        :param waiting: whether a task waits, so that the timer continues
        """
        if self.runner is not None:
            self.runner.charge_ticks(self.refill)
        self.charged -= min(self.charged, self._runtime)
        if self.charged < self._runtime:
            self.throttled = False
        self.refill += self._period
        self._active = bool(self.charged) or waiting

    @property
    def event(self) -> float:
        """The time of the next refill; infinite if the timer has stopped."""
        return self.refill if self._active else math.inf


class _Process(cpu.Process):
    """A group with one task, ranked by its priority and then by its turn."""

    __slots__ = ('_budget', '_budgets', '_end', '_first', '_last', '_out',
                 '_paid', '_rounds', '_slice', '_slice_end', '_ticks',
                 '_turns')

    def __init__(self, server: cpu.Station, above: Sequence[_Budget],
                 ticks: rt_ticks.Ticks, turns: Iterator[int], rounds: int
                 ) -> None:
        super().__init__(server)
        self._budget = _Budget(server.budget_us,
                               server.reservation.period_us)
        self._budgets = [self._budget, *above]
        self._ticks, self._turns, self._rounds = ticks, turns, rounds
        self._first = -_TURNS * server.priority
        self._slice, self._last = rounds, 0
        self._end = self._out = self._slice_end = math.inf
        self._paid = 0.0

    @property
    def queued(self) -> bool:
        """True if the groups above count this group as ready."""
        return self._arrived > self._done and not self._budget.throttled

    @property
    def ready(self) -> bool:
        if self._arrived == self._done:
            return False
        return not any(budget.throttled for budget in self._budgets)

    def wake_up(self, now: float) -> None:
        for budget in self._budgets:
            budget.start(now)
        self._to_the_end()
        # A timer that is started after its next refill refills at once.
        if self._budget.refill <= now:
            self._budget.replenish(True)
        self.refill = self._budget.event

    def replenish(self, now: float) -> None:
        was_throttled = self._budget.throttled
        self._budget.replenish(self.waiting)
        if was_throttled and not self._budget.throttled:
            self._to_the_end()
        self.refill = self._budget.event
        if self._budget.runner is self:
            self.plan()

    def start(self, now: float) -> None:
        self._paid = now
        for budget in self._budgets:
            budget.runner = self
        if self._rounds:
            self._begin_slice(now, self._slice)
        super().start(now)

    def plan(self) -> None:
        self._end = self._since + self._work
        left = min([budget.until_throttled() for budget in self._budgets])
        self._out = (math.inf if math.isinf(left) else self._ticks.at(
            self._ticks.index_after(self._paid + left)))
        self.change = min(self._end, self._out, self._slice_end)

    def reach(self, now: float) -> None:
        self.serve(now)
        if self._end <= now:
            self.finish(now)
        if self._out <= now:
            self._charge(now)
        if self._slice_end <= now:
            self._begin_slice(now, self._rounds)
            self._to_the_end()
        self.plan()

    def stop(self, now: float) -> None:
        super().stop(now)
        self.serve(now)
        self._charge(now)
        for budget in self._budgets:
            budget.runner = None
        if self._rounds:
            left = self._last - self._ticks.index_after(now) + 1
            self._slice = left if left > 0 else self._rounds

    def charge_ticks(self, now: float) -> None:
        """Charges the run time up to the last tick until *now*."""
        tick = self._ticks.at(self._ticks.index_after(now) - 1)
        if tick > self._paid:
            self._charge(tick)

    def _charge(self, now: float) -> None:
        for budget in self._budgets:
            budget.charge(now - self._paid)
        self._paid = now

    def _begin_slice(self, now: float, rounds: int) -> None:
        self._last = self._ticks.index_after(now) + rounds - 1
        self._slice_end = self._ticks.at(self._last)

    def _to_the_end(self) -> None:
        self.rank = self._first + next(self._turns)


class _Parent:
    """The timer of a group above the servers."""

    def __init__(self, budget: _Budget, below: Sequence[_Process]) -> None:
        self._budget, self._below = budget, below

    @property
    def event(self) -> float:
        """The time of the next refill."""
        return self._budget.event

    def pass_events(self, now: float) -> None:
        """Refills the budget."""
        self._budget.replenish(any(process.queued for process in self._below))
        if self._budget.runner is not None:
            self._budget.runner.plan()
