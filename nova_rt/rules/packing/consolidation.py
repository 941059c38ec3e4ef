# SPDX-License-Identifier: Apache-2.0

"""Plans moves of vCPUs that gather the free bandwidth of a host.

A pCPU with much free bandwidth takes servers that no pCPU takes when all have
a little.  So each move raises the sum of the squares of what the pCPUs have
free, and the plan takes the move that raises the sum most.  No move lowers the
sum, so a host comes to a state in which no move is left.

As in a plan of ``planner``, each move has room on its target while the vCPU
still counts on its source.
"""

import collections
from collections.abc import Iterator, Mapping

from nova_rt.rules import cpus as rt_cpus
from nova_rt.rules.packing import arrangement
from nova_rt.rules.packing import planner
from nova_rt.rules import reservation


def plan(state: rt_cpus.CpuBandwidth,
         claims: Mapping[str, arrangement.Placed], max_moves: int
         ) -> tuple[arrangement.Move, ...]:
    """Returns the moves to make one after another; () if none is useful.

    :param state: the host with *claims* and all other claims
    :param claims: the claims that may move, by a name of the caller's choice
    """
    moves: list[arrangement.Move] = []
    while len(moves) < max_moves and not state.replicated:
        best = max(_useful(state, claims), default=None,
                   key=lambda candidate: candidate[:2])
        if best is None:
            break
        moves.append(best[2])
        state, claims = planner.place(state, claims, moves[-1:])
    return tuple(moves)


def _useful(state: rt_cpus.CpuBandwidth,
            claims: Mapping[str, arrangement.Placed]
            ) -> Iterator[tuple[int, int, arrangement.Move]]:
    """Yields the best move of each vCPU, after two numbers to compare.

    The first number is what the move adds to the sum.  Among equal moves, the
    smallest bandwidth comes first, which disturbs least.
    """
    pools = dict(zip(state.cpus, state.cores if state.counts_cores
                     else state.cpus, strict=True))
    used = collections.Counter[int]()
    for cpu, ppm in zip(state.cpus, state.used, strict=True):
        used[pools[cpu]] += ppm
    rooms: dict[reservation.Reservation, list[int]] = {}
    for name, placed in claims.items():
        if placed.wanted not in rooms:
            rooms[placed.wanted] = sorted(
                (cpu for cpu, _ in rt_cpus.room(state, placed.wanted)),
                key=lambda cpu: -used[pools[cpu]])
        ppm = placed.wanted.bandwidth
        for number, source in enumerate(placed.cpus):
            target = next((
                cpu for cpu in rooms[placed.wanted]
                if cpu not in placed.cpus and source in pools
                and pools[cpu] != pools[source]
                and (not placed.within or cpu in placed.within[number])),
                None)
            if target is None:
                continue
            more = used[pools[target]] + ppm - used[pools[source]]
            if more > 0:
                yield ppm * more, -ppm, arrangement.Move(name, source, target)
