# SPDX-License-Identifier: Apache-2.0

"""Virtual machines by SCHED_DEADLINE, pinned: what a kernel really does.

Guests of busy processes are reserved by the product's own enforcer, beside
busy ordinary tasks.  Shares are only right to the last per mille where time
is; in the lab, with one CPU and a clock of its own, as root::

    tools/lab.sh debian:13 --icount -- python -m tests.full.kernel.pinned

With several CPUs give a larger tolerance: what is pinned where counts then.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
import contextlib
import json
import os
import pathlib
import platform
import signal
import sys
import time
import traceback
from typing import Any

from oslo_utils import uuidutils

from nova_rt.machine.host import sched
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import pins
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.machine import privsep
from nova_rt.machine import sched_setattr
from nova_rt.machine.trial import busy
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import deadline
from tests.full.kernel import idle
from tests.full.kernel import machines

_NOISE = 2
_SECONDS = 4.0
#: A change gives a full budget at once: two of the longest period.
_SETTLE_SECONDS = 0.2
_NOBODY = 65534
#: Enough to distinguish nine tenths of a share from the whole share.
_SHORT_SECONDS = 5.0
_SERVER = pathlib.Path('/sys/kernel/debug/sched/fair_server')
_RUNTIME = pathlib.Path('/proc/sys/kernel/sched_rt_runtime_us')
#: The time between a release and the next reservation.
_GAPS = (0.0, 0.0, 0.02, 0.05, 0.07, 0.1, 0.2, 1.0, 0.0, 0.0, 3.0, 0.0)


class Wrong(Exception):
    """The kernel, or the product, does not do what it must."""


class Host:
    """This machine, its guests and what runs beside them.

    :param running: that of a nova-compute that has ended
    :ivar found: what was measured, for the report
    """

    def __init__(self, tolerance: float,
                 running: machines.Machines | None = None) -> None:
        privsep.cgroup_pctxt.set_client_mode(False)
        self.tolerance = tolerance
        files = fs.RealFS()
        self.tasks = kernel_tasks.Tasks(files)
        self.cpus = tuple(sorted(os.sched_getaffinity(0)))
        self.machines = running or machines.Machines()
        self.pinned = deadline.can_pin(files, self.tasks)
        self.enforcer = deadline.DeadlineEnforcer(
            files, self.tasks, False, lambda: self.cpus,
            pins.Pins(self.tasks, lambda: ()) if self.pinned else None)
        self.found: dict[str, Any] = {}

    @property
    def cpu(self) -> int:
        """The pCPU that all reservations are on."""
        return self.cpus[-1]

    @contextlib.contextmanager
    def guest(self, *cpus: int) -> Iterator[machines.Machine]:
        """Starts a virtual machine that has no reservation yet."""
        found = self.machines.machine(cpus or (self.cpu,))
        try:
            yield found
        finally:
            self.enforcer.release(found.pid)
            found.end()

    @contextlib.contextmanager
    def noise(self, seconds: float = 3600) -> Iterator[None]:
        """Runs busy ordinary tasks on each CPU."""
        running = [busy.Busy({cpu}, seconds) for cpu in self.cpus
                   for _ in range(_NOISE)]
        try:
            yield
        finally:
            for each in running:
                each.kill()

    def check(self, name: str, guest: machines.Machine, wanted: float,
              seconds: float = _SECONDS) -> None:
        self.check_all(name, {guest: wanted}, seconds)

    def check_all(self, name: str, wanted: dict[machines.Machine, float],
                  seconds: float = _SECONDS) -> None:
        """Checks the shares of the first vCPUs, all over the same time."""
        shares = self.shares([guest.vcpus[0] for guest in wanted], seconds)
        self.found[name] = shares
        for share, right in zip(shares, wanted.values(), strict=True):
            if abs(share - right) > self.tolerance:
                raise Wrong(f'{name}: {share} instead of {right}')

    @staticmethod
    def shares(vcpus: Sequence[busy.Busy], seconds: float,
               settle_seconds: float = _SETTLE_SECONDS) -> list[float]:
        """Returns the part of a CPU of each vCPU, all over the same time.

        Busy tasks run on each CPU meanwhile.
        """
        def measure() -> list[float]:
            begin = time.monotonic_ns()
            before = [vcpu.used_ns() for vcpu in vcpus]
            time.sleep(seconds)
            after = [vcpu.used_ns() for vcpu in vcpus]
            length = time.monotonic_ns() - begin
            return [round((new - old) / length, 4) for old, new
                    in zip(before, after, strict=True)]

        with punctual():
            time.sleep(settle_seconds)
            return idle.never(measure)


@contextlib.contextmanager
def punctual() -> Iterator[None]:
    """Waits for SCHED_DEADLINE only: both readings are in one phase."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def claim(runtime_us: int, period_us: int, *cpus: int) -> claims.RTClaim:
    return claims.RTClaim(
        uuidutils.generate_uuid(), 0,
        reservation.Reservation(runtime_us, period_us), cpus)


