# SPDX-License-Identifier: Apache-2.0

"""Measures what RTInterferenceWeigher and RTCHRWeigher cost nova-scheduler.

usage: benchmarks/weigher.py [n_hosts ...]     (default 1000)

Each line is the median over RUNS (default 7) of CPU time per host.  A typed
host is a host in a request for a server with a type.  In one case the
scheduler has seen the neighbours of the host before.  In the other case, which
is worse than in any cloud, each host has new neighbours that differ from those
of all other hosts.  Exits with 1 if a goal is missed.
"""

import random
import sys
from typing import Any

from nova.scheduler import weights

import hosts
from nova_rt.rules import neighbours
from nova_rt.scheduler import weights as rt_weights
from nova_rt.services.scheduler import host_state as rt_host_state
import passes
import rounds

TYPES = ('I', 'II', 'III', 'IV', 'V')


def beside(states: int) -> str:
    """Returns up to eight servers, in the combination of this number."""
    rng = random.Random(random.randrange(states))  # noqa: S311
    return neighbours.to_text(neighbours.Neighbours.count(
        neighbours.Typed(neighbours.Kind.SHARED, name) for name
        in rng.choices(TYPES, k=rng.randrange(9))))


def published(nodes: list[Any], states: int) -> list[Any]:
    """Returns hosts with neighbours, drawn from a number of sets."""
    for node in nodes:
        node.stats = dict(node.stats) | {neighbours.KEY: beside(states)}
    return nodes


def request(typed: bool) -> Any:
    """Returns a request for a server with or without a type."""
    spec = hosts.request(False)
    if typed:
        spec.flavor.extra_specs = {'hw:cpu.vnf_type': 'II',
                                   'hw:cpu.app_class': 'io'}
    return spec


def weigher_job(weigher: type, nodes: list[Any], typed: bool,
                fresh: bool = False) -> rounds.Job:
    """Returns a job: one weigher weighs hosts with new HostStates.

    :param fresh: the weigher has seen none of the neighbours before
    """
    spec, kept = request(typed), weigher()

    def prepare() -> tuple[Any, list[Any]]:
        # All states are different.
        chosen = published(nodes, 1 << 40) if fresh else nodes
        return (weigher() if fresh else kept), [
            weights.WeighedHost(hosts.host_state(
                rt_host_state.RTHostState, node), 0.0) for node in chosen]
    return rounds.Job(prepare, lambda given: given[0].weigh_objects(
        given[1], spec))


def pass_job(nodes: list[Any], ours: bool, typed: bool) -> rounds.Job:
    """Returns a whole pass over neighbours that were seen before."""
    return passes.job(
        lambda: nodes, lambda: request(typed), ours,
        weighers=[rt_weights.RTInterferenceWeigher(),
                  rt_weights.RTCHRWeigher()])


def bench(report: rounds.Report, count: int) -> None:
    """Times the weighers for a number of hosts."""
    topologies = [hosts.numa_json(number) for number in range(30)]
    nodes = published([hosts.compute_node(number, topologies[number % 30])
                       for number in range(count)], 300)
    interference = rt_weights.RTInterferenceWeigher
    jobs = {
        'RTInterferenceWeigher, no type': weigher_job(
            interference, nodes, False),
        'RTInterferenceWeigher, seen before': weigher_job(
            interference, nodes, True),
        'RTCHRWeigher, no class': weigher_job(
            rt_weights.RTCHRWeigher, nodes, False),
        'RTCHRWeigher': weigher_job(rt_weights.RTCHRWeigher, nodes, True)}
    timed = rounds.Rounds(jobs)
    report.lines(timed, jobs, count)
    per_host = 1e6 / count
    report.goal('us a typed host, seen before', timed.median(
        'RTInterferenceWeigher, seen before') * per_host, 5.0)
    for name in ('RTInterferenceWeigher, no type', 'RTCHRWeigher, no class'):
        report.goal(f'us an untyped host, {name.partition(",")[0]}',
                    timed.median(name) * per_host, 0.1)
    for typed in (False, True):
        title = 'typed' if typed else 'untyped'
        without, ours = (f'pass, {title}, {which} our weighers'
                         for which in ('without', 'with'))
        jobs = {without: pass_job(nodes, False, typed),
                ours: pass_job(nodes, True, typed)}
        timed = rounds.Rounds(jobs)
        report.lines(timed, jobs, count)
        report.goal(f'pass, {title}: with / without',
                    timed.ratio(ours, without), 1.05)
    jobs = {'RTInterferenceWeigher, all hosts new': weigher_job(
        interference, nodes, True, fresh=True)}
    report.lines(rounds.Rounds(jobs), jobs, count)


def main() -> int:
    """Runs all rounds and returns the exit status."""
    passes.set_up()
    report = rounds.Report()
    for count in [int(text) for text in sys.argv[1:]] or [1000]:
        print(f'{count} hosts, {hosts.PCPUS} pCPUs each, {rounds.RUNS} '
              f'rounds:')
        bench(report, count)
    return 1 if report.missed else 0


if __name__ == '__main__':
    sys.exit(main())
