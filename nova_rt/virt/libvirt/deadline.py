# SPDX-License-Identifier: Apache-2.0

"""Reservations of virtual machines by SCHED_DEADLINE on the vCPU threads.

For kernels that have no budget for groups.  Global EDF runs the threads on
any CPU of the root domain: what a claim says about pCPUs is an account that
never exceeds what the kernel admits, not a place.
"""

from collections.abc import Callable, Collection, Iterator
import contextlib
import errno
import os
import time

from nova_rt.compute import claims
from nova_rt import exception
from nova_rt.host import cgroup
from nova_rt.host import cpulist
from nova_rt.host import sched
from nova_rt.host import ticks
from nova_rt.kernel import base
from nova_rt.kernel import deadline
from nova_rt.kernel import survey
from nova_rt.kernel import tasks as kernel_tasks
import nova_rt.privsep
from nova_rt import reservation
from nova_rt.virt.libvirt import enforcer
from nova_rt.virt.libvirt import layout

#: The bandwidth of a guest that ended returns at the end of its period.
_RETURN_SECONDS = 1.0
_POLL_SECONDS = 0.02

_POLICIES = {os.SCHED_FIFO: 'fifo', os.SCHED_RR: 'rr'}

#: (group, thread) of each vCPU
_VCPUs = list[tuple[str, int]]


