# SPDX-License-Identifier: Apache-2.0

"""Compares on-line packing, with and without moves, with an optimal packer.

usage: .venv/bin/python -m benchmarks.packing [SEEDS] [MIX...]

Random servers arrive one after another at one host until the first one that
does not fit.  The policy places each server; with moves, the planner may make
room for a server that does not fit.  The optimal packer knows all servers in
advance, and may place them anew for each arrival.  The benchmark computes an
upper bound of the bandwidth that the optimal packer accepts.  The optimal
packer cannot accept a server if the bound L2 of Martello and Toth (1990) says
that the servers need more pCPUs than the host has, or if a complete search
finds no place for all of them.  If a search takes too long, the benchmark
assumes that a place exists, so the ratios are too small rather than too large.
Exits with 1 if best_fit with moves accepts less than 0.98 of the bound in a
mix, or needs more than 2 moves per accepted server.
"""

from collections.abc import Callable, Iterator
import dataclasses
import itertools
import random
import statistics
import sys
import time

from nova_rt.rules import cpus
from nova_rt.rules.packing import arrangement
from nova_rt.rules.packing import planner
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation

CAP, PERIOD_US = 950_000, 100_000
LEAST, MOST_MOVES = 0.98, 2.0
#: The largest number of moves for one server, and the steps of the proof.
MAX_MOVES, STEPS = 8, 30_000
#: After so many nodes a complete search is given up.
_NODES = 20_000
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
           max_moves: int) -> Run:
    """Places servers until the first one that does not fit."""
    state = cpus.CpuBandwidth.empty(range(count), CAP)
    claims: dict[str, arrangement.Placed] = {}
    moves = largest = 0
    slowest = 0.0
    for number, (vcpus, wanted) in enumerate(requests(draw, seed)):
        if max_moves and not cpus.fits(state, vcpus, wanted):
            began = time.process_time()
            plan = planner.plan(state, claims, vcpus, wanted, max_moves,
                                STEPS)
            slowest = max(slowest, time.process_time() - began)
            if plan.moves:
                moves += len(plan.moves)
                largest = max(largest, len(plan.moves))
                state, claims = planner.place(state, claims, plan.moves)
        places = cpus.fit(state, vcpus, wanted, policy)
        if places is None:
            return Run(state.total_used, number, moves, largest, slowest)
        state = state.claim(places, wanted)
        claims[str(number)] = arrangement.Placed(places, wanted)
    raise AssertionError('requests end nowhere')


def optimal(count: int, draw: Draw, seed: int) -> int:
    """Returns an upper bound for what any packer accepts, in ppm."""
    accepted: list[tuple[int, int]] = []
    for vcpus, wanted in requests(draw, seed):
        more = [*accepted, (wanted.bandwidth, vcpus)]
        sizes = [ppm for ppm, own in more for _ in range(own)]
        if vcpus > count or bins(sizes) > count or not _may_pack(
                count, sorted(more, reverse=True)):
            return sum(ppm * own for ppm, own in accepted)
        accepted = more
    raise AssertionError('requests end nowhere')


def _may_pack(count: int, servers: list[tuple[int, int]]) -> bool:
    """Returns False if a complete search finds no place for all servers.

    :param servers: the ppm of a vCPU and the number of vCPUs, the largest
        first
    """
    nodes = [_NODES]

    def place(number: int, free: tuple[int, ...]) -> bool:
        nodes[0] -= 1
        if number == len(servers) or nodes[0] < 0:
            return True
        ppm, own = servers[number]
        room = [cpu for cpu, left in enumerate(free) if left >= ppm]
        tried = set()
        for chosen in itertools.combinations(room, own):
            then = tuple(sorted(left - ppm * (cpu in chosen)
                                for cpu, left in enumerate(free)))
            if then not in tried:
                tried.add(then)
                if place(number + 1, then):
                    return True
        return False

    return place(0, (CAP,) * count)


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
    for policy, moves in ((policies.worst_fit, 0), (policies.best_fit, 0),
                          (policies.worst_fit, MAX_MOVES),
                          (policies.best_fit, 2),
                          (policies.best_fit, MAX_MOVES)):
        runs = [online(count, draw, seed, policy, moves)
                for seed in range(seeds)]
        ratio = sum(run.accepted for run in runs) / sum(best)
        each = statistics.mean(run.moves / max(1, run.servers)
                               for run in runs)
        parts.append(f'{policy.__name__} {ratio:.3f}' + (
            f' ({moves} moves: {each:.2f} a server, at most '
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