def expect(holds: bool, text: str) -> None:
    if not holds:
        raise Wrong(text)


# The cases.

def probe(host: Host) -> None:
    expect(host.pinned, 'the kernel does not let cpusets shrink')


def share(host: Host) -> None:
    """Tests several periods, one after the other, beside ordinary tasks."""
    with host.noise(), host.guest() as guest:
        for runtime, period in ((30_000, 100_000), (60_000, 100_000),
                                (6_000, 10_000), (2_000, 10_000)):
            held = claim(runtime, period, host.cpu)
            host.enforcer.apply(guest.pid, held)
            expect(host.enforcer.holds(guest.pid, held), f'{held} not held')
            host.check(f'{runtime}/{period}', guest, runtime / period)


def two_on_one(host: Host) -> None:
    """Two guests on one pCPU change the order of their turns in a period.

    The ends of a measurement therefore cut off a part of a period.
    """
    with host.noise(), host.guest() as first, host.guest() as second:
        ppm = min(450_000, host.enforcer.capacity().ppm // 2)
        each = claim(ppm // 50, 20_000, host.cpu)
        for guest in (first, second):
            host.enforcer.apply(guest.pid, each)
        wanted = each.reservation.runtime_us / each.reservation.period_us
        host.check_all('two on one pCPU', {first: wanted, second: wanted},
                       5.0)


def resize(host: Host) -> None:
    """A guest keeps policy and pCPU through each change, while it is busy."""
    with host.noise(), host.guest() as guest:
        for runtime in (30_000, 50_000, 10_000):
            held = claim(runtime, 100_000, host.cpu)
            host.enforcer.apply(guest.pid, held)
            thread = guest.vcpus[0].pid
            expect(sched.get(thread).grants(runtime, 100_000),
                   f'it has {sched.get(thread)}')
            expect(os.sched_getaffinity(thread) == {host.cpu},
                   f'it may run on {os.sched_getaffinity(thread)}')
            host.check(f'resized to {runtime}', guest, runtime / 100_000)


def refusal(host: Host) -> None:
    """A reservation that does not fit leaves nothing, and others unchanged."""
    ppm = host.enforcer.capacity().ppm
    most = claim(ppm // 10, 100_000, *host.cpus)
    with host.guest(*host.cpus) as full, host.guest() as late:
        host.enforcer.apply(full.pid, most)
        try:
            host.enforcer.apply(late.pid, claim(94_000, 100_000, host.cpu))
        except exception.KernelError as error:
            expect('EBUSY' in str(error), str(error))
        else:
            raise Wrong('as much again on a full CPU was admitted')
        expect(not host.enforcer.bandwidth(late.pid), 'it holds something')
        expect(late.cpuset(0) == str(host.cpu), late.cpuset(0))
        expect(host.enforcer.holds(full.pid, most), 'the other lost its own')
        host.enforcer.release(full.pid)
        host.enforcer.apply(late.pid, claim(ppm // 10, 100_000, host.cpu))
        host.found['capacity of each pCPU'] = ppm / 1_000_000


def asleep(host: Host) -> None:
    """No bandwidth is lost if threads sleep, as in a paused guest."""
    ppm = host.enforcer.capacity().ppm
    most = claim(ppm // 10, 100_000, host.cpu)
    for _ in range(2 * len(host.cpus)):
        with host.guest() as guest:
            os.kill(guest.vcpus[0].pid, signal.SIGSTOP)
            host.enforcer.apply(guest.pid, most)
            host.enforcer.release(guest.pid)


def repair(host: Host) -> None:
    """A thread that lost its policy, or its pCPU, gets it back."""
    with host.guest() as guest:
        held = claim(30_000, 100_000, host.cpu)
        host.enforcer.apply(guest.pid, held)
        sched_setattr.stop(guest.vcpus[0].pid)
        expect(not host.enforcer.holds(guest.pid, held), 'not seen')
        host.enforcer.apply(guest.pid, held)
        expect(host.enforcer.holds(guest.pid, held), 'not repaired')
        if len(host.cpus) > 1:
            host.tasks.confine(guest.vcpus[0].pid, host.cpus)
            expect(not host.enforcer.holds(guest.pid, held), 'not seen')
            host.enforcer.apply(guest.pid, held)
            expect(host.enforcer.holds(guest.pid, held), 'not repaired')


def again(host: Host) -> None:
    """A busy vCPU that is released gets its share when it is reserved again.

    It is throttled most of the time: at that moment its reservation is
    taken, and the kernel still counts what it ran too long.
    """
    with host.noise(), host.guest() as guest:
        for number, gap in enumerate(_GAPS):
            held = claim(30_000 + number % 3 * 10_000, 100_000, host.cpu)
            host.enforcer.apply(guest.pid, held)
            expect(host.enforcer.holds(guest.pid, held), f'{held} not held')
            host.check(f'{number}: again after {gap} s', guest,
                       held.reservation.runtime_us / 100_000, 1.0)
            # Each time, the vCPU is in another phase of its period.
            time.sleep(number * 0.007)
            host.enforcer.release(guest.pid)
            time.sleep(gap)


def given_up(host: Host) -> None:
    """A vCPU that nobody can cure takes no room from others.

    Its deadline is hours away: its period was 4 s when the kernel made it
    pay for what it had overrun by 2 us each.
    """
    ppm = min(600_000, host.enforcer.capacity().ppm * 2 // 3)
    held = claim(ppm // 10, 100_000, host.cpu)
    with host.noise(), host.guest() as guest, host.guest() as other:
        host.enforcer.apply(guest.pid, held)
        thread = guest.vcpus[0].pid
        host.tasks.confine(thread, host.cpus)
        sched_setattr.start(thread, *sched_setattr.SMALLEST)
        time.sleep(0.25)
        sched_setattr.start(thread, ppm // 10, 100_000)
        host.tasks.confine(thread, (host.cpu,))
        expect(not host.enforcer.holds(guest.pid, held), 'it runs')
        try:
            host.enforcer.apply(guest.pid, held)
        except exception.KernelError as error:
            expect('no CPU time' in str(error), str(error))
        else:
            raise Wrong('a vCPU that never runs is said to be cured')
        host.enforcer.apply(other.pid, held)
        host.check('beside one that is given up', other, ppm / 1_000_000)


def short(host: Host) -> None:
    """The audit names who gets less than its share, and nobody else.

    Without the admission of the kernel a pCPU can be sold twice.  Only a
    server for ordinary tasks (since 6.12) leaves such a CPU time for us.
    """
    if not _SERVER.exists():
        return
    with host.noise(), _unlimited(), host.guest() as first, \
            host.guest() as second:
        for runtime, wanted in ((8_000, False), (13_000, True)):
            for guest in (first, second):
                host.enforcer.apply(guest.pid, claim(runtime, 20_000,
                                                     host.cpu))
            host.enforcer.note([first.pid, second.pid])
            time.sleep(_SHORT_SECONDS)
            host.enforcer.note([first.pid, second.pid])
            said = host.enforcer.warnings()
            expect(any('less CPU time' in text for text in said) == wanted,
                   f'{runtime} of 20000 us each: {said}')


@contextlib.contextmanager
def _unlimited() -> Iterator[None]:
    before = _RUNTIME.read_text()
    _RUNTIME.write_text('-1')
    try:
        yield
    finally:
        time.sleep(_SETTLE_SECONDS)  # The kernel still counts guests.
        _RUNTIME.write_text(before)


def spare(host: Host) -> None:
    """The emulator is kept off the pCPUs of reservations."""
    files = fs.RealFS()
    enforcer = deadline.DeadlineEnforcer(
        files, host.tasks, False, lambda: host.cpus,
        pins.Pins(host.tasks, lambda: host.cpus[:1]))
    with host.guest() as guest:
        enforcer.apply(guest.pid, claim(10_000, 100_000, host.cpu))
        expect(os.sched_getaffinity(guest.pid) == {host.cpus[0]},
               f'it runs on {os.sched_getaffinity(guest.pid)}')


def fifo_from_inside(host: Host) -> None:
    """A program with QEMU's rights cannot become SCHED_FIFO."""
    with host.guest() as guest:
        host.enforcer.apply(guest.pid, claim(30_000, 100_000, host.cpu))
        child = os.fork()
        if not child:
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            with contextlib.suppress(PermissionError):
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
                os._exit(1)
            os._exit(0)
        expect(not os.waitpid(child, 0)[1], 'it became SCHED_FIFO')


CASES: dict[str, Callable[[Host], None]] = {
    case.__name__: case for case in (
        probe, share, two_on_one, resize, refusal, asleep, repair, again,
        given_up, short, spare, fifo_from_inside)}


def main() -> int:
    parser = argparse.ArgumentParser(prog='python -m tests.full.kernel.pinned')
    parser.add_argument('--tolerance', type=float, default=0.005,
                        help='of a share (default: %(default)s of a CPU)')
    parser.add_argument('cases', nargs='*', choices=[[], *CASES],
                        default=[])
    args = parser.parse_args()
    host = Host(args.tolerance)
    failed = {}
    for name in args.cases or CASES:
        try:
            CASES[name](host)
        except Exception as error:
            traceback.print_exc()
            failed[name] = f'{type(error).__name__}: {error}'
    host.machines.close()
    json.dump({'release': platform.release(), 'cpus': len(host.cpus),
               'shares': host.found, 'failed': failed}, sys.stdout, indent=1)
    print()
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
