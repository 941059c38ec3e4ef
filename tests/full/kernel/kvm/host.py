# SPDX-License-Identifier: Apache-2.0

"""This machine, its enforcer, and the measurements."""

from collections.abc import Iterator, Mapping, Sequence
import contextlib
import dataclasses
import os
import pathlib
import statistics
import time
from typing import Any, Protocol

from nova_rt.machine.host import nodes
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import pins
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.machine import privsep
from nova_rt.machine.trial import busy
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import deadline
from tests.full.kernel import idle
from tests.full.kernel.kvm import guest as guests
from tests.full.kernel.kvm import plain
from tests.full.kernel.kvm import rom
from tests.full.kernel import pinned

_NOISE = 2
#: After this time a change gives a full budget: two of the longest period.
_SETTLE_SECONDS = 0.2
#: The CPU time of a vCPU before its share is measured.
_BEGUN_NS = 50_000_000
_PATIENCE_SECONDS = 120
_POLL_SECONDS = 0.05


class Maker(Protocol):
    """The maker of guests, by libvirt or without libvirt."""

    def launch(self, work: rom.Work, vcpus: int = 1) -> guests.Guest:
        """A paused guest."""


class Host:
    """The host and the results that all cases share.

    :ivar maker: what starts guests
    :ivar deterministic: whether the clock goes by instructions
    :ivar spare: for emulators, where there are CPUs enough
    :ivar shares: (what, wanted, found)
    :ivar found: other figures, for the report
    """

    def __init__(self, maker: Maker, cpus: tuple[int, ...], tolerance: float,
                 seconds: float, deterministic: bool) -> None:
        privsep.cgroup_pctxt.set_client_mode(False)
        files = fs.RealFS()
        tasks = kernel_tasks.Tasks(files)
        self.maker = maker
        self._seconds = seconds
        self.cpus = cpus
        self.spare = _spare(cpus)
        self.tolerance = tolerance
        self.deterministic = deterministic
        pinned.expect(deadline.can_pin(files, tasks),
                      'the kernel does not let cpusets shrink')
        self.enforcer = deadline.DeadlineEnforcer(
            files, tasks, False, lambda: cpus,
            pins.Pins(tasks, lambda: self.spare, nodes.cells))
        self.shares: list[tuple[str, float, float]] = []
        self.found: dict[str, Any] = {}

    @property
    def cpu(self) -> int:
        """The pCPU that reservations of one vCPU are on."""
        return self.cpus[-1]

    @property
    def near(self) -> tuple[int, ...]:
        """The spare CPUs of the cell of that pCPU."""
        cell, = (cell for cell in cells_of(self.cpus) if self.cpu in cell)
        return tuple(sorted(cell.intersection(self.spare)))

    @property
    def worst(self) -> float:
        """Returns the largest error of a share."""
        return max((abs(found - wanted) for _, wanted, found in self.shares),
                   default=0.0)

    @contextlib.contextmanager
    def guest(self, work: rom.Work = rom.BUSY, vcpus: int = 1
              ) -> Iterator[guests.Guest]:
        """Starts a paused guest that has no reservation yet."""
        found = self.maker.launch(work, vcpus)
        try:
            yield found
        finally:
            found.end()

    @contextlib.contextmanager
    def boot(self) -> Iterator[tuple[plain.Plain, pathlib.Path]]:
        """Starts a paused guest that boots Linux, with a console."""
        if not isinstance(self.maker, plain.Maker):
            raise pinned.Wrong('Linux is booted without libvirt only')
        found, console = self.maker.boot()
        try:
            yield found, console
        finally:
            found.end()

    def noise(self) -> contextlib.AbstractContextManager[None]:
        """Runs busy ordinary tasks on each CPU."""
        return noise(self.cpus)

    def apply(self, guest: guests.Guest, runtime_us: int, period_us: int,
              *cpus: int, unreserved: tuple[int, ...] = ()
              ) -> claims.RTClaim:
        """Reserves for a guest, and checks that the kernel holds it."""
        held = dataclasses.replace(
            pinned.claim(runtime_us, period_us, *(cpus or (self.cpu,))),
            unreserved=unreserved)
        self.enforcer.apply(guest.pid, held)
        pinned.expect(self.enforcer.holds(guest.pid, held),
                      f'{runtime_us}/{period_us} is not held')
        return held

    def check(self, name: str, wanted: Mapping[guests.Guest, float],
              unreserved: tuple[int, ...] = ()) -> None:
        """Measures the shares of all vCPUs of these guests over the same time.

        Beside busy tasks on each CPU.

        :param unreserved: the vCPUs of each guest that are not looked at
        """
        vcpus = [(guest, vcpu) for guest in wanted
                 for number, vcpu in enumerate(guest.vcpus)
                 if number not in unreserved]
        wait_until_busy([vcpu for _, vcpu in vcpus])
        shares = idle.never(lambda: self.measure(
            [vcpu for _, vcpu in vcpus]))
        self.shares += [(name, wanted[guest], share) for (guest, _), share
                        in zip(vcpus, shares, strict=True)]
        for (guest, _), share in zip(vcpus, shares, strict=True):
            pinned.expect(abs(share - wanted[guest]) <= self.tolerance,
                          f'{name}: {share} instead of {wanted[guest]}')

    def measure(self, threads: Sequence[int]) -> list[float]:
        """Returns the parts of a CPU that threads use from now on."""
        return measure(threads, self._seconds)

    def rate(self, guest: guests.Guest, counter: str) -> float:
        """Returns how much a counter of KVM's grows in a second."""
        with punctual():
            begin, before = time.monotonic(), guest.count(counter)
            time.sleep(self._seconds)
            grown = guest.count(counter) - before
            return round(grown / (time.monotonic() - begin), 1)


