# SPDX-License-Identifier: Apache-2.0

"""Random sets of reservations on one CPU, and what each of them lacks."""

from collections.abc import Callable, Sequence
import dataclasses
import math
import random
from typing import NamedTuple

import numpy as np

from nova_rt.rules import cpus
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation as rt_reservation
from nova_rt.rules import schedulability
from rt_models.model import load as rt_load
from rt_models.model import numeric
from rt_models.model.simulator import cbs
from rt_models.model.simulator import cpu
from rt_models.model.simulator import rt_group
from rt_models.model.simulator import ticks as rt_ticks
from rt_models.model.simulator import traffic

CAP = 0.95
#: What whole ppm and whole microseconds may add to the sum of few servers.
ROUNDING_PPM = 1_000
PERIODS = 20
LONGEST_US = 1_000_000
#: Beyond this a set is as large as the test of admission lets it be.
_BISECTIONS = 16

Reservations = Sequence[rt_reservation.Reservation]
#: Periods in us, and the part that each server has of the sum of shares.
Shape = tuple[list[int], list[float]]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """The kernel to simulate; *rule* None: EDF, charged at ticks if given."""

    name: str
    tick_us: int = 0
    rule: schedulability.FixedPriorities | None = None
    #: the shortest runtime after a division for the kernel; 0 for none
    min_divided_us: int = 0

    def admits(self, servers: Reservations) -> bool:
        if sum(one.share for one in servers) > CAP + 1e-9:
            return False
        return self.in_kernel(servers) is not None

    def in_kernel(self, servers: Reservations, pcpus: int = 1
                  ) -> list[rt_reservation.Reservation] | None:
        """Returns what the kernel gets if all are admitted in this order."""
        state = dataclasses.replace(cpus.CpuBandwidth.empty(
            range(pcpus), round(CAP * rt_reservation.PPM) + ROUNDING_PPM,
            True, self.rule), min_divided_us=self.min_divided_us)
        return cpus.in_kernel(state, servers, policies.worst_fit)

    def ticks(self, draw: random.Random) -> rt_ticks.Ticks:
        return rt_ticks.Ticks(self.tick_us, draw.uniform(0, self.tick_us))

    def simulate(self, draw: random.Random, servers: Sequence[cpu.Station],
                 until_us: float) -> Sequence[cpu.Trace]:
        if self.rule is None:
            ticks = self.ticks(draw) if self.tick_us else None
            return cbs.simulate(servers, ticks, until_us)
        level = self.rule.level
        return rt_group.simulate(
            [dataclasses.replace(
                one, priority=level(one.reservation.period_us))
             for one in servers], self.ticks(draw), until_us=until_us)


