# SPDX-License-Identifier: Apache-2.0

"""Compares on-line packing, with and without moves, with an optimal packer.

usage: .venv/bin/python -m benchmarks.packing [SEEDS] [MIX...]

Random servers arrive one after another at one host until the first one that
does not fit.  The policy places each server; with moves, the planner may make
room for a server that does not fit.  Where free bandwidth is gathered, up to
two vCPUs of earlier servers move with each server that is accepted.  The
optimal packer knows all servers in advance, and may place all servers again
for each arrival.  The benchmark computes an upper bound of the bandwidth that
the optimal packer accepts.  The
optimal packer cannot accept a server if the bound L2 of Martello and Toth
(1990) says that the servers need more pCPUs than the host has, or if a
complete search finds no place for all of them.  If a search takes too long,
the benchmark assumes that a place exists, so the ratios are too small rather
than too large.  Exits with 1 if best_fit with both kinds of moves accepts less
than 0.98 of the bound in a mix, or needs more than 2 moves per accepted
server.
"""

import collections
from collections.abc import Callable, Iterator
import dataclasses
import random
import statistics
import sys
import time

from nova_rt.rules import cpus
from nova_rt.rules.packing import arrangement
from nova_rt.rules.packing import consolidation
from nova_rt.rules.packing import planner
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation

CAP, PERIOD_US = 950_000, 100_000
LEAST, MOST_MOVES = 0.98, 2.0
#: The largest number of moves for one server, and the steps of the proof.
MAX_MOVES, STEPS = 16, 30_000
#: The same with the largest [nova_rt] defrag_max_moves; how many of the moves
#: gather free bandwidth.
OPTION_MOVES, GATHERED = 8, 2
#: After this many steps a complete search is given up, on hosts of up to
#: _SMALL pCPUs and on larger ones.
_NODES_SMALL, _NODES, _SMALL = 1_000_000, 100_000, 16
#: The ppm of a vCPU and the number of its server; ALONE if the server has no
#: other vCPU, so that no search tells equal vCPUs apart.
Vcpu = tuple[int, int]
ALONE = -1
Draw = Callable[[random.Random], tuple[int, float]]


def _one(low: float, high: float) -> Draw:
    return lambda draw: (1, draw.uniform(low, high))


def _several(draw: random.Random) -> tuple[int, float]:
    return draw.randint(1, 4), draw.uniform(.1, .6)


def _two_sizes(draw: random.Random) -> tuple[int, float]:
    return 1, .7 if draw.random() < .3 else .1


MIXES: dict[str, tuple[int, Draw]] = {
    f'{count}: {name}': (count, draw) for count in (4, 16, 64)
    for name, draw in (('1 vCPU, U(.05,.4)', _one(.05, .4)),
                       ('1 vCPU, U(.1,.8)', _one(.1, .8)),
                       ('1-4 vCPUs, U(.1,.6)', _several),
                       ('30 % of .7, rest .1', _two_sizes))}


@dataclasses.dataclass(frozen=True)
class Run:
    """The result of a run until the first rejection: ppm and moves."""

    accepted: int
    servers: int
    moves: int
    largest: int
    slowest_s: float


def requests(draw: Draw, seed: int
             ) -> Iterator[tuple[int, reservation.Reservation]]:
    """Yields random servers without end."""
    chance = random.Random(seed)  # noqa: S311
    while True:
        vcpus, share = draw(chance)
        yield vcpus, reservation.Reservation(
            round(share * PERIOD_US), PERIOD_US)


def online(count: int, draw: Draw, seed: int, policy: cpus.Policy,
           max_moves: int, gathered: int = 0) -> Run:
    """Places servers until the first one that does not fit.

    :param gathered: how many moves gather free bandwidth for each server
    """
    state = cpus.CpuBandwidth.empty(range(count), CAP)
    claims: dict[str, arrangement.Placed] = {}
    moves = largest = 0
    slowest = 0.0
    for number, (vcpus, wanted) in enumerate(requests(draw, seed)):
        made: tuple[arrangement.Move, ...] = ()
        if max_moves and not cpus.fits(state, vcpus, wanted):
            began = time.process_time()
            plan = planner.plan(state, claims, vcpus, wanted, max_moves,
                                STEPS)
            slowest = max(slowest, time.process_time() - began)
            if plan.moves:
                made = plan.moves
                state, claims = planner.place(state, claims, made)
        places = cpus.fit(state, vcpus, wanted, policy)
        if places is None:
            return Run(state.total_used, number, moves, largest, slowest)
        state = state.claim(places, wanted)
        more = consolidation.plan(state, claims, min(
            gathered, max_moves - len(made)))
        state, claims = planner.place(state, claims, more)
        moves += len(made) + len(more)
        largest = max(largest, len(made) + len(more))
        claims[str(number)] = arrangement.Placed(places, wanted)
    raise AssertionError('requests end nowhere')


def optimal(count: int, draw: Draw, seed: int) -> int:
    """Returns an upper bound for what any packer accepts, in ppm."""
    accepted: list[tuple[int, int]] = []
    for vcpus, wanted in requests(draw, seed):
        more = [*accepted, (wanted.bandwidth, vcpus)]
        if not _Packer(count, [
                (ppm, number if own > 1 else ALONE)
                for number, (ppm, own) in enumerate(more)
                for _ in range(own)]).may_pack():
            return sum(ppm * own for ppm, own in accepted)
        accepted = more
    raise AssertionError('requests end nowhere')


class _OutOfSteps(Exception):
    """The search has taken as many steps as it may."""


