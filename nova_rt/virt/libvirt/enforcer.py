# SPDX-License-Identifier: Apache-2.0

"""Applies claims to running guests, and takes them back.

Puts the kernel interface, the cpuset and the real-time policy together; what
a guest is entitled to is decided elsewhere.
"""

from nova_rt.compute import claims
from nova_rt import exception
from nova_rt.kernel import base
from nova_rt.kernel import tasks as kernel_tasks
from nova_rt import reservation


class Enforcer:
    """The reservations of the guests of one libvirt connection.

    A guest is named by the pid of the process that keeps it: for LXC the
    domain's id.
    """

    def __init__(self, interface: base.KernelInterface,
                 tasks: kernel_tasks.Tasks, policy: str, priority: int
                 ) -> None:
        self.interface = interface
        self._tasks = tasks
        self._policy = policy
        self._priority = priority

    @property
    def partition(self) -> str:
        """The top group of all guests."""
        return self._tasks.partition(self.interface.controller)

    def apply(self, pid: int, claim: claims.RTClaim) -> None:
        """Pin, reserve, read back, then make the tasks real-time.

        :raises KernelError: refused; the guest must not run on
        """
        group = self._group(pid)
        try:
            self._tasks.confine(pid, claim.cpus)
        except (OSError, LookupError) as error:
            raise exception.KernelError(
                interface='cpuset', group=group,
                reason=f'cannot confine it to pCPUs {list(claim.cpus)}: '
                       f'{error}') from error
        self.interface.reserve(group, _budget(claim))
        if not self._holds(group, claim):
            raise exception.KernelError(
                interface=self.interface.name, group=group,
                reason=f'it reads back {self.interface.read(group)} instead '
                       f'of {claim.reservation}')
        if self._policy != 'none':
            self._tasks.make_real_time(
                group, self.interface.controller, pid, self._policy,
                self._priority)

    def release(self, pid: int) -> None:
        """Take the budget of a running guest back."""
        group = self._group(pid)
        self._tasks.make_ordinary(group, self.interface.controller)
        self.interface.release(group)

    def settle(self) -> None:
        """After guests ended: leave no room behind in the parents."""
        self.interface.settle(self.partition)

    def holds(self, pid: int, claim: claims.RTClaim) -> bool:
        """Whether the kernel has what the claim says."""
        return self._holds(self._group(pid), claim)

    def bandwidth(self, pid: int) -> int:
        """What the kernel grants a guest on one pCPU, in ppm; 0 for none."""
        budget = self.interface.read(self._group(pid))
        return 0 if budget is None else _bandwidth(budget)

    def _holds(self, group: str, claim: claims.RTClaim) -> bool:
        found = self.interface.read(group)
        wanted = _budget(claim)
        return (found is not None
                and found.period_us == wanted.period_us
                and all(found.runtime_us.get(cpu) == runtime
                        for cpu, runtime in wanted.runtime_us.items()))

    def _group(self, pid: int) -> str:
        try:
            return self._tasks.group_of(pid, self.interface.controller)
        except LookupError as error:
            raise exception.KernelError(
                interface=self.interface.name, group=f'of process {pid}',
                reason=str(error)) from error


def _budget(claim: claims.RTClaim) -> base.Budget:
    wanted = claim.reservation
    return base.Budget(dict.fromkeys(claim.cpus, wanted.runtime_us),
                       wanted.period_us)


def _bandwidth(budget: base.Budget) -> int:
    return reservation.Reservation(max(budget.runtime_us.values()),
                                   budget.period_us).bandwidth
