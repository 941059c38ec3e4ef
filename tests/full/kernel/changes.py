# SPDX-License-Identifier: Apache-2.0

"""Virtual machines whose reservation changes while they are busy.

The product's own enforcer gives a busy guest another reservation, again and
again: up and down, with shorter and longer periods, on its pCPU and to another
one.  Meanwhile the CPU time and the deadline of every vCPU are sampled: at a
new deadline a period begins.  No window of five periods in a row may have less
than 0.98 of the smaller reservation, and the neighbour keeps its own.
As root::

    python -m tests.full.kernel.changes --count 200 --seed 7

A kernel without HRTICK_DL charges CPU time at its ticks.  A window then has up
to a tick less, which its neighbours have more; short runtimes need HRTICK_DL
(``--hrtick`` switches it on).

With ``--moves`` the reservation stays, and only the pCPU changes.
"""

import argparse
from collections.abc import Sequence
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import sys
import threading
import time
from typing import Protocol

from nova_rt.machine.trial import busy
from nova_rt.rules import reservation
from nova_rt.services.virt.libvirt import enforcer
from tests.full.kernel import pinned

PER_CENT = (40, 50, 60, 70)
NEIGHBOUR = reservation.Reservation(40_000, 200_000)
PERIODS_MS = (100, 200)
_FEATURES = pathlib.Path('/sys/kernel/debug/sched/features')
_WINDOW_PERIODS = 5
LEAST = 0.98
_NUMBERS = re.compile(r'^dl\.(deadline|runtime)\s*:\s*(-?[0-9]+)',
                      re.MULTILINE)
#: A sample is taken every millisecond.
EVERY_S = 0.001
GAP_NS = 2_000_000


@dataclasses.dataclass(frozen=True)
class Sample:
    """The CPU time of a vCPU and its deadline at a moment, all in ns.

    :ivar left: the rest of its runtime; a throttled vCPU has none
    """

    moment: int
    used: int
    deadline: int = 0
    left: int = 0


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
                own += self.sample(vcpu)

    def stop(self) -> None:
        self._ends.set()
        self.join()

    def sample(self, vcpu: busy.Busy) -> list[Sample]:
        """Returns a sample; its deadline is 0 without a reservation.

        :returns: none if the sampler was preempted, so that CPU time and
            deadline may be of two periods
        """
        began = time.monotonic_ns()
        text = pathlib.Path(f'/proc/{vcpu.pid}/sched').read_text()
        used, ended = vcpu.used_ns(), time.monotonic_ns()
        if ended - began > GAP_NS:
            return []
        numbers = {match[1]: int(match[2])
                   for match in _NUMBERS.finditer(text)}
        return [Sample(ended, used, numbers.get('deadline', 0),
                       numbers.get('runtime', 1))]


def shares(samples: Sequence[Sample], count: int) -> list[float]:
    """Returns the shares in all windows of *count* periods in a row.

    Where the vCPU may have run between the last sample of a period and the end
    of the period, no window begins or ends: SCHED_DEADLINE threads on all
    CPUs delay the sampler.  The clock of deadlines differs from the clock of
    samples by what the first sample in a period shows at least.
    """
    turns = [(before, after) for before, after in itertools.pairwise(samples)
             if before.deadline != after.deadline]
    offset = min((after.moment - before.deadline for before, after in turns
                  if before.deadline), default=0)
    ends = [Sample(min(before.deadline + offset, after.moment), before.used,
                   before.deadline and _is_exact(before, after))
            for before, after in turns]
    return [(last.used - first.used) / (last.moment - first.moment)
            for first, last in zip(ends, ends[count:], strict=False)
            if first.deadline and last.deadline]


def _is_exact(before: Sample, after: Sample) -> bool:
    """Checks whether the CPU time between two samples is known."""
    return (after.moment - before.moment <= GAP_NS
            or after.used == before.used or before.left <= 0)


def share_of(wanted: reservation.Reservation) -> float:
    return wanted.runtime_us / wanted.period_us


def _worst(samples: Sequence[Sample], least: float) -> list[float]:
    """Returns the windows of a vCPU by the share that it must have, sorted."""
    return sorted(share / least for share in shares(samples, _WINDOW_PERIODS))


class Guest(Protocol):
    """A guest whose first vCPU is watched."""

    @property
    def pid(self) -> int:
        """Returns the process by which the enforcer knows the guest."""

    @property
    def vcpus(self) -> Sequence[busy.Busy]:
        """Returns the busy tasks."""


class Host(Protocol):
    """The host of the guests, see :class:`pinned.Host`."""

    @property
    def cpus(self) -> tuple[int, ...]:
        """Returns the pCPUs."""

    @property
    def enforcer(self) -> enforcer.Enforcer:
        """Returns what gives guests their reservations."""

    def guest(self, *cpus: int) -> contextlib.AbstractContextManager[Guest]:
        """Starts a guest that has no reservation yet."""

    def noise(self) -> contextlib.AbstractContextManager[None]:
        """Runs busy ordinary tasks."""


