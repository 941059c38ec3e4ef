# SPDX-License-Identifier: Apache-2.0

"""CBS servers on several CPUs, each CPU by earliest deadline first.

Servers stay on their CPU, as those of nova-rt do.  A server is idle (no
request), ready, or throttled (no budget; until its deadline).
"""

from collections.abc import Iterable, Sequence
import dataclasses
import math

import numpy as np

from nova_rt import exception
from nova_rt.model import numeric
from nova_rt.model import paper
from nova_rt.model.simulator import traffic
from nova_rt import reservation as rt_reservation


@dataclasses.dataclass(frozen=True, slots=True)
class Server:
    """A reservation on one CPU and the requests to it."""

    reservation: rt_reservation.Reservation
    requests: traffic.Requests


def responses_us(cpus: Sequence[Sequence[Server]]
                 ) -> list[list[numeric.Floats]]:
    """Response times of each request of each server of each CPU.

    :raises InvalidLoad: Eq. (1) does not hold on a CPU
    """
    for number, servers in enumerate(cpus):
        if not paper.schedulable(server.reservation for server in servers):
            raise exception.InvalidLoad(
                name='set of reservations on CPU', value=number,
                rule='their shares must not add up to more than 1')
    return [_Cpu(servers).run() for servers in cpus]


class _State:
    """A server in the course of time."""

    def __init__(self, server: Server) -> None:
        self.runtime = float(server.reservation.runtime_us)
        self.period = float(server.reservation.period_us)
        requests = server.requests
        self.arrivals: list[float] = [*requests.arrivals_us.tolist(),
                                      math.inf]
        self.works: list[float] = [*requests.works_us.tolist(), 0.0]
        self.ends: list[float] = []
        self.arrived = 0
        self.budget = self.deadline = 0.0
        self.work = self.works[0]
        self.throttled = False

    @property
    def waiting(self) -> bool:
        return self.arrived > len(self.ends)

    @property
    def ready(self) -> bool:
        return self.waiting and not self.throttled

    def next_event(self) -> float:
        """The next arrival, or the end of being throttled."""
        arrival = self.arrivals[self.arrived]
        return min(arrival, self.deadline) if self.throttled else arrival

    def pass_events(self, now: float) -> None:
        """What happens up to now, apart from running."""
        if self.throttled and self.deadline <= now:
            self.throttled = False
            self.budget = self.runtime
            self.deadline += self.period
        while self.arrivals[self.arrived] <= now:
            if not self.waiting:
                self._wake_up(now)
            self.arrived += 1

    def _wake_up(self, now: float) -> None:
        left = self.deadline - now
        if left <= 0 or self.budget * self.period > left * self.runtime:
            self.budget, self.deadline = self.runtime, now + self.period

    def execute(self, time: float, now: float) -> None:
        """Run for *time*, at most for next_change(), until *now*."""
        change = self.next_change()
        ends, out = change == self.work, change == self.budget
        self.work -= time
        self.budget -= time
        if time < change:
            return
        if ends:
            self.ends.append(now)
            self.work = self.works[len(self.ends)]
        if out:
            self.budget = 0.0
            self.throttled = self.waiting

    def next_change(self) -> float:
        """Time until a request ends or the budget is used."""
        return min(self.work, self.budget)


class _Cpu:
    def __init__(self, servers: Iterable[Server]) -> None:
        self._servers = list(servers)
        self._states = [_State(server) for server in self._servers]

    def run(self) -> list[numeric.Floats]:
        now, running = 0.0, None
        while True:
            for state in self._states:
                state.pass_events(now)
            running = self._choose(running)
            event = min((state.next_event() for state in self._states),
                        default=math.inf)
            if running is None:
                if math.isinf(event):
                    break
                now = event
                continue
            change = running.next_change()
            if now + change <= event:
                now += change
                running.execute(change, now)
            else:
                running.execute(event - now, event)
                now = event
        return [np.array(state.ends) - server.requests.arrivals_us
                for state, server in zip(self._states, self._servers,
                                         strict=True)]

    def _choose(self, running: _State | None) -> _State | None:
        """The earliest deadline; of equals, the one that runs."""
        best = running if running is not None and running.ready else None
        for state in self._states:
            if state.ready and (best is None
                                or state.deadline < best.deadline):
                best = state
        return best