class DeadlineEnforcer(enforcer.Enforcer):
    """Enforces claims by SCHED_DEADLINE; see Enforcer.

    :param containers: whether the guests are containers, which have tasks
        that come and go: they cannot be reserved like this
    :param shared: the CPUs that guests may run on
    :raises KernelError: the cpu controller is mounted nowhere
    """

    name = deadline.NAME
    replicated = False
    pins = False
    releases_early = True

    def __init__(self, fs: cgroup.CgroupFS, tasks: kernel_tasks.Tasks,
                 containers: bool, shared: Callable[[], Collection[int]]
                 ) -> None:
        hierarchy = survey.hierarchy_of(fs)
        if hierarchy is None:
            raise self._error('/', 'the cgroup controller cpu, which tells '
                              'the vCPU threads, is mounted nowhere')
        self._fs = fs
        self._tasks = tasks
        self._controller = hierarchy.controller
        self._containers = containers
        self._shared = shared
        self._admission = deadline.Admission(
            fs, hierarchy.mount, nova_rt.privsep.read_server)

    def capacity(self) -> base.Capacity:
        if self._containers:
            raise self._error('/', _CONTAINERS)
        with self._explained('/'):
            self._check_shared()
            ours = self._tasks.threads(
                self._tasks.partition(self._controller), self._controller)
            ppm = self._admission.ppm(deadline.held(frozenset(ours)))
            if not ppm:
                raise self._error('/', 'the SCHED_DEADLINE threads of others '
                                  'hold all that the kernel gives')
            fine = ticks.high_resolution(self._fs)
            return base.Capacity(ppm, 0 if fine else ticks.tick_us())

    def guard(self) -> None:
        """Nothing: a thread can only take what is its own."""

    def settle(self) -> None:
        """Nothing: bandwidth goes with its thread."""

    def apply(self, pid: int, claim: claims.RTClaim) -> None:
        """All vCPUs, or none of them."""
        vcpus = self._vcpus_of(pid, claim)
        end = time.monotonic() + _RETURN_SECONDS
        while True:
            try:
                return self._set(vcpus, claim.reservation)
            except exception.KernelError as error:
                if not _is_full(error) or time.monotonic() > end:
                    raise
            time.sleep(_POLL_SECONDS)

    def release(self, pid: int) -> None:
        for group, thread in self._vcpus(pid):
            self._stop(group, thread)

    def holds(self, pid: int, claim: claims.RTClaim) -> bool:
        return all(self._has(group, thread, claim.reservation)
                   for group, thread in self._vcpus_of(pid, claim))

    def bandwidth(self, pid: int) -> int:
        return max((_ppm(self._policy(group, thread))
                    for group, thread in self._vcpus(pid)), default=0)

    # One thread.

    def _set(self, vcpus: _VCPUs, wanted: reservation.Reservation) -> None:
        with contextlib.ExitStack() as undo:
            for group, thread in vcpus:
                old = self._policy(group, thread)
                self._start(group, thread, wanted)
                undo.callback(self._restore, group, thread, old)
                if not self._has(group, thread, wanted):
                    raise self._error(
                        group, f'thread {thread} reads back '
                        f'{self._policy(group, thread)} instead of {wanted}')
            undo.pop_all()

    def _has(self, group: str, thread: int, wanted: reservation.Reservation
             ) -> bool:
        return self._policy(group, thread).grants(
            wanted.runtime_us, wanted.period_us)

    def _policy(self, group: str, thread: int) -> sched.Policy:
        with self._explained(group, thread):
            return sched.get(thread)

    def _start(self, group: str, thread: int,
               wanted: reservation.Reservation) -> None:
        with self._explained(group, thread):
            nova_rt.privsep.set_deadline(
                group, self._controller, thread, wanted.runtime_us,
                wanted.period_us)

    def _stop(self, group: str, thread: int) -> None:
        with (self._explained(group, thread),
              contextlib.suppress(ProcessLookupError)):
            nova_rt.privsep.set_deadline(group, self._controller, thread,
                                         0, 0)

    def _restore(self, group: str, thread: int, old: sched.Policy
                 ) -> None:
        if old.is_deadline:
            self._start(group, thread, reservation.Reservation(
                old.runtime // 1000, old.period // 1000))
            return
        self._stop(group, thread)
        if old.number in _POLICIES:
            # Of an interface for groups that was in use before.
            with self._explained(group, thread):
                nova_rt.privsep.set_policy(
                    group, self._controller, thread, _POLICIES[old.number],
                    old.priority)

    # Which threads.

    def _vcpus_of(self, pid: int, claim: claims.RTClaim) -> _VCPUs:
        """:raises KernelError: they are not those of the claim"""
        found = self._vcpus(pid)
        if not found:
            raise self._error(f'of process {pid}', _CONTAINERS)
        if len(found) != len(claim.cpus):
            raise self._error(
                f'of process {pid}', f'the guest has threads for '
                f'{len(found)} vCPUs and a claim for {len(claim.cpus)}; does '
                f'its accelerator run a thread for each vCPU?')
        return found

    def _vcpus(self, pid: int) -> _VCPUs:
        """The threads of a guest's vCPUs in their order."""
        with self._explained(f'of process {pid}'):
            guest = layout.find(self._tasks, self._controller, pid)
            return [(group, thread) for group in guest.vcpus
                    for thread in self._tasks.threads(
                        group, self._controller)]

    # What the kernel refuses.

    def _check_shared(self) -> None:
        domain, shared = self._admission.cpus(), sorted(self._shared())
        if shared and tuple(shared) != domain:
            raise self._error(
                '/', f'guests run on the CPUs {cpulist.format_ids(shared)} '
                f'and the root domain has {cpulist.format_ids(domain)}, but '
                f'SCHED_DEADLINE needs all of it; make [compute] '
                f'cpu_shared_set the same, or isolate the other CPUs')

    @contextlib.contextmanager
    def _explained(self, group: str, thread: int = 0) -> Iterator[None]:
        try:
            yield
        except (OSError, LookupError, ValueError) as error:
            reason = f'thread {thread}: {error}' if thread else str(error)
            with contextlib.suppress(OSError, ValueError):
                reason = self._reason(error, thread) or reason
            raise self._error(group, reason) from error

    def _reason(self, error: Exception, thread: int) -> str:
        """What to do; '' where we know no better than the kernel."""
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.EBUSY:
            return ('the kernel has no bandwidth left for SCHED_DEADLINE '
                    '(EBUSY); stop what else uses it, or lower [nova_rt] '
                    'cpu_cap')
        if number == errno.EINVAL:
            shortest, longest = self._admission.periods()
            return (f'the kernel refuses the values (EINVAL): its runtimes '
                    f'start at {reservation.MIN_RUNTIME_US} us, its periods '
                    f'go from {shortest} to {longest} us; give such ones, or '
                    f'change kernel.sched_deadline_period_min_us and '
                    f'..._max_us')
        if number == errno.EPERM and thread:
            return self._forbidden(thread)
        return ''

    def _forbidden(self, thread: int) -> str:
        mask = os.sched_getaffinity(thread)
        if mask.issuperset(self._admission.cpus()):
            return ('no permission (EPERM); the privileged process needs '
                    'CAP_SYS_NICE')
        return (f'thread {thread} may run on the CPUs '
                f'{cpulist.format_ids(sorted(mask))} only, and SCHED_DEADLINE '
                f'needs all CPUs of the root domain (EPERM); let no [compute] '
                f'cpu_shared_set, NUMA topology or cpuset restrict it')

    def _error(self, group: str, reason: str) -> exception.KernelError:
        return exception.KernelError(interface=self.name, group=group,
                                     reason=reason)


_CONTAINERS = ('SCHED_DEADLINE is for the vCPU threads of virtual machines; '
               'a container needs a kernel with budgets for groups')


def _ppm(policy: sched.Policy) -> int:
    """Its bandwidth; 0 unless it is SCHED_DEADLINE."""
    if not policy.is_deadline:
        return 0
    return reservation.Reservation(policy.runtime, policy.period).bandwidth


def _is_full(error: exception.KernelError) -> bool:
    cause = error.__cause__
    return isinstance(cause, OSError) and cause.errno == errno.EBUSY
