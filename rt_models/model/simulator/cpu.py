# SPDX-License-Identifier: Apache-2.0

"""Simulates a CPU and its servers; this part is common to all rules.

Servers stay on their CPU, as the vCPUs of nova-rt do.  The modules ``cbs`` and
``rt_group`` decide which server runs and when a server has to stop.
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
class Station:
    """A reservation on one CPU and the requests to it.

    :param priority: the priority, on kernels that compare priorities; the
        server with the higher one runs
    :param overhead_us: the part of the runtime that each period loses
    """

    reservation: rt_reservation.Reservation
    requests: traffic.Arrivals
    priority: int = 0
    overhead_us: float = 0.0

    @property
    def budget_us(self) -> float:
        """The part of the runtime that is left for requests."""
        return self.reservation.runtime_us - self.overhead_us


@dataclasses.dataclass(frozen=True, slots=True)
class Trace:
    """The history of a server in a simulation; times in us.

    :ivar responses_us: the response time of each request; infinite for a
        request that was not finished
    :ivar runs_us: a row (from, until) for each time that the server had the
        CPU
    """

    responses_us: numeric.Floats
    runs_us: numeric.Floats

    def received_us(self, times_us: numeric.Floats) -> numeric.Floats:
        """Returns the CPU time that the server had until each time."""
        if not len(self.runs_us):
            return np.zeros(len(times_us))
        lengths = self.runs_us[:, 1] - self.runs_us[:, 0]
        done = np.concatenate(([0.0], np.cumsum(lengths)))
        steps = np.column_stack((done[:-1], done[1:]))
        return np.asarray(np.interp(times_us, self.runs_us.ravel(),
                                    steps.ravel()))


class Process(abc.ABC):
    """The state of a server over time; a rule implements the missing methods.

    :ivar event: the time of the next event that comes whether the server runs
        or not
    :ivar change: the time of the next event that comes because the server
        runs; valid while it runs
    :ivar rank: the rank of the server; the ready server with the lowest rank
        runs
    """

    __slots__ = ('_arrivals', '_arrived', '_done', '_ends', '_runs', '_since',
                 '_started', '_work', '_works', 'change', 'event', 'rank',
                 'refill')

    def __init__(self, server: Station) -> None:
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
        """True if the server has a request to serve."""
        return self._arrived > self._done

    @property
    @abc.abstractmethod
    def ready(self) -> bool:
        """True if the server would run if no other server did."""

    def pass_events(self, now: float) -> None:
        """Handles the events until *now*: first a refill, then arrivals."""
        if self.refill <= now:
            self.replenish(now)
        while self._arrivals[self._arrived] <= now:
            if self._arrived == self._done:
                self.wake_up(now)
            self._arrived += 1
        self.event = min(self.refill, self._arrivals[self._arrived])

    def start(self, now: float) -> None:
        """Gives the server the CPU."""
        self._since = self._started = now
        self.plan()

    @abc.abstractmethod
    def reach(self, now: float) -> None:
        """Handles the event at the time *change*, which is now."""

    def stop(self, now: float) -> None:
        """Takes the CPU from the server and charges the server for its run."""
        self._runs.append((self._started, now))

    @abc.abstractmethod
    def plan(self) -> None:
        """Computes *change*."""

    @abc.abstractmethod
    def wake_up(self, now: float) -> None:
        """Wakes up the server, which had no request, for a new request."""

    @abc.abstractmethod
    def replenish(self, now: float) -> None:
        """Refills the budget and sets *refill* to the time of the next one."""

    def serve(self, now: float) -> float:
        """Serves the request until *now*; returns the CPU time of this run."""
        time = now - self._since
        self._since = now
        self._work -= time
        return time

    def finish(self, now: float) -> None:
        """Finishes the request."""
        self._ends.append(now)
        self._done += 1
        self._work = self._works[self._done]

    def trace(self) -> Trace:
        """Returns the history of the server until now."""
        arrivals = np.array(self._arrivals[:-1])
        ends = np.full(len(arrivals), math.inf)
        ends[:self._done] = self._ends
        return Trace(ends - arrivals, np.array(self._runs).reshape(-1, 2))


class Timer(Protocol):
    """A source of events that is not a server."""

    @property
    def event(self) -> float:
        """The time of the next event."""

    def pass_events(self, now: float) -> None:
        """Handles the events until *now*."""


def run(processes: Sequence[Process], until_us: float = math.inf,
        timers: Sequence[Timer] = ()) -> list[Trace]:
    """Simulates until nothing is left to do, or until *until_us*.

    :param until_us: the end of the simulation; must be finite where a request
        never ends
    """
    now, running = 0.0, None
    happening: list[Timer | Process] = [*timers, *processes]
    while now < until_us:
        for source in happening:
            if source.event <= now:
                source.pass_events(now)
        best = _choose(processes, running)
        if best is not running:
            if running is not None:
                running.stop(now)
                # The charge may have changed the rank of the server.
                best = _choose(processes, None)
            if best is not None:
                best.start(now)
            running = best
        event = min([source.event for source in happening], default=math.inf)
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
    """Returns the ready server of lowest rank; on a tie, the running one."""
    best = running if running is not None and running.ready else None
    for process in processes:
        if process.ready and (best is None or process.rank < best.rank):
            best = process
    return best