def measure(threads: Sequence[int], seconds: float) -> list[float]:
    """Returns the parts of a CPU that threads use in *seconds* from now on."""
    with punctual():
        time.sleep(_SETTLE_SECONDS)
        begin = time.monotonic_ns()
        before = list(map(guests.used_ns, threads))
        time.sleep(seconds)
        after = list(map(guests.used_ns, threads))
        length = time.monotonic_ns() - begin
    return [round((new - old) / length, 4)
            for old, new in zip(before, after, strict=True)]


def wait_until_busy(threads: Sequence[int]) -> None:
    """Waits until QEMU has begun to run each vCPU.

    QEMU's main loop resumes the vCPUs.  The main loop is an ordinary task, and
    holds QEMU's big lock.  Beside busy tasks it gets only the CPU time that
    reservations leave, so this may take seconds.
    """
    begun = {thread: guests.used_ns(thread) + _BEGUN_NS
             for thread in threads}
    end = time.monotonic() + _PATIENCE_SECONDS
    while any(guests.used_ns(thread) < least
              for thread, least in begun.items()):
        pinned.expect(time.monotonic() < end, 'the guest does not run')
        time.sleep(_POLL_SECONDS)


@contextlib.contextmanager
def noise(cpus: Sequence[int]) -> Iterator[None]:
    """Runs busy ordinary tasks on each of *cpus*."""
    running = [busy.Busy({cpu}, 3600) for cpu in cpus for _ in range(_NOISE)]
    try:
        yield
    finally:
        for each in running:
            each.kill()


def cells_of(cpus: tuple[int, ...]) -> list[frozenset[int]]:
    """Returns the CPUs of each cell; one cell if the kernel knows none."""
    return nodes.cells() or [frozenset(cpus)]


def _spare(cpus: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the first CPU of each cell, unless these are all CPUs."""
    first = tuple(min(cell) for cell in cells_of(cpus))
    return first if len(first) < len(cpus) else ()


@contextlib.contextmanager
def punctual() -> Iterator[None]:
    """Waits for SCHED_DEADLINE only: both readings are in one phase."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def summary(milliseconds: Sequence[float]) -> dict[str, float]:
    """Returns a summary of measured times."""
    return {'median': round(statistics.median(milliseconds), 2),
            'max': round(max(milliseconds), 2)}
