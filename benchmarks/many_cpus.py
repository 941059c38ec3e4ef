# SPDX-License-Identifier: Apache-2.0

"""Measures what a host of 128 pCPUs costs, beside one of 64.

usage: benchmarks/many_cpus.py

The host has 64 cores of two threads.  Each line is the median over RUNS
(default 7) of CPU time for one host.  Exits with 1 if a goal is missed.
"""

import dataclasses
import random
import sys

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
import rounds

HOSTS = 200
WANTED = reservation.Reservation(30_000, 100_000)
VCPUS = 8
#: The column of all stats of a host holds this much.
COLUMN = 65_535


def state(pcpus: int, smt: cpus.Smt = cpus.Smt.IGNORE) -> cpus.CpuBandwidth:
    """Returns a host whose pCPUs are used at random levels."""
    empty = dataclasses.replace(
        cpus.CpuBandwidth.empty(range(pcpus), 950_000), smt=smt,
        cores=tuple(cpu % (pcpus // 2) for cpu in range(pcpus)))
    return empty.fold(((cpu,), reservation.Reservation(
        random.randrange(1, 450_000), reservation.PPM))  # noqa: S311
        for cpu in range(pcpus))


def text(of: cpus.CpuBandwidth) -> str:
    """Returns the map that a host publishes."""
    return hostmap.to_stats(hostmap.HostMap(of, 'worst_fit'))[hostmap.MAP]


def jobs(pcpus: int, smt: cpus.Smt) -> dict[str, rounds.Job]:
    """Returns the jobs of the filter and of the claim."""
    def states() -> list[cpus.CpuBandwidth]:
        return [state(pcpus, smt) for _ in range(HOSTS)]

    def read(maps: list[str]) -> int:
        return len([hostmap.from_stats({hostmap.MAP: each}) for each in maps])

    name = f'{pcpus} pCPUs, {smt}'
    return {
        f'{name}: map read': rounds.Job(
            prepare=lambda: list(map(text, states())), run=read),
        f'{name}: filter': rounds.Job(
            prepare=states, run=lambda found: len([
                cpus.fits(each, VCPUS, WANTED) for each in found])),
        f'{name}: claim': rounds.Job(
            prepare=states, run=lambda found: len([
                cpus.fit(each, VCPUS, WANTED, policies.worst_fit)
                for each in found]))}


def main() -> int:
    """Runs all rounds and returns the exit status."""
    report = rounds.Report()
    few, plain, core = (
        jobs(64, cpus.Smt.IGNORE), jobs(128, cpus.Smt.IGNORE),
        jobs(128, cpus.Smt.CORE))
    timed = rounds.Rounds(few | plain | core)
    report.lines(timed, few | plain | core, HOSTS)
    for step in ('map read', 'filter', 'claim'):
        one, two, three = (next(name for name in each if name.endswith(step))
                           for each in (few, plain, core))
        report.goal(f'{step}: 128 pCPUs / 64', timed.ratio(two, one), 2.5)
        report.goal(f'{step}: 128 pCPUs, threads of a core as one / 64',
                    timed.ratio(three, one), 15)
    for smt in cpus.Smt:
        report.goal(f'map of 128 pCPUs, {smt}: bytes / column',
                    len(text(state(128, smt))) / COLUMN, 0.05)
    return 1 if report.missed else 0


if __name__ == '__main__':
    sys.exit(main())