class Changes:
    """A guest that changes and a neighbour that does not."""

    neighbour = NEIGHBOUR
    #: the shares and the periods of the guest
    per_cent: Sequence[int] = PER_CENT
    periods_ms: Sequence[int] = PERIODS_MS

    def __init__(self, host: Host, seed: int, moves: bool = False) -> None:
        self.moves = moves
        self.chance = random.Random(seed)  # noqa: S311 - not for secrets
        self.host = host
        self.wrong: list[str] = []
        #: the worst window of a vCPU around each change
        self.ratios: list[float] = []
        self.windows = self.changes = 0
        #: the same of the guest before each change
        self.controls: list[float] = []
        self.seconds: list[float] = []
        #: the samples since the last change
        self._before: list[list[Sample]] = [[], []]
        #: the CPU time of each change
        self.worked: list[float] = []

    def run(self, count: int, beside: bool) -> None:
        """:param beside: whether busy ordinary tasks run beside"""
        cpus = self.host.cpus[:2]
        with (self.host.noise() if beside else contextlib.nullcontext(),
              self.host.guest(cpus[0]) as guest,
              self.host.guest(cpus[-1]) as neighbour):
            self.give(neighbour, pinned.claim(
                self.neighbour.runtime_us, self.neighbour.period_us, cpus[-1]))
            now = self.some(cpus)
            self.give(guest, now)
            for number in range(count):
                wanted = (self.moved(now, cpus) if self.moves
                          else self.some(cpus))
                self.change(number, guest, neighbour, now, wanted)
                now = wanted

    def some(self, cpus: Sequence[int]) -> pinned.claims.RTClaim:
        period = self.chance.choice(self.periods_ms) * 1000
        return pinned.claim(period * self.chance.choice(self.per_cent) // 100,
                            period, self.chance.choice(cpus))

    def moved(self, now: pinned.claims.RTClaim, cpus: Sequence[int]
              ) -> pinned.claims.RTClaim:
        """Returns the claim with its vCPU on the other pCPU."""
        (other,) = set(cpus).difference(now.cpus)
        return dataclasses.replace(now, cpus=(other,))

    def give(self, guest: Guest, claim: pinned.claims.RTClaim
             ) -> None:
        began, worked = time.monotonic(), time.thread_time()
        self.host.enforcer.apply(guest.pid, claim)
        self.seconds.append(time.monotonic() - began)
        self.worked.append(time.thread_time() - worked)

    def change(self, number: int, guest: Guest,
               neighbour: Guest, old: pinned.claims.RTClaim,
               new: pinned.claims.RTClaim) -> None:
        sampler = self.sampler((guest.vcpus[0], neighbour.vcpus[0]))
        longest = max(old.reservation.period_us, new.reservation.period_us,
                      self.neighbour.period_us)
        around = (_WINDOW_PERIODS + 2) * longest / 1_000_000
        sampler.start()
        if not any(self._before):
            time.sleep(around)
        began = time.monotonic_ns()
        self.give(guest, new)
        self.changes += 1
        time.sleep(around)
        sampler.stop()
        self._before, taken = sampler.samples, [
            before + after for before, after
            in zip(self._before, sampler.samples, strict=True)]
        guests, neighbours = self.sampled(taken)
        self.controls += _worst(
            [each for each in guests if each.moment < began],
            share_of(old.reservation))[:1]
        floor = min(share_of(old.reservation), share_of(new.reservation))
        for name, samples, least in (
                ('guest', guests, floor),
                ('neighbour', neighbours, share_of(self.neighbour))):
            ratios = _worst(samples, least)
            self.windows += len(ratios)
            self.ratios += ratios[:1]
            for ratio in [ratio for ratio in ratios[:1] if ratio < LEAST]:
                self.wrong.append(
                    f'{number}: {name}: {ratio:.3f} of its share, '
                    f'{old.identifier[36:]} -> {new.identifier[36:]}')

    def sampler(self, vcpus: Sequence[busy.Busy]) -> Sampler:
        return Sampler(vcpus, EVERY_S)

    def sampled(self, taken: list[list[Sample]]) -> list[list[Sample]]:
        """Returns the samples of guest and neighbour with their deadlines."""
        return taken

    def summary(self) -> dict[str, object]:
        ordered, controls = sorted(self.ratios), sorted(self.controls)
        return {'kernel': os.uname().release, 'changes': self.changes,
                'vCPUs with windows': len(ordered), 'windows': self.windows,
                'worst': round(ordered[0], 4),
                'median': round(ordered[len(ordered) // 2], 4),
                'worst without a change': round(controls[0], 4),
                'below the bar without a change': len([
                    ratio for ratio in controls if ratio < LEAST]),
                'median without a change': round(
                    controls[len(controls) // 2], 4),
                'longest change (s)': round(max(self.seconds[2:]), 3),
                'most CPU time of a change (s)': round(
                    max(self.worked[2:]), 3),
                'wrong': self.wrong}


def report(changes: Changes, count: int, beside: bool) -> int:
    """Makes the changes, prints the summary and returns the exit status."""
    try:
        changes.run(count, beside)
    except KeyboardInterrupt:
        pass  # The values that were measured until now count.
    finally:
        if changes.controls:
            print(json.dumps(changes.summary(), indent=1), flush=True)
    return 1 if changes.wrong else 0


def options(text: str | None) -> argparse.ArgumentParser:
    """Returns a parser of the options that all such tests have."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument('--count', type=int, default=200)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--quiet', action='store_true',
                        help='without busy ordinary tasks')
    return parser


def main(argv: Sequence[str]) -> int:
    parser = options(__doc__)
    parser.add_argument('--hrtick', action='store_true')
    parser.add_argument('--moves', action='store_true')
    args = parser.parse_args(argv)
    if args.hrtick:
        _FEATURES.write_text('HRTICK_DL')
    host = pinned.Host(0.0)
    try:
        return report(Changes(host, args.seed, args.moves), args.count,
                      not args.quiet)
    finally:
        host.machines.close()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
