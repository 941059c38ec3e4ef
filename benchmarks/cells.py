# SPDX-License-Identifier: Apache-2.0

"""Measures what RTShareFilter costs for servers with a NUMA topology.

usage: benchmarks/cells.py [n_hosts]     (default 1000)

The hosts have 64 pCPUs in two cells with huge pages.  NUMATopologyFilter runs
in the same rounds, as it does in nova-scheduler.  Each line is the median over
RUNS (default 7) of CPU time per host.  Exits with 1 if a goal is missed.

The last goal is about a server with eight cells on a host with sixteen, of
which seven have room.  Nova's fit would try 518,918,400 orders of the cells.
"""

from collections.abc import Callable
import sys
from typing import Any

from nova import objects
from nova.scheduler.filters import numa_topology_filter

import hosts
from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.scheduler import filters as rt_filters
from nova_rt.services.compute import numa as rt_numa
from nova_rt.services.scheduler import host_state as rt_host_state
import passes
import rounds

_MANY = 16
_HALF = hosts.PCPUS // hosts.NODES
#: Leaves no room for the share of hosts.request().
_FULL = reservation.Reservation(900_000, reservation.PPM)


def host_cells() -> str:
    """Returns the cells of a host with shared pCPUs and free huge pages."""
    return str(objects.NUMATopology(cells=[
        objects.NUMACell(
            id=node, cpuset=set(range(node * _HALF, (node + 1) * _HALF)),
            pcpuset=set(), socket=node, memory=131072, cpu_usage=0,
            memory_usage=0, pinned_cpus=set(), siblings=[], mempages=[
                objects.NUMAPagesTopology(size_kb=4, total=1 << 24, used=0),
                objects.NUMAPagesTopology(size_kb=2048, total=1 << 15,
                                          used=0)],
            network_metadata=objects.NetworkMetadata(
                physnets=set(), tunneled=False))
        for node in range(hosts.NODES)])._to_json())


def stats(full_cells: int) -> dict[str, str]:
    """Returns a map in which *full* cells have no room."""
    state = cpus.CpuBandwidth.empty(range(hosts.PCPUS), 950_000).fold([
        (range(full_cells * _HALF), _FULL)])
    return hostmap.to_stats(hostmap.HostMap(
        state, 'worst_fit', takes=frozenset((hostmap.NUMA,))))


def request(cells: int) -> Any:
    """Returns a request for a server with this many cells; 0: none."""
    spec = hosts.request(reserved=True)
    if cells:
        spec.numa_topology = objects.InstanceNUMATopology(cells=[
            objects.InstanceNUMACell(
                id=number, cpuset={number * 2, number * 2 + 1},
                pcpuset=set(), memory=1024, pagesize=-2)
            for number in range(cells)])
    return spec


def job(chain: list[Any], nodes: list[Any], full_cells: int, cells: int
        ) -> rounds.Job:
    """Returns the filters of *chain*, on hosts of a real request."""
    spec = request(cells)
    published = stats(full_cells)

    def prepare() -> list[Any]:
        for node in nodes:
            node.stats = published
        return [hosts.host_state(rt_host_state.RTHostState, node)
                for node in nodes]

    def run(states: list[Any]) -> int:
        for filter_ in chain:
            states = list(filter_.filter_all(states, spec))
        if len(states) != len(nodes):
            raise RuntimeError(f'{len(states)} hosts passed')
        return len(states)

    return rounds.Job(prepare, run)


def many_cells(room: int) -> tuple[rt_numa.Question, rt_numa.Wish]:
    """Returns a server with eight cells, and a host with room in *room*."""
    host = objects.NUMATopology(cells=[
        objects.NUMACell(
            id=cell, cpuset={cell}, pcpuset=set(), memory=1024, cpu_usage=0,
            memory_usage=0, pinned_cpus=set(), siblings=[], mempages=[
                objects.NUMAPagesTopology(size_kb=4, total=1 << 18, used=0)])
        for cell in range(_MANY)])
    server = objects.InstanceNUMATopology(cells=[
        objects.InstanceNUMACell(id=vcpu, cpuset={vcpu}, pcpuset=set(),
                                 memory=64) for vcpu in range(_MANY // 2)])
    state = cpus.CpuBandwidth.empty(range(_MANY), 950_000).fold([
        (range(room, _MANY), _FULL)])
    return (rt_numa.Question(host, server),
            rt_numa.Wish(state, reservation.Reservation(500_000,
                                                        reservation.PPM)))


def searches(count: int) -> dict[str, rounds.Job]:
    """Returns the searches on a host with many cells, each *count* times."""
    fits, refused = many_cells(_MANY // 2), many_cells(_MANY // 2 - 1)

    def repeated(search: Callable[[], Any], finds: bool) -> rounds.Job:
        def run(number: int) -> int:
            for _ in range(number):
                if bool(search()) != finds:
                    raise RuntimeError('a wrong answer')
            return number

        return rounds.Job(lambda: count, run)

    question = fits[0]
    return {
        "many cells, Nova's fit alone": repeated(
            lambda: question.ids(question.host.cells), True),
        'many cells, room in eight': repeated(
            lambda: rt_numa.choose(*fits), True),
        'many cells, room in seven': repeated(
            lambda: rt_numa.choose(*refused), False)}


def main() -> int:
    """Runs all rounds and returns the exit status."""
    passes.set_up()
    count = int(sys.argv[1]) if sys.argv[1:] else 1000
    numa = numa_topology_filter.NUMATopologyFilter()
    ours = rt_filters.RTShareFilter()
    topology = host_cells()
    nodes = [hosts.compute_node(number, topology) for number in range(count)]
    jobs = {'RTShareFilter, no topology': job([ours], nodes, 0, 0)}
    for cells in (1, 2):
        jobs[f'NUMATopologyFilter, {cells} cells'] = job(
            [numa], nodes, 0, cells)
        jobs[f'both, {cells} cells'] = job([numa, ours], nodes, 0, cells)
    jobs['both, 1 cell, and one that is full'] = job(
        [numa, ours], nodes, 1, 1)
    jobs |= searches(count)
    timed, report = rounds.Rounds(jobs), rounds.Report()
    print(f'{count} hosts, {hosts.PCPUS} pCPUs each, {rounds.RUNS} rounds:')
    report.lines(timed, jobs, count)
    for cells in (1, 2):
        report.goal(
            f'{cells} cells, room everywhere: both / NUMATopologyFilter',
            timed.ratio(f'both, {cells} cells',
                        f'NUMATopologyFilter, {cells} cells'), 1.2)
    report.goal('many cells, no room: RTShareFilter / Nova',
                timed.ratio('many cells, room in seven',
                            "many cells, Nova's fit alone"), 1.0)
    return 1 if report.missed else 0


if __name__ == '__main__':
    sys.exit(main())
