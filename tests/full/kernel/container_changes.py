# SPDX-License-Identifier: Apache-2.0

"""Containers whose reservation changes while they are busy.

The product's own enforcer gives a busy container another budget of
RT_GROUP_SCHED, again and again: up and down, on its pCPU and to another one.
Another busy container keeps its own.  Meanwhile the CPU time of both is
sampled, and tracefs tells when the kernel gives each group a new budget: there
a period begins.  No window of five periods in a row may have less than 0.98 of
the smaller reservation.  As root::

    python -m tests.full.kernel.container_changes --count 200 --seed 7

With ``--periods`` the period changes, too.  With ``--vcpus`` a virtual machine
with a busy vCPU on each pCPU changes, and the vCPU beside the other container
is watched.
"""

from collections.abc import Iterable, Iterator, Sequence
import contextlib
import dataclasses
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.machine.trial import busy
from nova_rt.rules import defaults
from nova_rt.rules import reservation
from nova_rt.rules import schedulability
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import enforcer
from tests.full.kernel import changes
from tests.full.kernel import host as hosts
from tests.full.kernel import machines
from tests.full.kernel import pinned

_INSTANCE = 'nova-rt-changes'
_TIMER = 'sched_rt_period_timer'
_LINE = re.compile(r' (?P<s>[0-9]+)\.(?P<us>[0-9]{6}): hrtimer_expire_entry: '
                   r'hrtimer=(?P<timer>\S+) ')
_NS = 1000
_HOURS_S = 36_000
#: The part of the periods of a timer that must be as expected.
_MOST = 0.8
_LEVELS = defaults.GUEST_PRIORITY_MAX - defaults.GUEST_PRIORITY + 1


class Periods:
    """The moments at which the kernel gives groups new budgets."""

    def __init__(self, instance: pathlib.Path) -> None:
        self._instance = instance
        self._write('trace_clock', 'mono')
        self._write('events/timer/hrtimer_expire_entry/filter',
                    f'function.function == {_TIMER}')
        self._write('events/timer/hrtimer_expire_entry/enable', '1')

    def _write(self, name: str, text: str) -> None:
        (self._instance / name).write_text(text)

    def read(self) -> dict[str, list[int]]:
        """Returns the moments of each timer, in ns."""
        found: dict[str, list[int]] = {}
        for match in _LINE.finditer((self._instance / 'trace').read_text()):
            found.setdefault(match['timer'], []).append(
                (int(match['s']) * 1_000_000 + int(match['us'])) * _NS)
        return found