class _Packer:
    """A complete search by bin completion (Korf, 2002; Martello and Toth).

    The largest vCPU that is left goes to the next pCPU, with each maximal set
    of smaller ones of other servers that fits beside it.  The search leaves a
    branch in which L2, the waste, or the vCPUs of one server need more pCPUs
    than are left.
    """

    def __init__(self, count: int, vcpus: list[Vcpu]) -> None:
        self._count = count
        self._steps = _NODES_SMALL if count <= _SMALL else _NODES
        self._all = tuple(sorted(vcpus, reverse=True))
        self._refuted: set[tuple[Vcpu, ...]] = set()

    def may_pack(self) -> bool:
        """Returns False if there is no place for all vCPUs."""
        if _fits_decreasing(self._all, self._count):
            return True
        waste = self._count * CAP - sum(ppm for ppm, _ in self._all)
        try:
            return self._pack(self._all, self._count, waste)
        except _OutOfSteps:
            return True

    def _pack(self, rest: tuple[Vcpu, ...], count: int, waste: int) -> bool:
        if not rest:
            return True
        if rest in self._refuted:
            return False
        if not _exceeds(rest, count):
            for left, chosen in sorted(self._completions(rest, waste)):
                then = tuple(vcpu for number, vcpu in enumerate(rest)
                             if number not in chosen)
                if self._pack(then, count - 1, waste - left):
                    return True
        self._refuted.add(rest)
        return False

    def _completions(self, rest: tuple[Vcpu, ...], waste: int
                     ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yields the ppm that a pCPU has left, and the vCPUs on the pCPU."""
        stack: list[tuple[int, int, tuple[int, ...]]] = [
            (1, CAP - rest[0][0], (0,))]
        while stack:
            begin, left, chosen = stack.pop()
            self._steps -= 1
            if self._steps < 0:
                raise _OutOfSteps
            servers = {rest[number][1] for number in chosen} - {ALONE}
            fitting = [number for number, (ppm, server) in enumerate(rest)
                       if ppm <= left and server not in servers]
            if not fitting and left <= waste:
                yield left, chosen
            first = {rest[number]: number for number in reversed(fitting)
                     if number >= begin}
            stack += [(number + 1, left - ppm, (*chosen, number))
                      for (ppm, _), number in first.items()]


def _fits_decreasing(vcpus: tuple[Vcpu, ...], count: int) -> bool:
    """Checks whether best fit decreasing packs vCPUs, the largest first."""
    pcpus: list[tuple[int, frozenset[int]]] = [(CAP, frozenset())] * count
    for ppm, server in vcpus:
        room = [pcpu for pcpu in pcpus
                if pcpu[0] >= ppm and server not in pcpu[1]]
        if not room:
            return False
        left, servers = min(room, key=lambda pcpu: pcpu[0])
        pcpus.remove((left, servers))
        pcpus.append((left - ppm, servers | ({server} - {ALONE})))
    return True


def _exceeds(rest: tuple[Vcpu, ...], count: int) -> bool:
    """Checks whether vCPUs need more than *count* pCPUs, by two bounds."""
    servers = collections.Counter(server for _, server in rest
                                  if server != ALONE)
    return (max(servers.values(), default=0) > count
            or bins([ppm for ppm, _ in rest]) > count)


def bins(sizes: list[int]) -> int:
    """Returns the bound L2: how many pCPUs some vCPUs need at least."""
    return max((_bins_with(sizes, small) for small in {
        0, *(size for size in sizes if 2 * size <= CAP)}), default=0)


def _bins_with(sizes: list[int], small: int) -> int:
    """Returns the bound in which vCPUs below *small* are left out."""
    alone = [size for size in sizes if size > CAP - small]
    large = [size for size in sizes if CAP - small >= size > CAP / 2]
    rest = sum(size for size in sizes if CAP / 2 >= size >= small)
    free = len(large) * CAP - sum(large)
    return len(alone) + len(large) + max(0, -(-(rest - free) // CAP))


def compare(name: str, seeds: int) -> bool:
    """Prints the line of a mix; returns whether it meets the bars."""
    count, draw = MIXES[name]
    best = [optimal(count, draw, seed) for seed in range(seeds)]
    parts = []
    for policy, moves, gathered in (
            (policies.worst_fit, 0, 0), (policies.best_fit, 0, 0),
            (policies.worst_fit, MAX_MOVES, 0), (policies.best_fit, 2, 0),
            (policies.best_fit, MAX_MOVES, 0),
            (policies.best_fit, 2, GATHERED),
            (policies.best_fit, OPTION_MOVES, GATHERED)):
        runs = [online(count, draw, seed, policy, moves, gathered)
                for seed in range(seeds)]
        ratio = sum(run.accepted for run in runs) / sum(best)
        each = statistics.mean(run.moves / max(1, run.servers)
                               for run in runs)
        kind = f'{moves} moves{", gathered" * (gathered > 0)}'
        parts.append(f'{policy.__name__} {ratio:.3f}' + (
            f' ({kind}: {each:.2f} a server, at most '
            f'{max(run.largest for run in runs)} for one, plan '
            f'{max(run.slowest_s for run in runs):.2f} s)' if moves else ''))
    print(f'{name}; {"; ".join(parts)}', flush=True)
    return ratio >= LEAST and each <= MOST_MOVES


def main(argv: list[str]) -> int:
    seeds = int(argv[0]) if argv else 20
    chosen = argv[1:] or list(MIXES)
    met = [compare(name, seeds) for name in chosen]
    return 0 if all(met) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
