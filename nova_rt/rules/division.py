# SPDX-License-Identifier: Apache-2.0

"""Divides reservations for kernels that run servers by fixed priorities.

A server that gets Q/k microseconds in every P/k gets Q in every P.  The
shorter period has a higher priority, and the shorter runtime delays the other
servers less when the server uses its runtime late in one period and again
early in the next.  So more servers fit on a pCPU, above all servers with equal
periods, which otherwise delay each other.  Sha and Goodman call this period
transformation ("Real-Time Scheduling Theory and Ada", IEEE Computer 23(4),
1990).

The divisor k belongs to the claim.  The tenant, the API and Placement have the
reservation itself, and only the kernel has the divided reservation.
"""

from collections.abc import Iterable, Sequence
import functools

from nova_rt.rules import reservation
from nova_rt.rules import schedulability

#: The bandwidth in ppm that a division may add, because the kernel takes whole
#: microseconds.
_MOST_ADDED_PPM = 100
#: The shortest period that a division makes, in us.
_SHORTEST_US = 1_024


def divided(wanted: reservation.Reservation, divisor: int
            ) -> reservation.Reservation:
    """Returns the reservation that a kernel gets instead of *wanted*.

    The shorter period, *divisor* times in a row, lasts no longer than the
    period of *wanted*.  In this time, the server gets at least the runtime of
    *wanted*.
    """
    if divisor == 1:
        return wanted
    return reservation.Reservation(-(-wanted.runtime_us // divisor),
                                   wanted.period_us // divisor)


@functools.lru_cache(maxsize=4096)
def divisors(rule: schedulability.FixedPriorities | None,
             wanted: reservation.Reservation, least_us: int
             ) -> tuple[int, ...]:
    """Returns the divisors that may be chosen, ascending; 1 is the first.

    For each priority of the rule, the divisor that adds the least bandwidth is
    a candidate.

    :param rule: None under EDF, which needs no division
    :param least_us: the shortest runtime after a division; 0 for no division
    """
    if rule is None or not least_us:
        return (1,)
    shortest_us = max(rule.min_period_us, _SHORTEST_US)
    best: dict[int, tuple[int, int]] = {}
    for divisor in range(2, min(wanted.period_us // shortest_us,
                                wanted.runtime_us // least_us) + 1):
        part = divided(wanted, divisor)
        added = part.bandwidth - wanted.bandwidth
        level = rule.level(part.period_us)
        if added <= _MOST_ADDED_PPM:
            best[level] = min(best.get(level, (added, divisor)),
                              (added, divisor))
    return (1, *sorted(divisor for _, divisor in best.values()))


def best(rule: schedulability.FixedPriorities,
         wanted: reservation.Reservation, candidates: Iterable[int],
         beside: Sequence[Sequence[reservation.Reservation]]) -> int:
    """Returns the divisor that leaves most room for more servers.

    For each divisor, the server that comes closest to the end of its period
    decides.  The divisor that leaves this server the largest part of its
    period is chosen.  Among equal divisors, the first one is chosen.

    :param candidates: divisors; 1 is chosen if none of them fits
    :param beside: the servers on each pCPU that the new server gets
    """
    chosen, most = 1, -1
    for divisor in candidates:
        part = divided(wanted, divisor)
        slacks = [rule.slack_ppm((*servers, part)) for servers in beside]
        slack = min((-1 if one is None else one for one in slacks),
                    default=-1)
        if slack > most:
            chosen, most = divisor, slack
    return chosen
