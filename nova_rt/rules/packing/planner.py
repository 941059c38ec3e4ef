# SPDX-License-Identifier: Apache-2.0

"""Plans moves of bandwidth between pCPUs that make room for a request.

This module moves nothing.  The paper (section 5.2, Figure 5) leaves
"defragmentation" as future work.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import itertools

from nova_rt.rules import cpus as rt_cpus
from nova_rt.rules import reservation


@dataclasses.dataclass(frozen=True, slots=True)
class Placed:
    """A claim, as the planner needs it: *wanted* on each of *cpus*."""

    cpus: tuple[int, ...]
    wanted: reservation.Reservation


@dataclasses.dataclass(frozen=True, slots=True)
class Move:
    """A move of the bandwidth of one vCPU from a pCPU to another one."""

    claim: str
    source: int
    target: int


def plan(state: rt_cpus.CpuBandwidth, claims: Mapping[str, Placed],
         vcpus: int, wanted: reservation.Reservation, max_moves: int = 2
         ) -> tuple[Move, ...] | None:
    """Returns the fewest moves after which the request fits.

    The search deepens iteratively over single moves, the smallest bandwidth
    first, so that the first plan has the fewest moves and disturbs least.  The
    search costs O((claims * pCPUs) ** max_moves): keep *max_moves* small.

    :param state: the fold of *claims*
    :param claims: by a name of the caller's choice
    :returns: the moves in the order to make them; () if the request fits
        already; None if there is no plan of at most *max_moves*
    """
    for depth in range(max_moves + 1):
        moves = _search(state, dict(claims), vcpus, wanted, depth)
        if moves is not None:
            return moves
    return None


def _search(state: rt_cpus.CpuBandwidth, claims: dict[str, Placed],
            vcpus: int, wanted: reservation.Reservation, depth: int
            ) -> tuple[Move, ...] | None:
    if rt_cpus.fits(state, vcpus, wanted):
        return ()
    if depth == 0:
        return None
    for move, after, moved in _moves(state, claims):
        rest = _search(after, claims | {move.claim: moved}, vcpus, wanted,
                       depth - 1)
        if rest is not None:
            return (move, *rest)
    return None


def _moves(state: rt_cpus.CpuBandwidth, claims: Mapping[str, Placed]
           ) -> Iterator[tuple[Move, rt_cpus.CpuBandwidth, Placed]]:
    for name, placed in sorted(claims.items(),
                               key=lambda item: item[1].wanted.bandwidth):
        rest = state.release(placed.cpus, placed.wanted)
        free = [cpu for cpu, _ in rt_cpus.room(rest, placed.wanted)
                if cpu not in placed.cpus]
        for source, target in itertools.product(placed.cpus, free):
            moved = dataclasses.replace(placed, cpus=tuple(
                target if cpu == source else cpu for cpu in placed.cpus))
            yield (Move(name, source, target),
                   rest.claim(moved.cpus, moved.wanted), moved)
