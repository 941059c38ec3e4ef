# SPDX-License-Identifier: Apache-2.0

"""Servers on one pCPU: random sets that the product admits, and a watch."""

from collections.abc import Sequence
import random
import threading
import time
from typing import Self

from demo import host
from demo import measure

from nova_rt.rules import cpus
from nova_rt.rules import division
from nova_rt.rules import reservation

#: in us, and as a part of a pCPU
_PERIODS = (10_000, 1_000_000)
_TOTAL = (0.5, 0.95)
_ALIKE = 0.3

Servers = list[reservation.Reservation]


def draw(seed: str, state: cpus.CpuBandwidth, most: int = 5,
         least_share: float = 0.02) -> Servers:
    """Draws 2 to *most* reservations that fit *state* together.

    Periods are log-uniform, in three of ten sets two are equal.

    :param state: an empty host, whose first pCPU is meant
    :param seed: the same one gives the same set
    """
    chance = random.Random(seed)  # noqa: S311
    while True:
        servers = _candidates(chance, chance.randint(2, most))
        if min(each.share for each in servers) >= least_share and (
                _admitted(state, servers)):
            return servers


def _candidates(chance: random.Random, count: int) -> Servers:
    low, high = _PERIODS
    periods = [round(low * (high / low) ** chance.random())
               for _ in range(count)]
    if chance.random() < _ALIKE:
        periods[1] = periods[0]
    return [reservation.Reservation(round(share * period), period)
            for share, period in zip(_shares(chance, count), periods,
                                     strict=True)]


def _shares(chance: random.Random, count: int) -> list[float]:
    """Draws parts, uniform on all parts with this sum (UUniFast).

    Bini and Buttazzo, Real-Time Systems 30(1-2), 2005.
    """
    left = chance.uniform(*_TOTAL)
    found = []
    for others in range(count - 1, 0, -1):
        rest = left * chance.random() ** (1 / others)
        found.append(left - rest)
        left = rest
    return [*found, left]


def _admitted(state: cpus.CpuBandwidth,
              servers: Sequence[reservation.Reservation]) -> bool:
    """Checks by the product's own fit function, one server after the other."""
    for wanted in servers:
        if wanted.runtime_us < reservation.MIN_RUNTIME_US or (
                not cpus.fits(state, 1, wanted)):
            return False
        state = state.claim(state.cpus[:1], division.divided(
            wanted, cpus.divisor(state, state.cpus[:1], wanted)))
    return True


class Watch:
    """Notes the CPU time of servers ten times in each of their periods.

    A real-time thread makes the notes, while the test does other things.
    """

    def __init__(self, *servers: host.Server) -> None:
        self._watched = [_Watched(server) for server in servers]
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._note, args=(each,))
                         for each in self._watched]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _note(self, watched: '_Watched') -> None:
        with measure.watching([watched.server]) as usage:
            while not self._ended.wait(watched.period_ns / 10e9):
                watched.notes.append((time.monotonic_ns(), usage()[0]))

    def least(self, periods: int) -> list[float]:
        """Returns the CPU time in the worst *periods*, in runtimes."""
        return [each.least(periods) for each in self._watched]


class _Watched:
    """The notes on one server: (time, CPU time until then), in ns."""

    def __init__(self, server: host.Server) -> None:
        wanted = server.claim.reservation
        self.server = server
        self.period_ns = wanted.period_us * 1000
        self.runtime_ns = wanted.runtime_us * 1000
        self.notes: list[tuple[int, int]] = []

    def least(self, periods: int) -> float:
        found, last = [], 0
        for begin, before in self.notes:
            while last < len(self.notes) and (
                    self.notes[last][0] < begin + periods * self.period_ns):
                last += 1
            if last < len(self.notes):
                found.append(self.notes[last][1] - before)
        return min(found) / self.runtime_ns
