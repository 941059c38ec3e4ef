# SPDX-License-Identifier: Apache-2.0

"""Says where libvirt puts the tasks of a guest, and what holds a budget.

A container has all its tasks in one group.  A virtual machine has a group
for each vCPU below that of the domain, and its other threads in
``emulator``, which get no budget and stay ordinary.
"""

import dataclasses
import posixpath
import re

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.services.compute import claims

_EMULATOR = 'emulator'
_VCPU = re.compile(r'vcpu([0-9]+)')


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """The groups of a running guest in the cpu hierarchy.

    :ivar domain: the group all its tasks are in or below
    :ivar vcpus: the groups of the vCPUs in their order; none for containers
    :ivar keeper: the process that keeps a container, never real-time
    """

    domain: str
    vcpus: tuple[str, ...]
    keeper: int

    @property
    def real_time(self) -> tuple[str, ...]:
        """The groups whose tasks become real-time."""
        return self.vcpus or (self.domain,)

    def gathers(self, interface: base.KernelInterface) -> bool:
        """Whether the vCPUs have to share one group.

        Where a runtime is granted on every CPU, a group for each vCPU
        would cost the guest its share as often as it has vCPUs.
        """
        return (interface.replicated and not interface.inherits
                and len(self.vcpus) > 1)

    def leaves(self, interface: base.KernelInterface) -> tuple[str, ...]:
        """The groups that hold the budget."""
        if not self.vcpus or (interface.replicated and interface.inherits):
            return (self.domain,)
        return self.vcpus[:1] if interface.replicated else self.vcpus

    def budgets(self, interface: base.KernelInterface,
                claim: claims.RTClaim) -> dict[str, base.Budget]:
        """What each of the leaves must hold.

        :raises LookupError: the guest has not a group for each vCPU
        """
        if self.vcpus and len(self.vcpus) != len(claim.cpus):
            raise LookupError(
                f'it has groups for {len(self.vcpus)} vCPUs and a claim for '
                f'{len(claim.cpus)}; does its accelerator run a thread for '
                f'each vCPU?')
        leaves = self.leaves(interface)
        runtime = claim.reservation.runtime_us
        period = claim.reservation.period_us
        if len(leaves) > 1:
            return {leaf: base.Budget({cpu: runtime}, period)
                    for leaf, cpu in zip(leaves, claim.cpus, strict=True)}
        return {leaves[0]: base.Budget(
            dict.fromkeys(claim.cpus, runtime), period)}


def find(tasks: kernel_tasks.Tasks, controller: str, pid: int) -> Layout:
    """The layout of the guest that process *pid* keeps.

    :raises LookupError: it has ended
    """
    group = tasks.group_of(pid, controller)
    if posixpath.basename(group) != _EMULATOR:
        return Layout(group, (), pid)
    domain = posixpath.dirname(group)
    numbered = {int(match[1]): path
                for path in tasks.groups_below(domain, controller)
                if (match := _VCPU.fullmatch(posixpath.basename(path)))}
    if not numbered:
        raise LookupError(f'{domain} has no group for a vCPU')
    return Layout(domain, tuple(path for _, path in sorted(
        numbered.items())), 0)
