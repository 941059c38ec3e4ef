# SPDX-License-Identifier: Apache-2.0

"""A host whose every kernel write is watched, failed, or the last one.

The interface under test is driven as ``GroupEnforcer`` does it, with guests
that are no more than groups and a real-time task in each.  Beside it stands
the model: the claims, and what the kernel must hold for them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
import contextlib
import dataclasses
import errno
import itertools
import os
import random

from nova_rt.machine.kernel import base as kernel_base
from nova_rt.rules import cpulist
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import layout
from tests.emulation import clock
from tests.emulation import kernel as emulation
from tests.unit.machine.kernel import base

CPUS = 3
TOP = '/machine'
CAP = base.CAP

CONTAINER = layout.Layout('/machine/lxc-1-a.libvirt-lxc', (), 0)
NESTED = layout.Layout('/machine/lxc-2.scope/libvirt', (), 0)


def machine(vcpus: int) -> layout.Layout:
    """A virtual machine."""
    domain = f'/machine/qemu-{vcpus}-c.libvirt-qemu'
    return layout.Layout(domain, tuple(
        f'{domain}/vcpu{number}' for number in range(vcpus)), 0)


GUESTS = (CONTAINER, NESTED, machine(2))


class Killed(BaseException):
    """The process under test was killed: nothing of it runs any more."""


class Broken(BaseException):
    """An invariant does not hold.  Production code must not catch it."""


@dataclasses.dataclass
class Fault:
    """A fault at the *nth* write, counted from 0.

    :ivar number: errno of the write; 0: the process is killed before it,
        which is the same as right after the one before
    :ivar once: else the same write is refused whenever it is tried
    """

    nth: int
    number: int = 0
    once: bool = True
    hit: bool = False
    _seen: int = 0
    _write: tuple[str, str] | None = None

    def strike(self, path: str, text: str) -> bool:
        """Returns whether this write is to fail."""
        if self.hit and (not self.number or (
                not self.once and self._write == (path, text))):
            return True
        self._seen += 1
        if self.hit or self._seen <= self.nth:
            return False
        self.hit, self._write = True, (path, text)
        return True


class Host:
    """One kernel, the interface under test, and the model.

    :ivar claims: the claims of the guests that have one, by layout
    :ivar held_late: whether groups with budgets were removed since the last
        change
    """

    def __init__(self, kind: str, count: int = CPUS) -> None:
        self.kind = kind
        self.kernel = base.KERNELS[kind](count)
        self.claims: dict[layout.Layout, claims.RTClaim] = {}
        self.present: list[layout.Layout] = []
        self.held_late = False
        self.tries = 0
        self.fault: Fault | None = None
        self.log: list[str] = []
        self._armed = False
        self._removed_at = -1.0
        self._removed_at = -1.0
        self._threads = itertools.count(1)
        self._tasks: dict[layout.Layout, list[int]] = {}
        with self.time():
            self.restart()
        self.kernel.intercept = self._before_write

    def time(self) -> contextlib.AbstractContextManager[object]:
        """The production code sleeps by the clock of the kernel."""
        return clock.waiting(self.kernel.clock)

    def restart(self) -> None:
        """A new process."""
        self.fault = None
        self.interface = base.interface_on(self.kernel, self.kind)

    @property
    def late(self) -> bool:
        """Checks whether the kernel may still count a removed group."""
        return (self.kernel.clock.now
                <= self._removed_at + self.kernel.late_seconds)

    # What is watched.

    def _before_write(self, path: str, text: str) -> None:
        over = self.kernel.over_cap(CAP)
        if over:
            raise Broken(f'before {path}={text}: {over}')
        self.tries += 1
        self.log.append(f'  {path} = {text}')
        if (self._armed and self.fault is not None
                and self.fault.strike(path, text)):
            if not self.fault.number:
                raise Killed
            number = self.fault.number
            if number == errno.ENODEV and not self._remove_by_path(path):
                number = errno.EIO  # parents stay
            raise base.refuse(number)

    def check(self) -> None:
        """Checks the invariants between operations."""
        wrong = self.kernel.over_cap(CAP)
        wanted = {group: values for guest, claim in self.claims.items()
                  for group, values in grants(
                      self.interface, self.kernel.cpus, guest, claim).items()}
        found_all = granted(self.kernel)
        found = {group: found_all[group] for guest in self.present
                 for group in self.leaves(guest) if group in found_all}
        if wanted != found:
            wrong.append(f'the kernel grants {found}, claimed is {wanted}')
        if not self.held_late:
            wrong += base.not_tight(self.kernel, TOP)
        if wrong:
            raise Broken('\n'.join(wrong))

    def leaves(self, guest: layout.Layout) -> tuple[str, ...]:
        """The groups that hold budgets, or could by mistake."""
        return guest.vcpus if guest.vcpus and (
            guest.domain not in guest.leaves(self.interface)) else (
            guest.domain, *guest.vcpus)

    def fits(self, held: Mapping[layout.Layout, claims.RTClaim]) -> bool:
        """Returns whether the kernel must take all these together."""
        if self.interface.replicated:
            return sum(claim.reservation.bandwidth
                       for claim in held.values()) <= CAP
        return all(sum(claim.reservation.bandwidth
                       for claim in held.values() if cpu in claim.cpus)
                   <= CAP for cpu in range(self.kernel.cpus))

    # Operations; each as the enforcer or libvirt does it.

    def apply(self, guest: layout.Layout, claim: claims.RTClaim) -> None:
        """:raises KernelError: refused; nothing was changed"""
        self.log.append(f'apply {guest.domain} {claim.identifier[37:]}')
        if self.interface.inherits:
            self.interface.settle(TOP)  # guard()
        self._start(guest)
        budgets = guest.budgets(self.interface, claim)
        if not any(map(self.interface.read, budgets)):
            self._demote(guest)
        if self._moves(budgets):
            self.release(guest)
        self._check_runs(guest)
        if self.interface.binds_cpus:
            for group, budget in budgets.items():
                self._pin(group, budget)
        self._all_or_nothing(lambda: self.interface.reserve(budgets))
        self._check_runs(guest)
        self._promote(guest)
        self.claims[guest] = claim
        self._see_whether_tight()

    def release(self, guest: layout.Layout) -> None:
        """:raises KernelError: refused; nothing was changed"""
        self.log.append(f'release {guest.domain}')
        self._demote(guest)
        self._all_or_nothing(lambda: self.interface.release(
            guest.leaves(self.interface)))
        self.claims.pop(guest, None)
        self._see_whether_tight()

    def settle(self) -> None:
        self.log.append('settle')
        self._all_or_nothing(lambda: self.interface.settle(TOP))
        self.held_late = False

    def remove(self, guest: layout.Layout) -> None:
        """libvirt ends a guest, with its budget."""
        self.log.append(f'remove {guest.domain}')
        for thread in self._tasks.pop(guest):
            self.kernel.exit(thread)
        holds = any(group in self.kernel.granted()
                    for group in _groups(guest))
        for group in reversed(_groups(guest)):
            if group in self.kernel.budgets():
                base.rmdir(self.kernel, group)
        self.present.remove(guest)
        self.claims.pop(guest, None)
        if holds:
            self.held_late = True
            self._removed_at = self.kernel.clock.now

    def reconcile(self, wanted: Mapping[layout.Layout, claims.RTClaim]
                  ) -> None:
        """Reconciles as a new process: lowers, raises, then settles."""
        self.restart()
        for guest in list(self.present):
            if guest not in wanted:
                self.release(guest)
        for guest in sorted(wanted, key=lambda each: self._raise_by(
                each, wanted[each])):
            self.apply(guest, wanted[guest])
        self.settle()

    def _raise_by(self, guest: layout.Layout, claim: claims.RTClaim) -> int:
        found = [held for held in map(
            self.interface.read, guest.leaves(self.interface)) if held]
        return claim.reservation.bandwidth - max((reservation.Reservation(
            max(held.runtime_us.values()), held.period_us).bandwidth
            for held in found), default=0)

    # Parts of operations.

    def _check_runs(self, guest: layout.Layout) -> None:
        if guest not in self.present:
            raise exception.KernelError(interface='', group=guest.domain,
                                        reason='it has ended meanwhile')

    def _see_whether_tight(self) -> None:
        """Next to a removed group the next settle may be needed."""
        self.held_late = self.held_late and bool(
            base.not_tight(self.kernel, TOP))

    def _all_or_nothing(self, action: Callable[[], object]) -> None:
        before = base.budgets(self.kernel)
        self._armed = True
        try:
            action()
        except exception.KernelError:
            after = base.budgets(self.kernel)
            # libvirt may have removed a group meanwhile: the kernel counts
            # it a while, so its parents are as they were only later.
            if before.keys() == after.keys() and before != after:
                raise Broken(f'it failed, but {after} was {before}') from None
            raise
        finally:
            self._armed = False

    def _moves(self, budgets: Mapping[str, kernel_base.Budget]) -> bool:
        held = {group: self.interface.read(group) for group in budgets}
        return not self.interface.replicated and any(
            now is not None and set(now.runtime_us) != set(
                budgets[group].runtime_us) for group, now in held.items())

    def _pin(self, group: str, budget: kernel_base.Budget) -> None:
        path = base.cpus_of(self.kernel, group)
        text = cpulist.format_ids(sorted(budget.runtime_us))
        if self.kernel.read(path) != text:
            self.kernel.write(path, text)

    def _start(self, guest: layout.Layout) -> None:
        if guest in self.present:
            return
        hook, self.kernel.intercept = self.kernel.intercept, None
        written = list(self.kernel.written)
        base.mkdirs(self.kernel, *_groups(guest))
        self.kernel.written[:] = written
        self.kernel.intercept = hook
        self.present.append(guest)
        first = guest.gathers(self.interface)
        self._tasks[guest] = []
        groups = guest.vcpus or (guest.domain,)
        for group in groups[:1] if first else groups:
            self._tasks[guest].append(next(self._threads))
            self.kernel.spawn(self._tasks[guest][-1], group, group)

    def _promote(self, guest: layout.Layout) -> None:
        for thread in self._tasks[guest]:
            self.kernel.set_policy(thread, os.SCHED_RR, 1)

    def _demote(self, guest: layout.Layout) -> None:
        for thread in self._tasks[guest]:
            if self.kernel.tasks[thread].policy != os.SCHED_OTHER:
                self.kernel.set_policy(thread, os.SCHED_OTHER)

    def _remove_by_path(self, path: str) -> bool:
        """A guest goes while we write to its group."""
        group = os.path.dirname(path).removeprefix(base.mount(self.kernel))
        for guest in self.present:
            if group in (guest.domain, *guest.vcpus):
                self.remove(guest)
                self.held_late = True  # parents may have grown for it
                self._removed_at = self.kernel.clock.now
                return True
        return False


def granted(kernel: emulation.Kernel
            ) -> dict[str, dict[int, tuple[int, int]]]:
    """Returns what the groups really have, in (runtime, period) by CPU."""
    found = {group: {cpu: pair for cpu, pair in held.items()
                     if not base.is_token(kernel, pair[0])}
             for group, held in kernel.granted().items()}
    return {group: held for group, held in found.items() if held}


def grants(interface: kernel_base.KernelInterface, cpus: int,
           guest: layout.Layout, claim: claims.RTClaim
           ) -> dict[str, dict[int, tuple[int, int]]]:
    """Returns what the kernel is to grant for a claim."""
    return {group: dict.fromkeys(
        range(cpus) if interface.replicated else sorted(budget.runtime_us),
        (max(budget.runtime_us.values()), budget.period_us))
        for group, budget in guest.budgets(interface, claim).items()}


def _groups(guest: layout.Layout) -> list[str]:
    """Yields the groups from the top down."""
    scope = os.path.dirname(guest.domain)
    return [*([scope] if scope != TOP else []), guest.domain, *guest.vcpus]


PERIODS = (100, 1_000, 10_000, 33_333, 100_000, 999_983, 1_000_000,
           1_000_001, 4_194_304)
#: per cent; what the others leave, sometimes to the last ppm
SHARES = (0, 1, 5, 10, 20, 30, 45, 60, 95)


def random_claim(chosen: random.Random, guest: layout.Layout, among: int,
                 least_us: int = 3) -> claims.RTClaim:
    """:param least_us: the shortest runtime that the kernel may be given"""
    period = max(least_us, chosen.choice(PERIODS))
    runtime = max(3, least_us, period * chosen.choice(SHARES) // 100)
    count = len(guest.vcpus) or chosen.choice((1, 1, 2))
    return claim(runtime, period, chosen.sample(range(among), count))


def claim(runtime: int, period: int, chosen: Iterable[int]
          ) -> claims.RTClaim:
    return claims.RTClaim('0' * 36, 0, reservation.Reservation(
        runtime, period), tuple(chosen))


@contextlib.contextmanager
def explained(host: Host, note: str) -> Iterator[None]:
    """Returns the steps before a failure, for the report."""
    try:
        yield
    except (Broken, emulation.HostDied, Exception) as error:
        raise AssertionError('\n'.join(
            [note, *host.log[-80:], f'{type(error).__name__}: {error}']
        )) from error
