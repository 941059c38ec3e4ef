# SPDX-License-Identifier: Apache-2.0

"""Applies claims to running guests, and takes them back.

What a guest is entitled to is decided elsewhere.  Two ways are known: a
budget of control groups, here, and SCHED_DEADLINE on the vCPU threads, in
``nova_rt.services.virt.libvirt.deadline``.
"""

import abc
from collections.abc import Callable, Collection, Iterable, Iterator
import contextlib

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import layout


#: What a group above others holds at least, whatever they do.
_LEAST_PPM = 3


class Enforcer(abc.ABC):
    """The reservations of the guests of one libvirt connection.

    A guest is named by the pid of the process that keeps it: for LXC the
    domain's id, for QEMU its own.  All methods raise KernelError.
    """

    #: what the operator calls it
    name: str
    #: a share is granted, and charged, on every pCPU
    replicated: bool
    #: guests must be kept on the pCPUs of their claim
    pins: bool
    #: what a host has in Placement besides hostmap.TRAIT
    traits: frozenset[str] = frozenset()
    #: a budget may be taken before its guest is ended
    releases_early: bool

    @abc.abstractmethod
    def capacity(self) -> base.Capacity:
        """What may be reserved on this host."""

    @abc.abstractmethod
    def guard(self) -> None:
        """Sees to it, before a guest starts, that it finds no room to take."""

    @abc.abstractmethod
    def apply(self, pid: int, claim: claims.RTClaim) -> None:
        """Give a guest what it claims; if that fails it must not run on."""

    @abc.abstractmethod
    def release(self, pid: int) -> None:
        """Take the reservation of a running guest back."""

    @abc.abstractmethod
    def settle(self) -> None:
        """Takes the room that guests leave behind when they have ended."""

    def release_orphans(self, running: Collection[int]) -> list[str]:
        """Take what nothing runs in; the groups that held it.

        :param running: the processes that keep the guests of which libvirt
            says that they run, 0 for one that is not known: nothing of
            theirs is an orphan
        """
        return []

    def note(self, pids: Iterable[int]) -> None:  # noqa: B027
        """Remember how far guests are, before many are asked for.

        Whether one holds its claim is told at once then.
        """

    def warnings(self) -> list[str]:
        """What on this host harms reservations, in sentences."""
        return []

    @abc.abstractmethod
    def holds(self, pid: int, claim: claims.RTClaim) -> bool:
        """Whether the kernel has what the claim says, and the guest runs."""

    @abc.abstractmethod
    def held(self, pid: int) -> Iterator[cpus.Claim]:
        """Yields what the kernel grants a guest, and on which pCPUs.

        Without pCPUs: wherever the scheduler puts it.
        """

    @abc.abstractmethod
    def bandwidth(self, pid: int) -> int:
        """What the kernel grants a guest on one pCPU, in ppm; 0 for none."""