def fixed_priorities(tick_us: int, min_divided_us: int = 0) -> Kernel:
    """Mainline itself, where no server can rely on the order of turns."""
    return Kernel('rt_group_sched', tick_us, schedulability.FixedPriorities(
        48, tick_us, 5 * tick_us // 2), min_divided_us)


def periods_us(draw: random.Random, count: int, shortest_us: int
               ) -> list[int]:
    """Draws periods: any, harmonic ones, or the same for all."""
    span = math.log(LONGEST_US / shortest_us)

    def one() -> int:
        return round(shortest_us * math.exp(span * draw.random()))

    kind = draw.choice(('any', 'any', 'harmonic', 'equal'))
    if kind == 'any':
        return [one() for _ in range(count)]
    if kind == 'equal':
        return [one()] * count
    octaves = int(span / math.log(2))
    return [shortest_us * 2 ** draw.randint(0, octaves)
            for _ in range(count)]


def shape(draw: random.Random, shortest_us: int) -> Shape:
    """Draws the periods of 2 to 5 servers and their parts of the total."""
    count = draw.randint(2, 5)
    cuts = sorted((0.0, 1.0, *(draw.random() for _ in range(count - 1))))
    parts = [max(0.01, high - low)
             for low, high in zip(cuts, cuts[1:], strict=False)]
    return periods_us(draw, count, shortest_us), [
        part / sum(parts) for part in parts]


def scaled(shaped: Shape, total: float
           ) -> list[rt_reservation.Reservation]:
    """Returns reservations whose shares add up to *total*."""
    return [rt_reservation.Reservation(max(2, int(total * part * period)),
                                       period)
            for period, part in zip(*shaped, strict=True)]


def largest(shaped: Shape, admits: Callable[[Reservations], bool],
            total: float = CAP) -> float:
    """Returns how large an admitted set may grow, up to *total*."""
    low, high = 0.0, total
    if admits(scaled(shaped, total)):
        return total
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if admits(scaled(shaped, middle)):
            low = middle
        else:
            high = middle
    return low


def admitted(draw: random.Random, kernel: Kernel, shortest_us: int
             ) -> list[rt_reservation.Reservation]:
    """Draws a set that *kernel* admits, mostly as large as possible."""
    while True:
        shaped = shape(draw, shortest_us)
        found = scaled(shaped, largest(shaped, kernel.admits,
                                       draw.uniform(0.5, CAP)))
        if kernel.admits(found):
            return found


def points(*values: float) -> numeric.Floats:
    return np.array(values, dtype=float)


def requests(*pairs: tuple[float, float]) -> traffic.Arrivals:
    """Returns requests from pairs (arrival, CPU time), in us."""
    return traffic.Arrivals(*(points(*column)
                              for column in zip(*pairs, strict=True)))


def busy_from(time_us: float) -> traffic.Arrivals:
    return requests((time_us, np.inf))


def random_requests(draw: random.Random,
                    reservation: rt_reservation.Reservation,
                    until_us: float) -> traffic.Arrivals:
    """Draws requests by which a server is sometimes idle, sometimes behind."""
    work_us = reservation.runtime_us * math.exp(draw.uniform(-2, 2))
    rate = draw.uniform(0.5, 1.1) * reservation.share / work_us
    return traffic.poisson(
        rt_load.Load(rate * rt_load.US_PER_S, rt_load.US_PER_S / work_us),
        int(1.2 * rate * until_us) + 5, draw.getrandbits(32))


def chosen_requests(draw: random.Random,
                    reservation: rt_reservation.Reservation, tick_us: int,
                    until_us: float) -> traffic.Arrivals:
    """Draws requests by which a server is late, if it ever is.

    Long requests use up a budget and a part of a tick.  Short requests come
    right after them, or in the part of a period that is left.
    """
    runtime_us, period_us = reservation.runtime_us, reservation.period_us
    pairs, time_us = [], draw.uniform(0, period_us)
    while time_us < until_us:
        work_us = draw.choice((
            draw.uniform(1, 200), draw.uniform(0, tick_us),
            draw.uniform(0.1, 1.2) * runtime_us,
            draw.uniform(0.5, 3) * runtime_us + draw.uniform(0, tick_us)))
        pairs.append((time_us, work_us))
        time_us += draw.choice((
            draw.uniform(0, tick_us), draw.uniform(0, period_us),
            draw.uniform(0.5, 1.2) * work_us / reservation.share,
            draw.uniform(0, 4 * period_us)))
    return requests(*pairs)


class Lost(NamedTuple):
    """Returns how much less than it reserved a busy server got, in us.

    :ivar first: over its first PERIODS periods
    :ivar any: over any PERIODS periods
    """

    server: rt_reservation.Reservation
    first: float
    any: float
    single: float


def lost(draw: random.Random, kernel: Kernel, reservations: Reservations,
         poisson: bool) -> list[Lost]:
    """Returns how much each busy server of a set lacks.

    :param poisson: one server, drawn, is always busy and the others have
        random requests; else all are
    """
    until_us = 1.1 * PERIODS * max(one.period_us for one in reservations)
    watched = draw.randrange(len(reservations)) if poisson else None
    servers = [
        cpu.Station(one, busy_from(draw.uniform(0, one.period_us))
                    if watched in (None, place)
                    else random_requests(draw, one, until_us))
        for place, one in enumerate(reservations)]
    traces = kernel.simulate(draw, servers, until_us)
    return [_lost(server, trace, until_us)
            for place, (server, trace) in enumerate(zip(servers, traces,
                                                        strict=True))
            if watched in (None, place)]


def _lost(server: cpu.Station, trace: cpu.Trace, until_us: float) -> Lost:
    runtime, period = (server.reservation.runtime_us,
                       server.reservation.period_us)
    times = np.arange(server.requests.arrivals_us[0], until_us, period)
    had = trace.received_us(times)
    spans = PERIODS * runtime - (had[PERIODS:] - had[:-PERIODS])
    return Lost(server.reservation, spans[0], spans.max(),
                runtime - np.diff(had).min())
