# SPDX-License-Identifier: Apache-2.0

"""Measures what RTShareFilter costs, beside Nova's filters in the same run.

usage: benchmarks/filter.py [n_hosts ...]     (default 1000 10000)

Each line is the median over RUNS (default 7) of CPU time per host.  Exits with
1 if a goal is missed.
"""

import sys
from typing import Any

from nova.scheduler.filters import all_hosts_filter
from nova.scheduler.filters import compute_filter
from nova.scheduler.filters import image_props_filter

import hosts
from nova_rt.scheduler import filters as rt_filters
from nova_rt.scheduler import weights as rt_weights
from nova_rt.services.scheduler import host_state as rt_host_state
import passes
import rounds


def changed(nodes: list[Any], fixed: bool = False) -> list[Any]:
    """Returns the hosts with maps that no scheduler has seen yet."""
    for node in nodes:
        node.stats = hosts.stats(fixed)
    return nodes


def filter_job(filter_: Any, nodes: list[Any], reserved: bool,
               new_maps: bool = True, fixed: bool = False) -> rounds.Job:
    """Returns a job: one filter passes over hosts that it has not seen."""
    spec = hosts.request(reserved)
    return rounds.Job(
        prepare=lambda: [
            hosts.host_state(rt_host_state.RTHostState, node)
            for node in (changed(nodes, fixed) if new_maps else nodes)],
        run=lambda states: len(list(filter_.filter_all(states, spec))))


def pass_job(nodes: list[Any], ours: bool, reserved: bool) -> rounds.Job:
    """Returns a whole pass over maps that no scheduler has seen yet."""
    return passes.job(
        lambda: changed(nodes), lambda: hosts.request(reserved), ours,
        [rt_filters.RTShareFilter()], [rt_weights.RTShareWeigher()])


def bench_filters(report: rounds.Report, nodes: list[Any]) -> None:
    """Times the filters."""
    ours = rt_filters.RTShareFilter()
    count = len(nodes)
    jobs = {
        'AllHostsFilter': filter_job(
            all_hosts_filter.AllHostsFilter(), nodes, True),
        'ComputeFilter': filter_job(
            compute_filter.ComputeFilter(), nodes, True),
        'ImagePropertiesFilter': filter_job(
            image_props_filter.ImagePropertiesFilter(), nodes, True),
        'RTShareFilter': filter_job(ours, nodes, True),
        'RTShareFilter, hosts without EDF': filter_job(
            ours, nodes, True, fixed=True),
        'RTShareFilter, maps seen before': filter_job(
            ours, nodes, True, new_maps=False),
        'RTShareFilter, no reservation': filter_job(ours, nodes, False),
    }
    timed = rounds.Rounds(jobs)
    report.lines(timed, jobs, count)
    report.goal('RTShareFilter, new maps / ImagePropertiesFilter',
                timed.ratio('RTShareFilter', 'ImagePropertiesFilter'), 1.0)
    report.goal('RTShareFilter, hosts without EDF / with it',
                timed.ratio('RTShareFilter, hosts without EDF',
                            'RTShareFilter'), 1.2)
    report.goal('us/host over AllHostsFilter, no reservation',
                (timed.median('RTShareFilter, no reservation')
                 - timed.median('AllHostsFilter')) / count * 1e6, 1.0)


def bench_pass(report: rounds.Report, nodes: list[Any], reserved: bool
               ) -> None:
    """Times whole passes."""
    title = 'with' if reserved else 'no'
    without, ours = (f'pass, {title} reservation, {which} nova_rt'
                     for which in ('without', 'with'))
    jobs = {without: pass_job(nodes, False, reserved),
            ours: pass_job(nodes, True, reserved)}
    timed = rounds.Rounds(jobs)
    report.lines(timed, jobs, len(nodes))
    report.goal(f'pass, {title} reservation: with / without',
                timed.ratio(ours, without), 1.05)


def main() -> int:
    """Runs all rounds and returns the exit status."""
    passes.set_up()
    report = rounds.Report()
    for count in [int(text) for text in sys.argv[1:]] or [1000, 10000]:
        print(f'{count} hosts, {hosts.PCPUS} pCPUs each, {rounds.RUNS} '
              f'rounds:')
        plain = [hosts.compute_node(number, None) for number in range(count)]
        bench_filters(report, plain)
        # Nova parses a NUMA topology for each libvirt host.
        topologies = [hosts.numa_json(number) for number in range(30)]
        numa = [hosts.compute_node(number, topologies[number % 30])
                for number in range(count)]
        for reserved in (True, False):
            bench_pass(report, numa, reserved)
    return 1 if report.missed else 0


if __name__ == '__main__':
    sys.exit(main())