@contextlib.contextmanager
def traced() -> Iterator[Periods]:
    """Traces the timers of budgets in an instance of its own."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(['mount', '-t', 'tracefs', 'none', name], check=True)
        instance = pathlib.Path(name) / 'instances' / _INSTANCE
        instance.mkdir()
        try:
            yield Periods(instance)
        finally:
            instance.rmdir()
            subprocess.run(['umount', name], check=True)


def with_periods(samples: Sequence[changes.Sample], begins: Sequence[int]
                 ) -> list[changes.Sample]:
    """Returns the samples, each with the end of its period as its deadline.

    Samples after the last known period have no deadline.
    """
    found, ahead = [], list(reversed(begins))
    for each in samples:
        while ahead and ahead[-1] <= each.moment:
            ahead.pop()
        found.append(changes.Sample(each.moment, each.used,
                                    ahead[-1] if ahead else 0, 1))
    return found


class Sampler(changes.Sampler):
    """Samples the CPU times of single tasks."""

    def sample(self, vcpu: busy.Busy) -> list[changes.Sample]:
        began, used = time.monotonic_ns(), vcpu.used_ns()
        ended = time.monotonic_ns()
        return [changes.Sample(ended, used)] * (
            ended - began <= changes.GAP_NS)


class Task(busy.Busy):
    """The busy task of a container."""

    def __init__(self, pid: int) -> None:
        self.pid = pid


@dataclasses.dataclass
class Container:
    """A container with one busy task."""

    pid: int
    vcpus: Sequence[busy.Busy]


class Host:
    """This machine, with the priorities that nova-compute gives.

    :param vcpus: whether the guest on the first pCPU is a virtual machine
        with a vCPU on each pCPU
    """

    def __init__(self, vcpus: bool) -> None:
        self.vcpus = vcpus
        found = hosts.Host.find()
        self.cpus = tuple(sorted(os.sched_getaffinity(0)))
        limit = found.enforcer.capacity()
        self.rule = schedulability.FixedPriorities(
            _LEVELS, limit.tick_us, limit.min_period_us)
        self.enforcer = enforcer.GroupEnforcer(
            found.interface, kernel_tasks.Tasks(fs.RealFS()), 'rr',
            lambda wanted: defaults.GUEST_PRIORITY
            + self.rule.level(wanted.period_us))
        self.guests = machines.Machines()

    @contextlib.contextmanager
    def guest(self, *cpus: int) -> Iterator[Container]:
        """Starts a guest that has no reservation yet."""
        if self.vcpus and cpus == self.cpus[:1]:
            with self._machine() as machine:
                yield machine
            return
        guest = self.guests.start(1)
        try:
            yield Container(guest.pid, [Task(max(guest.threads()))])
        finally:
            try:
                self.enforcer.release(guest.pid)
            finally:
                guest.kill()
                guest.remove()
                self.enforcer.settle()

    @contextlib.contextmanager
    def _machine(self) -> Iterator[Container]:
        machine = self.guests.machine(self.cpus)
        try:
            yield Container(machine.pid, machine.vcpus[::-1])
        finally:
            self.enforcer.release(machine.pid)
            machine.end()

    @contextlib.contextmanager
    def noise(self) -> Iterator[None]:
        """Runs a busy ordinary task on each CPU."""
        running = [busy.Busy({cpu}, _HOURS_S) for cpu in self.cpus]
        try:
            yield
        finally:
            for each in running:
                each.kill()


class Changes(changes.Changes):
    """A container that changes and a container that does not."""

    neighbour = reservation.Reservation(75_000, 250_000)
    per_cent = (30, 40, 50, 60)
    periods_ms: Sequence[int] = (200,)

    def __init__(self, host: Host, seed: int, periods: Periods) -> None:
        super().__init__(host, seed)
        self._rule, self._periods = host.rule, periods
        self._vcpus = host.vcpus

    def some(self, cpus: Sequence[int]) -> claims.RTClaim:
        """Returns a claim that nova-rt admits beside the neighbour."""
        while True:
            found = super().some(cpus)
            if self._vcpus:
                wanted = found.reservation
                found = pinned.claim(wanted.runtime_us, wanted.period_us,
                                     *cpus)
            if cpus[-1] not in found.cpus or self._rule.holds(
                    (found.reservation, self.neighbour)):
                return found

    def give(self, guest: changes.Guest, claim: claims.RTClaim) -> None:
        """Gives a reservation, as if nova-compute had a CPU of its own."""
        with pinned.punctual():
            super().give(guest, claim)

    def sampler(self, vcpus: Sequence[busy.Busy]) -> Sampler:
        return Sampler(vcpus, changes.EVERY_S)

    def sampled(self, taken: list[list[changes.Sample]]
                ) -> list[list[changes.Sample]]:
        timers = self._periods.read().values()
        return [with_periods(samples, begins_of(timers, lasts)) for
                samples, lasts in zip(taken, (
                    self.periods_ms, (self.neighbour.period_us // 1000,)),
                    strict=True)]


def begins_of(timers: Iterable[Sequence[int]], periods_ms: Sequence[int]
              ) -> list[int]:
    """Returns the moments of the only timer with such periods.

    A timer that comes late, because a hypervisor took the CPU away, changes
    two of its periods.

    :raises LookupError: there is not one such timer
    """
    found = [moments for moments in timers if len(moments) > 1 and sum(
        round((after - before) / 1e7) * 10 in periods_ms
        for before, after in itertools.pairwise(moments))
        > _MOST * (len(moments) - 1)]
    if len(found) != 1:
        raise LookupError(f'{len(found)} timers have periods of '
                          f'{periods_ms} ms')
    return list(found[0])


def main(argv: Sequence[str]) -> int:
    parser = changes.options(__doc__)
    parser.add_argument('--periods', action='store_true')
    parser.add_argument('--vcpus', action='store_true')
    args = parser.parse_args(argv)
    host = Host(args.vcpus)
    try:
        with traced() as periods:
            tested = Changes(host, args.seed, periods)
            if args.periods:
                tested.periods_ms = (200, 400)
            return changes.report(tested, args.count, not args.quiet)
    finally:
        host.guests.close()


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
