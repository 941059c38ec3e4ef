# SPDX-License-Identifier: Apache-2.0

"""One CPU and its servers, from event to event: what all rules share.

Servers stay on their CPU, as those of nova-rt do.  Which server runs, and
when one has to stop, is the business of ``cbs`` and ``rt_group``.
"""

import abc
from collections.abc import Sequence
import dataclasses
import math
from typing import Protocol

import numpy as np

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import numeric
from rt_models.model.simulator import traffic


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A reservation on one CPU and the requests to it.

    :param priority: where the kernel compares them; the higher runs
    :param overhead_us: what each period loses of the runtime
    """

    reservation: rt_reservation.Reservation
    requests: traffic.Requests
    priority: int = 0
    overhead_us: float = 0.0

    @property
    def budget_us(self) -> float:
        """What is left of the runtime for requests."""
        return self.reservation.runtime_us - self.overhead_us


@dataclasses.dataclass(frozen=True, slots=True)
class Trace:
    """What became of a server; times in us.

    :ivar responses_us: of each request; infinite where it was not finished
    :ivar runs_us: a row (from, until) for each time that it had the CPU
    """

    responses_us: numeric.Floats
    runs_us: numeric.Floats

    def received_us(self, times_us: numeric.Floats) -> numeric.Floats:
        """The CPU time it had had at each of *times_us*."""
        if not len(self.runs_us):
            return np.zeros(len(times_us))
        lengths = self.runs_us[:, 1] - self.runs_us[:, 0]
        done = np.concatenate(([0.0], np.cumsum(lengths)))
        steps = np.column_stack((done[:-1], done[1:]))
        return np.asarray(np.interp(times_us, self.runs_us.ravel(),
                                    steps.ravel()))


class Process(abc.ABC):
    """A server in the course of time; a rule adds what is missing here.

    :ivar event: when something happens to it whether it runs or not
    :ivar change: when something happens because it runs; valid while it does
    :ivar rank: the ready server with the least one runs
    """

    __slots__ = ('_arrivals', '_arrived', '_done', '_ends', '_runs', '_since',
                 '_started', '_work', '_works', 'change', 'event', 'rank',
                 'refill')

    def __init__(self, server: Server) -> None:
        requests = server.requests
        self._arrivals: list[float] = [*requests.arrivals_us.tolist(),
                                       math.inf]
        self._works: list[float] = [*requests.works_us.tolist(), 0.0]
        self._ends: list[float] = []
        self._runs: list[tuple[float, float]] = []
        self._arrived = self._done = 0
        self._work = self._works[0]
        self._since = self._started = 0.0
        self.refill = self.change = math.inf
        self.event = self._arrivals[0]
        self.rank = 0.0

    @property
    def waiting(self) -> bool:
        """Whether there is a request to serve."""
        return self._arrived > self._done

    @property
    @abc.abstractmethod
    def ready(self) -> bool:
        """Whether it would run if no other one did."""

    def pass_events(self, now: float) -> None:
        """Take up what happens at *now*: a refill, then arrivals."""
        if self.refill <= now:
            self.replenish(now)
        while self._arrivals[self._arrived] <= now:
            if self._arrived == self._done:
                self.wake_up(now)
            self._arrived += 1
        self.event = min(self.refill, self._arrivals[self._arrived])

    def start(self, now: float) -> None:
        """Get the CPU."""
        self._since = self._started = now
        self.plan()

    @abc.abstractmethod
    def reach(self, now: float) -> None:
        """Take up what happens at *change*, which is *now*."""

    def stop(self, now: float) -> None:
        """Lose the CPU, and be charged for having had it."""
        self._runs.append((self._started, now))

    @abc.abstractmethod
    def plan(self) -> None:
        """Find out *change*."""

    @abc.abstractmethod
    def wake_up(self, now: float) -> None:
        """Have a request after there was none."""

    @abc.abstractmethod
    def replenish(self, now: float) -> None:
        """Get a budget, and set *refill* anew."""

    def serve(self, now: float) -> float:
        """Work on the request from the last call on; returns how long."""
        time = now - self._since
        self._since = now
        self._work -= time
        return time

    def finish(self, now: float) -> None:
        """Be done with the request."""
        self._ends.append(now)
        self._done += 1
        self._work = self._works[self._done]

    def trace(self) -> Trace:
        """What became of it until now."""
        arrivals = np.array(self._arrivals[:-1])
        ends = np.full(len(arrivals), math.inf)
        ends[:self._done] = self._ends
        return Trace(ends - arrivals, np.array(self._runs).reshape(-1, 2))


class Timer(Protocol):
    """Something that happens, and is no server."""

    @property
    def event(self) -> float:
        """When it is next."""

    def pass_events(self, now: float) -> None:
        """Take up what happens at *now*."""


def run(processes: Sequence[Process], until_us: float = math.inf,
        timers: Sequence[Timer] = ()) -> list[Trace]:
    """Let time pass until nothing is left to do, or until *until_us*.

    That must be finite where a request never ends.
    """
    now, running = 0.0, None
    happening: list[Timer | Process] = [*timers, *processes]
    while now < until_us:
        for one in happening:
            if one.event <= now:
                one.pass_events(now)
        best = _choose(processes, running)
        if best is not running:
            if running is not None:
                running.stop(now)
                # Being charged may have changed its rank.
                best = _choose(processes, None)
            if best is not None:
                best.start(now)
            running = best
        event = min([one.event for one in happening], default=math.inf)
        if running is not None and running.change <= min(event, until_us):
            now = running.change
            running.reach(now)
        elif event < until_us:
            now = event
        else:
            break
    if running is not None:
        running.stop(until_us)
    return [process.trace() for process in processes]


def _choose(processes: Sequence[Process], running: Process | None
            ) -> Process | None:
    """The least rank; of equals, the one that runs."""
    best = running if running is not None and running.ready else None
    for process in processes:
        if process.ready and (best is None or process.rank < best.rank):
            best = process
    return best