class GroupEnforcer(Enforcer):
    """Enforces claims by a kernel interface of control groups.

    :param policy: of the tasks of guests: rr, fifo or none
    :param priority: that goes with it, by reservation
    """

    pins = True

    def __init__(self, interface: base.KernelInterface,
                 tasks: kernel_tasks.Tasks, policy: str,
                 priority: Callable[[reservation.Reservation], int]) -> None:
        self.name = interface.name
        self.replicated = interface.replicated
        self.releases_early = not interface.drains
        self._interface = interface
        self._controller = interface.controller
        self._tasks = tasks
        self._policy = policy
        self._priority = priority

    @property
    def partition(self) -> str:
        """The top group of all guests."""
        return self._tasks.partition(self._controller)

    def capacity(self) -> base.Capacity:
        return self._interface.capacity(self.partition)

    def guard(self) -> None:
        if self._interface.inherits:
            self._interface.settle(self.partition)

    def apply(self, pid: int, claim: claims.RTClaim) -> None:
        """Pin, reserve, read back, then make the tasks real-time."""
        guest = self._layout(pid)
        with self._explained(guest):
            budgets = guest.budgets(self._interface, claim)
            self._make_way(pid, guest, claim, budgets)
            before = () if guest.vcpus else self._tasks.confine(
                pid, claim.cpus)
            if guest.gathers(self._interface):
                self._tasks.gather(guest.vcpus, self._controller, claim.cpus)
        try:
            self._interface.reserve(budgets)
        except exception.KernelError:
            if before:
                with self._explained(guest):
                    self._tasks.confine(pid, before)
            raise
        for group, budget in budgets.items():
            self._check(group, budget)
        if self._policy != 'none':
            for group in guest.real_time:
                self._tasks.make_real_time(
                    group, self._controller, guest.keeper, self._policy,
                    self._priority(claim.reservation))

    def _make_way(self, pid: int, guest: layout.Layout,
                  claim: claims.RTClaim, budgets: dict[str, base.Budget]
                  ) -> None:
        """Let go what the kernel cannot change while it is in use."""
        held = {group: self._interface.read(group) for group in budgets}
        if self._interface.inherits and not any(held.values()):
            # A real-time task holds its group where it is.
            self._make_ordinary(guest)
        moves = not self.replicated and any(
            now and set(now.runtime_us) != set(budgets[group].runtime_us)
            for group, now in held.items())
        pinned = guest.vcpus or self._tasks.is_confined(pid, claim.cpus)
        if moves or (self._interface.binds_cpus and not pinned):
            self._release(guest)

    def release(self, pid: int) -> None:
        self._release(self._layout(pid))

    def _release(self, guest: layout.Layout) -> None:
        self._make_ordinary(guest)
        self._interface.release(guest.leaves(self._interface))

    def _make_ordinary(self, guest: layout.Layout) -> None:
        self._tasks.make_ordinary(guest.domain, self._controller,
                                  guest.keeper)

    def settle(self) -> None:
        self._interface.settle(self.partition)

    def release_orphans(self, running: Collection[int]) -> list[str]:
        try:
            domains = [layout.find(self._tasks, self._controller, pid).domain
                       for pid in running]
        except LookupError:
            return []  # of one that has just ended, for all that is known
        idle = self._tasks.idle_groups(self.partition, self._controller)
        found = [group for group in idle if self._interface.read(group)
                 and not any(cgroup.is_below(group, domain)
                             for domain in domains)]
        if found:
            self._interface.release(found)
        return found

    def holds(self, pid: int, claim: claims.RTClaim) -> bool:
        guest = self._layout(pid)
        with self._explained(guest):
            budgets = guest.budgets(self._interface, claim)
            if guest.gathers(self._interface) and any(
                    self._tasks.threads(group, self._controller)
                    for group in guest.vcpus[1:]):
                return False
            if not guest.vcpus and not self._tasks.is_confined(
                    pid, claim.cpus):
                return False
            if not self._runs_in_real_time(guest, claim):
                return False
        if self.bandwidth(pid) > max(claim.reservation.bandwidth, _LEAST_PPM):
            return False  # killed before the domain's budget was lowered
        return all(self._has(group, budget)
                   for group, budget in budgets.items())

    def _runs_in_real_time(self, guest: layout.Layout,
                           claim: claims.RTClaim) -> bool:
        """Whether the policy was given: nova-compute may have been killed.

        A container may take it from tasks of its own, or lower them, so its
        init is what tells, but none may have more than its priority; a
        virtual machine knows nothing of it.
        """
        if self._policy == 'none':
            return True
        priority = self._priority(claim.reservation)
        return all(
            self._tasks.runs_at(thread, self._policy, priority)
            if guest.vcpus or self._tasks.is_init(thread, guest.keeper)
            else not self._tasks.outranks(
                thread, self._policy, priority)
            for group in guest.real_time
            for thread in (
                self._tasks.vcpu_threads(group, self._controller)
                if guest.vcpus else self._tasks.threads(
                    group, self._controller, guest.keeper)))

    def held(self, pid: int) -> Iterator[cpus.Claim]:
        for group in self._layout(pid).leaves(self._interface):
            budget = self._interface.read(group)
            if budget is None:
                continue
            for runtime in {*budget.runtime_us.values()} - {0}:
                yield (tuple(cpu for cpu, own in budget.runtime_us.items()
                             if own == runtime),
                       reservation.Reservation(runtime, budget.period_us))

    def bandwidth(self, pid: int) -> int:
        guest = self._layout(pid)
        # The domain's too: nova-compute may have been killed in between.
        found = map(self._interface.read,
                    {guest.domain, *guest.leaves(self._interface)})
        return max((_bandwidth(budget) for budget in found if budget),
                   default=0)

    def _check(self, group: str, budget: base.Budget) -> None:
        if not self._has(group, budget):
            raise exception.KernelError(
                interface=self.name, group=group,
                reason=f'it reads back {self._interface.read(group)} instead '
                       f'of {budget}')

    def _has(self, group: str, wanted: base.Budget) -> bool:
        found = self._interface.read(group)
        return found is not None and found.gives(wanted, self.replicated)

    def _layout(self, pid: int) -> layout.Layout:
        try:
            return layout.find(self._tasks, self._controller, pid)
        except LookupError as error:
            raise exception.KernelError(
                interface=self.name, group=f'of process {pid}',
                reason=str(error)) from error

    @contextlib.contextmanager
    def _explained(self, guest: layout.Layout) -> Iterator[None]:
        try:
            yield
        except (OSError, LookupError) as error:
            raise exception.KernelError(
                interface=self.name, group=guest.domain,
                reason=f'cannot put its tasks where the claim says: {error}'
            ) from error


def _bandwidth(budget: base.Budget) -> int:
    return reservation.Reservation(max(budget.runtime_us.values()),
                                   budget.period_us).bandwidth
