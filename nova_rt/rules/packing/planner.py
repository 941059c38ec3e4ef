# SPDX-License-Identifier: Apache-2.0

"""Plans moves of vCPUs between pCPUs that make room for a request.

The paper (section 5.2, Figure 5) leaves "defragmentation" as future work.
This module only plans.  Each move of a plan has room on its target while the
vCPU still counts on its source, so that a host that makes the moves one after
another never promises more than it has.

The search deepens iteratively (R. Korf, Depth-First Iterative-Deepening,
1985) and leaves a branch when a lower bound says that more moves are needed
than are left.  So the first plan has the fewest moves.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
import dataclasses
import heapq

from nova_rt.rules import cpus as rt_cpus
from nova_rt.rules.packing import arrangement
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation

#: How many moves a plan has at most, unless the caller says otherwise.
MAX_MOVES = 3
#: On hosts of up to this many pCPUs a plan is proven to have the fewest moves.
EXACT_CPUS = 16
#: How many vCPUs a search beyond EXACT_CPUS may consider for its proof.  A
#: vCPU counts each time that the search considers it.
STEPS = 300_000
#: How many arrangements a search keeps at each depth where it proves nothing.
_BEAM = 24


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """The moves that make a request fit.

    :ivar moves: in the order to make them; () if the request fits already;
        None if no plan was found
    :ivar at_least: how many moves every plan needs at least
    """

    moves: tuple[arrangement.Move, ...] | None
    at_least: int

    @property
    def is_shortest(self) -> bool:
        """True if the plan is proven to have the fewest moves."""
        return self.moves is not None and len(self.moves) == self.at_least


def sum_admits(state: rt_cpus.CpuBandwidth, vcpus: int,
               wanted: reservation.Reservation) -> bool:
    """Checks whether moves could help: the free bandwidth is enough in sum.

    No move changes the sum, and no move helps where a claim is charged on
    every pCPU.
    """
    free = sum(max(0, state.free(cpu)) for cpu in state.cpus)
    if state.counts_cores:
        free = max(0, state.total - state.total_used)
    return (not state.replicated and vcpus <= len(state.cpus)
            and wanted.runtime_us >= state.min_runtime_us
            and wanted.bandwidth <= state.cap
            and vcpus * wanted.bandwidth <= free)


def plan(state: rt_cpus.CpuBandwidth,
         claims: Mapping[str, arrangement.Placed], vcpus: int,
         wanted: reservation.Reservation,
         max_moves: int = MAX_MOVES, steps: int | None = None,
         within: Collection[int] | None = None) -> Plan:
    """Returns the fewest moves after which the request fits.

    :param state: the host with *claims* and all other claims
    :param claims: the claims that may move, by a name of the caller's choice
    :param steps: how many vCPUs the proof may consider; a vCPU counts each
        time; None for no limit on hosts of up to EXACT_CPUS pCPUs, and STEPS
        on larger hosts
    :param within: the pCPUs on which the request must fit; None for all
    """
    goal = arrangement.Goal(vcpus, wanted, frozenset(
        state.cpus if within is None else within))
    start = arrangement.Arrangement.of(state, claims, goal)
    if start.fits:
        return Plan((), 0)
    if not sum_admits(state, vcpus, wanted):
        return Plan(None, max_moves + 1)
    if steps is None and len(state.cpus) > EXACT_CPUS:
        steps = STEPS
    best = _deepen(start, max_moves, steps)
    if best.moves is None and best.at_least <= max_moves:
        return dataclasses.replace(best, moves=_beam(start, max_moves))
    return best


def _deepen(start: arrangement.Arrangement, max_moves: int,
            steps: int | None) -> Plan:
    """Returns a shortest plan, or what a search within *steps* has proven."""
    for depth in range(start.bound, max_moves + 1):
        search = _Search(steps)
        try:
            moves = search.run(start, depth)
        except _OutOfSteps:
            return Plan(None, depth)
        if moves is not None:
            return Plan(moves, depth)
        steps = None if steps is None else steps - search.steps
    return Plan(None, max_moves + 1)


class _OutOfSteps(Exception):
    """The search has considered as many vCPUs as it may."""


class _Search:
    """A depth-first search to a fixed depth."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self.steps = 0
        self._refuted: dict[arrangement.Key, int] = {}

    def run(self, at: arrangement.Arrangement, depth: int
            ) -> tuple[arrangement.Move, ...] | None:
        """Returns at most *depth* moves that make the request fit."""
        if at.fits:
            return ()
        if depth < at.bound or self._refuted.get(at.key, -1) >= depth:
            return None
        for child in self._children(at, depth - 1):
            rest = self.run(child.arrangement(), depth - 1)
            if rest is not None:
                return (child.move, *rest)
        self._refuted[at.key] = depth
        return None

    def _children(self, at: arrangement.Arrangement, left: int
                  ) -> Iterator[arrangement.Child]:
        self.steps += len(at.items)
        if self._limit is not None and self.steps > self._limit:
            raise _OutOfSteps
        # The smallest bandwidth first, which disturbs least.
        return iter(sorted(at.children(left), key=lambda child: (
            child.bound, child.bandwidth)))


def _beam(start: arrangement.Arrangement, max_moves: int
          ) -> tuple[arrangement.Move, ...] | None:
    """Returns a plan that need not be the shortest, or None.

    The search keeps only the arrangements that lack least at each depth.
    """
    front: list[tuple[tuple[arrangement.Move, ...],
                      arrangement.Arrangement]] = [((), start)]
    visited = {start.key}
    for depth in range(max_moves):
        best = heapq.nsmallest(_BEAM, (
            (child.bound, child.lack, child.bandwidth, number, index, child)
            for number, (_, at) in enumerate(front)
            for index, child in enumerate(at.children(
                max_moves - depth - 1))), key=lambda candidate: candidate[:5])
        following = []
        for *_, number, _, child in best:
            at, moves = child.arrangement(), (*front[number][0], child.move)
            if at.fits:
                return moves
            if at.key not in visited:
                visited.add(at.key)
                following.append((moves, at))
        front = following
    return None


def place(state: rt_cpus.CpuBandwidth,
          claims: Mapping[str, arrangement.Placed],
          moves: Sequence[arrangement.Move]
          ) -> tuple[rt_cpus.CpuBandwidth, dict[str, arrangement.Placed]]:
    """Returns the host and its claims after some moves.

    :raises ValueError: when a target has no room for a move while the vCPU
        still counts on its source
    """
    placed = dict(claims)
    for move in moves:
        claim = placed[move.claim]
        if rt_cpus.fit_undivided(
                state, 1, claim.wanted, policies.first_fit,
                (move.target,)) is None:
            raise ValueError(f'{move} has no room')
        placed[move.claim] = claim.after(move)
        state = state.claim((move.target,), claim.wanted).release(
            (move.source,), claim.wanted)
    return state, placed
