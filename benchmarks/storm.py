# SPDX-License-Identifier: Apache-2.0

"""Measures what reservations cost when many servers come and go.

usage: tools/cloud.sh up --full; .venv/bin/python benchmarks/storm.py
       [servers [rounds]]

Storms of servers with and without a reservation alternate on both nodes of the
full cloud with two schedulers (default 300 of each, in 2 rounds), while the
kernel's budgets are sampled.  Exits with 1 if a pCPU was ever above its node's
pool, something is left over, nova-rt-manage check finds a difference, or the
rate is more than 10 % below that of plain servers.
"""

import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).parents[1]),
                str(pathlib.Path(__file__).parents[1] / 'tools')]
from cloud import settings  # noqa: E402
from demo import host  # noqa: E402
from tests.full import base  # noqa: E402
from tests.full import sampler  # noqa: E402
from tests.full import storm  # noqa: E402

LIMIT = 0.9
PERIOD_US = 100_000
#: All servers at one time fit into the pool of their node, each together with
#: the server before, which nova-compute may not have finished.
RUNTIME_US = {'lxc': 8_000, 'qemu': 3_000}
#: Seconds for nova-compute's work after the last server is gone.
PATIENCE = 60


def specs(guest: str) -> dict[str, str]:
    """Returns the extra specs of the servers of a kind of guest."""
    return {'hw:cpu.rt_runtime_us': str(RUNTIME_US[guest]),
            'hw:cpu.rt_period_us': str(PERIOD_US)}


def storms(nova: storm.Nova, count: int, rounds: int
           ) -> dict[str, list[storm.Outcome]]:
    """Runs plain and reserved storms in turns; returns their outcomes."""
    found: dict[str, list[storm.Outcome]] = {'plain': [], 'reserved': []}
    for turn in range(rounds):
        for kind, outcomes in found.items():
            flavors = {
                guest: nova.flavor(f'{kind}-{guest}-{turn}', specs(guest)
                                   if kind == 'reserved' else {})
                for guest in RUNTIME_US}
            outcomes.append(
                storm.Storm(nova, flavors).run(count // rounds))
            for flavor in flavors.values():
                nova.delete_flavor(flavor)
            print(f'{kind:9} {outcomes[-1].ran:4} servers '
                  f'{outcomes[-1].seconds:7.1f} s '
                  f'{outcomes[-1].rate:6.3f} /s, '
                  f'{len(outcomes[-1].failed)} failed', flush=True)
    return found


def rate(outcomes: list[storm.Outcome]) -> float:
    """Returns the servers per second of all storms of one kind."""
    return (sum(outcome.ran for outcome in outcomes)
            / sum(outcome.seconds for outcome in outcomes))


def left_over(cloud: settings.Settings) -> dict[str, int]:
    """Returns the claims in ppm and budgets in us that are left."""
    deadline = time.monotonic() + PATIENCE
    while True:
        remaining = {'claims': host.charged(cloud), 'budgets': host.budgets()}
        if not any(remaining.values()) or time.monotonic() > deadline:
            return remaining
        time.sleep(1)


def main(count: int = 300, rounds: int = 2) -> int:
    """Runs all storms and returns the exit status."""
    cloud = settings.load()
    with sampler.Sampler() as samples:
        found = storms(storm.Nova(cloud), count, rounds)
    ratio = rate(found['reserved']) / rate(found['plain'])
    rest = left_over(cloud)
    differences = base.differences()
    for outcomes in found.values():
        for outcome in outcomes:
            for text in outcome.failed:
                print(text)
    print(f'reserved / plain {ratio:.3f}; {samples.samples} samples, highest '
          f'{samples.highest} ppm, {len(samples.over)} over the pool; '
          f'left {rest}')
    print(differences or 'nova-rt-manage check: clean')
    return int(bool(samples.over or differences) or any(rest.values())
               or ratio < LIMIT)


if __name__ == '__main__':
    sys.exit(main(*map(int, sys.argv[1:])))
