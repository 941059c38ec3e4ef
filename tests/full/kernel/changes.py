# SPDX-License-Identifier: Apache-2.0

"""Virtual machines whose reservation changes while they are busy.

The product's own enforcer gives a busy guest another reservation, again and
again: up and down, with shorter and longer periods, on its pCPU and to another
one.  Meanwhile the CPU time of every vCPU is sampled.  No window of five of
the longest periods may have less than 0.98 of the smaller of both
reservations, and the neighbour keeps its own.  As root::

    python -m tests.full.kernel.changes --count 200 --seed 7
"""

import argparse
from collections.abc import Sequence
import dataclasses
import json
import os
import random
import sys
import threading
import time

from nova_rt.machine.trial import busy
from nova_rt.rules import reservation
from tests.full.kernel import machines
from tests.full.kernel import pinned

PER_CENT = (10, 20, 30, 45)
NEIGHBOUR_PER_CENT = 20
PERIODS_MS = (20, 50, 100)
_WINDOW_PERIODS = 5
LEAST = 0.98


@dataclasses.dataclass(frozen=True)
class Sample:
    """The CPU time of a vCPU at a moment, both in ns."""

    moment: int
    used: int


class Sampler(threading.Thread):
    """Samples the CPU times of vCPUs until it is stopped."""

    def __init__(self, vcpus: Sequence[busy.Busy], every_s: float) -> None:
        super().__init__(daemon=True)
        self._vcpus, self._every_s = vcpus, every_s
        self._ends = threading.Event()
        self.samples: list[list[Sample]] = [[] for _ in vcpus]

    def run(self) -> None:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
        while not self._ends.wait(self._every_s):
            for vcpu, own in zip(self._vcpus, self.samples, strict=True):
                own.append(Sample(time.monotonic_ns(), vcpu.used_ns()))

    def stop(self) -> None:
        self._ends.set()
        self.join()


def worst(samples: Sequence[Sample], window_ns: int) -> float:
    """Returns the smallest share in any window of at least this length."""
    found, first = 1.0, 0
    for last in samples:
        while (last.moment - samples[first + 1].moment >= window_ns
               if first + 1 < len(samples) else False):
            first += 1
        length = last.moment - samples[first].moment
        if length >= window_ns:
            found = min(found, (last.used - samples[first].used) / length)
    return found


def share_of(wanted: reservation.Reservation) -> float:
    return wanted.runtime_us / wanted.period_us


class Changes:
    """A guest that changes and a neighbour that does not."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - not for secrets
        self.host = pinned.Host(0.0)
        self.wrong: list[str] = []
        self.ratios: list[float] = []
        #: the same of the guest before each change
        self.controls: list[float] = []
        self.seconds: list[float] = []

    def run(self, count: int) -> None:
        cpus = self.host.cpus[:2]
        with (self.host.noise(), self.host.guest(cpus[0]) as guest,
              self.host.guest(cpus[-1]) as neighbour):
            self.give(neighbour, pinned.claim(
                NEIGHBOUR_PER_CENT * 200, 20_000, cpus[-1]))
            now = self.some(cpus)
            self.give(guest, now)
            for number in range(count):
                wanted = self.some(cpus)
                self.change(number, guest, neighbour, now, wanted)
                now = wanted

    def some(self, cpus: Sequence[int]) -> pinned.claims.RTClaim:
        period = self.chance.choice(PERIODS_MS) * 1000
        return pinned.claim(period * self.chance.choice(PER_CENT) // 100,
                            period, self.chance.choice(cpus))

    def give(self, guest: machines.Machine, claim: pinned.claims.RTClaim
             ) -> None:
        began = time.monotonic()
        self.host.enforcer.apply(guest.pid, claim)
        self.seconds.append(time.monotonic() - began)

    def change(self, number: int, guest: machines.Machine,
               neighbour: machines.Machine, old: pinned.claims.RTClaim,
               new: pinned.claims.RTClaim) -> None:
        sampler = Sampler([guest.vcpus[0], neighbour.vcpus[0]], 0.001)
        longest = max(old.reservation.period_us, new.reservation.period_us)
        around = 2 * _WINDOW_PERIODS * longest / 1_000_000
        sampler.start()
        time.sleep(around)
        began = time.monotonic_ns()
        self.give(guest, new)
        time.sleep(around)
        sampler.stop()
        own = old.reservation
        self.controls.append(worst(
            [each for each in sampler.samples[0] if each.moment < began],
            _WINDOW_PERIODS * own.period_us * 1000) / share_of(own))
        floor = min(share_of(old.reservation), share_of(new.reservation))
        for name, samples, least, period in (
                ('guest', sampler.samples[0], floor, longest),
                ('neighbour', sampler.samples[1],
                 NEIGHBOUR_PER_CENT / 100, max(20_000, longest))):
            ratio = worst(samples, _WINDOW_PERIODS * period * 1000) / least
            self.ratios.append(ratio)
            if ratio < LEAST:
                self.wrong.append(
                    f'{number}: {name}: {ratio:.3f} of its share, '
                    f'{old.identifier[36:]} -> {new.identifier[36:]}')

    def summary(self) -> dict[str, object]:
        ordered, controls = sorted(self.ratios), sorted(self.controls)
        return {'kernel': os.uname().release, 'windows': len(ordered),
                'worst': round(ordered[0], 4),
                'median': round(ordered[len(ordered) // 2], 4),
                'worst without a change': round(controls[0], 4),
                'median without a change': round(
                    controls[len(controls) // 2], 4),
                'longest change (s)': round(max(self.seconds[2:]), 3),
                'wrong': self.wrong}


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args(argv)
    changes = Changes(args.seed)
    try:
        changes.run(args.count)
    finally:
        changes.host.machines.close()
    found = changes.summary()
    print(json.dumps(found, indent=1))
    return 1 if changes.wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
