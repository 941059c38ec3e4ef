# SPDX-License-Identifier: Apache-2.0

"""Random sets of servers that the product admits on one pCPU."""

from collections.abc import Sequence
import random

from nova_rt import cpus
from nova_rt import reservation

#: us, and of a pCPU
_PERIODS = (10_000, 1_000_000)
_TOTAL = (0.5, 0.95)
_ALIKE = 0.3

Servers = list[reservation.Reservation]


def draw(seed: str, state: cpus.CpuBandwidth, most: int = 5,
         least_share: float = 0.02) -> Servers:
    """2 to *most* reservations that fit *state* together.

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
    """Uniform on all that have their sum (UUniFast, Bini and Buttazzo).

    Real-Time Systems 30(1-2), 2005.
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
    """By the product's own fit function, one after the other."""
    for wanted in servers:
        if wanted.runtime_us < reservation.MIN_RUNTIME_US or (
                not cpus.fits(state, 1, wanted)):
            return False
        state = state.claim(state.cpus[:1], wanted)
    return True
