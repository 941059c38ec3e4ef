# SPDX-License-Identifier: Apache-2.0

"""Enforces claims of virtual machines by SCHED_DEADLINE on vCPU threads.

The module is for kernels that have no budgets for groups.  If the kernel lets
the cpuset of a SCHED_DEADLINE thread shrink, each vCPU runs on the pCPU of its
claim, by EDF among the vCPUs on that pCPU.  Otherwise global EDF runs the
threads on any CPU of the root domain.  The pCPUs of a claim then only count
how much is reserved, so that the sum never exceeds what the kernel admits.
They do not say where a vCPU runs.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
import contextlib
import itertools
import os
import time

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import interrupts
from nova_rt.machine.host import sched
from nova_rt.machine.host import ticks
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import pins as kernel_pins
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.machine import privsep
from nova_rt.rules import cpulist
from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.rules import words
from nova_rt.services.compute import claims
from nova_rt.services.virt.libvirt import enforcer
from nova_rt.services.virt.libvirt import layout
from nova_rt.services.virt.libvirt import vcpus

#: After a guest has ended or was released, the kernel frees its bandwidth at
#: the end of its period, or later if the guest overran its runtime.
_RETURN_SECONDS = 3.0
_RETURN_PERIODS = 2
_POLL_SECONDS = 0.02
#: The kernel recounts its bandwidth only after every tenth attempt, because
#: the kernel locks all cpusets while it recounts.
_RECOUNT_EVERY = 10


class DeadlineEnforcer(enforcer.Enforcer):
    """Enforces claims by SCHED_DEADLINE; see Enforcer.

    :param containers: whether the guests are containers; the tasks of a
        container come and go, so that they cannot be SCHED_DEADLINE
    :param shared: returns the CPUs that guests may run on
    :param pins: None if :func:`can_pin` returns False
    :raises KernelError: when the controller cpu is mounted nowhere
    """

    name = deadline.NAME
    replicated = False
    releases_early = True
    holds_cpus = False

    def __init__(self, fs: cgroup.CgroupFS, tasks: kernel_tasks.Tasks,
                 containers: bool, shared: Callable[[], Collection[int]],
                 pins: kernel_pins.Pins | None) -> None:
        hierarchy = _hierarchy(fs)
        self._fs = fs
        self._tasks = tasks
        self._controller = hierarchy.controller
        self._containers = containers
        self._shared = shared
        self.pins = self.takes_soft = pins is not None
        if pins:
            self.traits = frozenset((hostmap.PINNED_TRAIT,
                                     hostmap.SOFT_TRAIT))
        self._admission = _admission(fs, hierarchy)
        self._threads = vcpus.Threads(self._controller, self._admission, pins)

    def capacity(self) -> base.Capacity:
        if self._containers:
            raise vcpus.error('/', _CONTAINERS)
        with vcpus.explained('/'):
            self._check_shared()
            ppm = self._admission.ppm(
                deadline.read_other_threads(self._controller))
            if not ppm:
                raise vcpus.error('/', 'other SCHED_DEADLINE threads, or '
                                  'the budget of the root group (cpu.rt.max)'
                                  ', hold all bandwidth that the kernel gives '
                                  'to SCHED_DEADLINE')
            fine = ticks.high_resolution(self._fs)
            return base.Capacity(
                ppm, 0 if fine else ticks.tick_us(),
                before_interrupts=interrupts.are_threads(self._fs))

    def warnings(self) -> list[str]:
        with vcpus.explained('/'):
            return [*deadline.warnings(deadline.read_other_threads(
                self._controller)), *self._threads.warnings()]

    def guard(self) -> None:
        """Does nothing: a thread can take only its own bandwidth."""

    def settle(self) -> None:
        """Does nothing: the kernel frees bandwidth when a thread ends."""

    def apply(self, pid: int, claim: claims.RTClaim) -> None:
        """Gives all vCPUs of the claim their reservation, or none of them."""
        guest = self._vcpus_of(pid, claim)
        end = time.monotonic() + max(
            _RETURN_SECONDS,
            _RETURN_PERIODS * claim.reservation.period_us / 1_000_000)
        for attempt in itertools.count():
            try:
                return self._set(pid, guest, claim)
            except exception.KernelError as error:
                if not vcpus.is_full(error) or time.monotonic() > end:
                    raise
            if not attempt % _RECOUNT_EVERY:
                self._admission.recount()
            time.sleep(_POLL_SECONDS)

    def _set(self, pid: int, guest: list[vcpus.VCPU], claim: claims.RTClaim
             ) -> None:
        with contextlib.ExitStack() as undo:
            for number in claim.unreserved:
                self._threads.make_ordinary(guest[number], undo)
            self._threads.keep_others_off(
                pid, claim.cpus, claim.unreserved, undo)
            pairs = {guest[number]: cpu
                     for number, cpu in claim.by_vcpu.items()}
            # A vCPU that has used up its old runtime runs again only when its
            # old period ends.
            longest = max(map(self._threads.period_us, pairs), default=0)
            for vcpu in self._threads.as_they_rest(pairs, claim.reservation):
                self._threads.grant(
                    vcpu, claim.reservation, pairs[vcpu], undo)
            starving = self._threads.revive(
                pairs, claim.reservation, undo, longest)
            undo.pop_all()
        for vcpu in starving:
            self._threads.give_up(vcpu)
        if starving:
            raise vcpus.error(starving[0].group, _STARVES.format(
                ', '.join(str(vcpu.thread) for vcpu in starving)))

    def release(self, pid: int) -> None:
        for vcpu in self._vcpus(pid):
            # To become ordinary a vCPU is let onto every CPU for a moment.
            if not self._threads.is_ordinary(vcpu):
                self._threads.stop(vcpu)

    def note(self, pids: Iterable[int]) -> None:
        guests = []
        for pid in pids:
            with contextlib.suppress(exception.KernelError):
                guests += self._vcpus(pid)
        self._threads.note(guests)

    def holds(self, pid: int, claim: claims.RTClaim) -> bool:
        """Checks whether all vCPUs have their reservation and run."""
        guest = self._vcpus_of(pid, claim)
        return (all(self._threads.has(
                    guest[number], claim.reservation, cpu, claim.soft)
                    for number, cpu in claim.by_vcpu.items())
                and not any(self._threads.is_reserved(guest[number])
                            for number in claim.unreserved)
                and self._threads.are_others_off(pid, claim.cpus,
                                                 claim.unreserved)
                and not any(self._threads.starves(guest[number],
                                                  claim.reservation)
                            for number in claim.by_vcpu))

    def shares(self, pid: int) -> Iterator[cpus.Claim]:
        for vcpu in self._vcpus(pid):
            policy = self._threads.policy(vcpu)
            if policy.is_deadline:
                # A thread that may run on several CPUs is on no certain
                # pCPU.
                with vcpus.explained(vcpu.group):
                    ids = tuple(os.sched_getaffinity(vcpu.thread))
                yield ids if len(ids) == 1 else (), reservation.Reservation(
                    -(-policy.runtime // 1000), policy.period // 1000)

    def bandwidth(self, pid: int) -> int:
        return max((_ppm(self._threads.policy(vcpu))
                    for vcpu in self._vcpus(pid)), default=0)

    # The following methods find the vCPU threads.

    def _vcpus_of(self, pid: int, claim: claims.RTClaim
                  ) -> list[vcpus.VCPU]:
        """Returns the vCPUs of a guest, in their order.

        :raises KernelError: when there are not as many as in the claim
        """
        guest = self._vcpus(pid)
        if not guest:
            raise vcpus.error(f'of process {pid}', _CONTAINERS)
        if len(guest) != len(claim.places):
            raise vcpus.error(
                f'of process {pid}', f'the guest has threads for '
                f'{words.count(len(guest), "vCPU")} but a claim for '
                f'{len(claim.places)}; use '
                f'an accelerator that runs a thread for each vCPU, and '
                f'resize the server instead of plugging or unplugging vCPUs')
        return guest

    def _vcpus(self, pid: int) -> list[vcpus.VCPU]:
        """Returns the vCPU threads of a guest, in the order of the vCPUs."""
        with vcpus.explained(f'of process {pid}'):
            guest = layout.find(self._tasks, self._controller, pid)
            return [vcpus.VCPU(group, thread) for group in guest.vcpus
                    for thread in self._tasks.vcpu_threads(
                        group, self._controller)]

    # The following method checks the CPUs of the host.

    def _check_shared(self) -> None:
        domain, shared = self._admission.cpus(), set(self._shared())
        if self.pins:
            outside = sorted(shared.difference(domain))
            if outside:
                raise vcpus.error(
                    '/', f'guests may run on {words.ids(outside, "CPU")} '
                    f'outside of the root domain '
                    f'{cpulist.format_ids(domain)}; take '
                    f'{words.ids(outside, "CPU")} out of [compute] '
                    f'cpu_shared_set')
        elif shared and shared != set(domain):
            raise vcpus.error(
                '/', f'guests may run on '
                f'{words.ids(sorted(shared), "CPU")} only, but '
                f'SCHED_DEADLINE needs all CPUs of the root domain '
                f'{cpulist.format_ids(domain)}; set [compute] cpu_shared_set '
                f'to these CPUs, or isolate the other CPUs')


def can_pin(fs: cgroup.CgroupFS, tasks: kernel_tasks.Tasks) -> bool:
    """Tests whether a SCHED_DEADLINE vCPU can stay on one pCPU.

    :raises KernelError: when the test is not possible
    """
    with vcpus.explained('/'):
        controller = tasks.cpuset
        return kernel_pins.try_out(
            fs, tasks.mount_of(controller), bool(controller),
            _admission(fs, _hierarchy(fs)).cpus())


_STARVES = ('the kernel gives the threads {} no CPU time while they are '
            'SCHED_DEADLINE, because another program changed their '
            'scheduling; wait until a later audit of nova-compute succeeds '
            '(until then the threads are ordinary), or hard-reboot the server')
_CONTAINERS = ('SCHED_DEADLINE is for the vCPU threads of virtual machines; '
               'a container needs a kernel with budgets for groups')


def _hierarchy(fs: cgroup.CgroupFS) -> cgroup.Hierarchy:
    hierarchy = survey.hierarchy_of(fs)
    if hierarchy is None:
        raise vcpus.error('/', 'the cgroup controller cpu is not mounted, and '
                          'nova-rt needs it to find vCPU threads; mount this '
                          'controller')
    return hierarchy


def _admission(fs: cgroup.CgroupFS, hierarchy: cgroup.Hierarchy
               ) -> deadline.Admission:
    return deadline.Admission(
        fs, hierarchy.mount, privsep.read_server)


def _ppm(policy: sched.Policy) -> int:
    """Returns the bandwidth of a policy; 0 if it is not SCHED_DEADLINE."""
    if not policy.is_deadline:
        return 0
    return reservation.Reservation(policy.runtime, policy.period).bandwidth
