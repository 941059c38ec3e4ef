# SPDX-License-Identifier: Apache-2.0

"""Applies claims to running guests, and takes reservations back.

Other modules decide which claim a guest gets.  There are two ways to enforce
a claim: budgets of control groups, in this module, and SCHED_DEADLINE on the
vCPU threads, in ``nova_rt.services.virt.libvirt.deadline``.
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
from nova_rt.services.virt.libvirt import lowering


#: How often to try to keep the tasks of a guest ordinary.
_TRIES = 5
#: The bandwidth that a parent of groups with budgets holds at least, in ppm.
_LEAST_PPM = 3


class Enforcer(abc.ABC):
    """Applies claims to the guests of one libvirt connection.

    A guest is named by the pid of its keeper: for LXC the id of the domain,
    for QEMU the pid of the process.  All methods raise KernelError.
    """

    #: its name for the operator
    name: str
    #: True if a share is granted and charged on every pCPU
    replicated: bool
    #: True if guests must stay on the pCPUs of their claims
    pins: bool
    #: True if :meth:`apply` can change the runtime of a running guest without
    #: harm to others, and servers on a pCPU run by EDF, so that the host takes
    #: soft reservations
    takes_soft = False
    #: the traits of a host in Placement besides hostmap.TRAIT
    traits: frozenset[str] = frozenset()
    #: True if a budget may be released before its guest is ended
    releases_early: bool
    #: True if the pCPUs of a running guest cannot change while the guest
    #: keeps its reservation
    holds_cpus: bool

    @abc.abstractmethod
    def capacity(self) -> base.Capacity:
        """Returns how much may be reserved on this host."""

    @abc.abstractmethod
    def guard(self) -> None:
        """Removes room that a guest could take; called before a start."""

    @abc.abstractmethod
    def apply(self, pid: int, claim: claims.RTClaim) -> None:
        """Gives a guest the reservation of its claim.

        If this fails, the caller must end the guest.
        """

    @abc.abstractmethod
    def release(self, pid: int) -> None:
        """Takes the reservation of a running guest back."""

    def withhold(self, pid: int) -> None:  # noqa: B027
        """Keeps a guest without a claim from running tasks in real time.

        Does nothing if the kernel itself refuses real-time policies to guests
        without a budget.
        """

    def give_way(self, pids: Collection[int]) -> None:  # noqa: B027
        """Releases guests that keep the kernel from taking budgets.

        While a guest that lost its groups has real-time tasks, the kernel may
        refuse the budgets of all guests.
        """

    @abc.abstractmethod
    def settle(self) -> None:
        """Removes the room that guests leave behind when they have ended."""

    def release_orphans(self, running: Collection[int]) -> list[str]:
        """Releases the budgets of groups without tasks.

        :param running: the pids of the keepers of the guests that run
            according to libvirt; their groups are never orphans.  0 stands for
            a guest whose pid is not known
        :returns: the groups that were released
        """
        return []

    def note(self, pids: Iterable[int]) -> None:  # noqa: B027
        """Remembers how long the vCPUs of guests have run.

        :meth:`holds` then answers without waiting.
        """

    def warnings(self) -> list[str]:
        """Returns sentences about settings that harm reservations."""
        return []

    @abc.abstractmethod
    def holds(self, pid: int, claim: claims.RTClaim) -> bool:
        """Checks whether the kernel grants a guest its claim and runs it."""

    @abc.abstractmethod
    def shares(self, pid: int) -> Iterator[cpus.Claim]:
        """Yields what the kernel grants a guest, and on which pCPUs.

        The list of pCPUs is empty if the scheduler may move the guest.
        """

    @abc.abstractmethod
    def bandwidth(self, pid: int) -> int:
        """Returns what the kernel grants a guest on one pCPU, in ppm."""


class GroupEnforcer(Enforcer):
    """Enforces claims by a kernel interface for control groups.

    :param policy: the policy of the tasks of guests: rr, fifo or none
    :param priority: returns the priority of a guest by its reservation
    """

    pins = True

    def __init__(self, interface: base.KernelInterface,
                 tasks: kernel_tasks.Tasks, policy: str,
                 priority: Callable[[reservation.Reservation], int]) -> None:
        self.name = interface.name
        self.replicated = interface.replicated
        self.releases_early = not interface.drains
        self.holds_cpus = (not interface.replicated or interface.binds_cpus)
        self._interface = interface
        self._controller = interface.controller
        self._tasks = tasks
        self._policy = policy
        self._priority = priority

    @property
    def partition(self) -> str:
        """The group that has all guests below it."""
        return self._tasks.partition(self._controller)

    def capacity(self) -> base.Capacity:
        return self._interface.capacity(self.partition)

    def guard(self) -> None:
        if self._interface.inherits:
            self._interface.settle(self.partition)

    def apply(self, pid: int, claim: claims.RTClaim) -> None:
        """Pins the guest, writes its budgets and makes its tasks real-time.

        The budgets are read back before the tasks become real-time.
        """
        guest = self._layout(pid)
        with self._explained(guest):
            budgets = guest.budgets(self._interface, claim)
            self._make_way(pid, guest, claim, budgets)
            self._lower(guest, claim, budgets)
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
            for group in guest.reserved(claim):
                self._tasks.make_real_time(
                    group, self._controller, guest.keeper, self._policy,
                    self._priority(claim.in_kernel))

    def _make_way(self, pid: int, guest: layout.Layout,
                  claim: claims.RTClaim, budgets: dict[str, base.Budget]
                  ) -> None:
        """Releases budgets that the kernel cannot change in place."""
        budgets_now = {group: self._interface.read(group) for group in budgets}
        if self._interface.inherits and not any(budgets_now.values()):
            # The kernel refuses a change of a group with real-time tasks.
            self._make_ordinary(guest)
        moves = not self.replicated and any(
            now and set(now.runtime_us) != set(budgets[group].runtime_us)
            for group, now in budgets_now.items())
        pinned = guest.vcpus or self._tasks.is_confined(pid, claim.cpus)
        if moves or (self._interface.binds_cpus and not pinned):
            self._release(guest)

    def _lower(self, guest: layout.Layout, claim: claims.RTClaim,
               budgets: dict[str, base.Budget]) -> None:
        """Writes a smaller runtime at a moment at which the guest lacks none.

        The guest moves to other pCPUs afterwards only: nova-compute may get
        no CPU time there while the guest uses its runtime up.
        """
        runtime = claim.in_kernel.runtime_us
        now = [budget for group in budgets
               if (budget := self._interface.read(group))]
        if self._interface.fixed_priorities and any(
                max(budget.runtime_us.values()) > runtime for budget in now):
            lowering.wait(lambda: self._by_cpu(guest, claim), runtime,
                          now[0].period_us)
            self._interface.reserve(budgets)

    def _by_cpu(self, guest: layout.Layout, claim: claims.RTClaim
                ) -> lowering.Threads:
        """Returns the threads on each pCPU, or all threads of a container."""
        threads = [
            each for group in guest.reserved(claim) for each
            in self._tasks.threads(group, self._controller, guest.keeper)]
        if guest.vcpus:
            return {each: (each,) for each in threads}
        return {0: threads}

    def release(self, pid: int) -> None:
        self._release(self._layout(pid))
        self.withhold(pid)

    def withhold(self, pid: int) -> None:
        """Keeps a container without a claim from running tasks in real time.

        If groups inherit budgets, these tasks could run in the room that the
        group of all guests has on a pCPU.  If this group has no room, the
        kernel accepts a real-time task all the same, but never runs it, and
        the task cannot be killed.  A virtual machine cannot change the
        policies of its threads.
        """
        if not self._interface.inherits:
            return
        guest = self._layout(pid)
        with self._explained(guest):
            if guest.vcpus or self._interface.group_state(
                    guest.domain).period_us:
                return
        for tries_left in reversed(range(_TRIES)):
            # The guest may make a task real-time again in between.
            self._make_ordinary(guest)
            try:
                return self._interface.forbid([guest.domain])
            except exception.KernelError:
                if not tries_left:
                    raise

    def give_way(self, pids: Collection[int]) -> None:
        if not self._interface.inherits:
            return
        blocked, groups = self._refuses_numbers(), list[str]()
        for pid in pids:
            # The guest may end meanwhile.
            with contextlib.suppress(OSError, LookupError,
                                     exception.RTError):
                groups += self._give_way(self._layout(pid), blocked)
        if groups:
            with contextlib.suppress(exception.RTError):
                # The kernel would refuse to take one guest after the other.
                self._interface.release(groups)

    def _give_way(self, guest: layout.Layout, blocked: bool
                  ) -> tuple[str, ...]:
        """Makes a guest ordinary; returns its groups that must be released."""
        leaves = guest.leaves(self._interface)
        has_numbers = any(self._interface.group_state(group).period_us
                          for group in leaves)
        if not has_numbers or (blocked and guest.vcpus):
            self._make_ordinary(guest)
        return leaves if has_numbers and blocked and guest.vcpus else ()

    def _refuses_numbers(self) -> bool:
        """Gives the group of all guests numbers if somebody took its numbers.

        The budgets of virtual machines may prevent this: the groups in between
        need numbers, too, and count on all their CPUs.

        :returns: whether the kernel refused the numbers; False if the group
            cannot be read, so that no guest loses its budget for that
        """
        try:
            if self._interface.group_state(self.partition).period_us:
                return False
        except (OSError, exception.RTError):
            return False
        try:
            self._interface.settle(self.partition)
        except exception.KernelError:
            return True
        return False

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
            # A guest has no known pid or has just ended, so that no group
            # is an orphan for certain.
            return []
        idle = self._tasks.idle_groups(self.partition, self._controller)
        orphans = [group for group in idle if self._interface.read(group)
                   and not any(cgroup.is_below(group, domain)
                               for domain in domains)]
        if orphans:
            self._interface.release(orphans)
        return orphans

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
        if self.bandwidth(pid) > max(claim.in_kernel.bandwidth, _LEAST_PPM):
            # nova-compute was killed before it lowered the budget of the
            # domain's group.
            return False
        return all(self._has(group, budget)
                   for group, budget in budgets.items())

    def _runs_in_real_time(self, guest: layout.Layout,
                           claim: claims.RTClaim) -> bool:
        """Checks the policy, which a killed nova-compute may not have set.

        A container may make its own tasks ordinary or lower their priority,
        so only its init must have the policy, and no task may have a higher
        priority.  A virtual machine cannot change the policy of its vCPU
        threads.
        """
        if self._policy == 'none':
            return True
        priority = self._priority(claim.in_kernel)
        return all(
            self._tasks.runs_at(thread, self._policy, priority)
            if guest.vcpus or self._tasks.is_init(thread, guest.keeper)
            else not self._tasks.outranks(
                thread, self._policy, priority)
            for group in guest.reserved(claim)
            for thread in (
                self._tasks.vcpu_threads(group, self._controller)
                if guest.vcpus else self._tasks.threads(
                    group, self._controller, guest.keeper)))

    def shares(self, pid: int) -> Iterator[cpus.Claim]:
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
        # nova-compute may have been killed when only the group of the domain
        # had a budget.
        budgets = map(self._interface.read,
                      {guest.domain, *guest.leaves(self._interface)})
        return max((_bandwidth(budget) for budget in budgets if budget),
                   default=0)

    def _check(self, group: str, budget: base.Budget) -> None:
        if not self._has(group, budget):
            raise exception.KernelError(
                interface=self.name, group=group,
                reason=f'the group reads back {self._interface.read(group)} '
                       f'instead of {budget}')

    def _has(self, group: str, wanted: base.Budget) -> bool:
        budget = self._interface.read(group)
        return budget is not None and budget.gives(wanted, self.replicated)

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
                reason=f'cannot put its tasks on the claimed pCPUs: {error}'
            ) from error


def _bandwidth(budget: base.Budget) -> int:
    return reservation.Reservation(max(budget.runtime_us.values()),
                                   budget.period_us).bandwidth
