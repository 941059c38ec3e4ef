# SPDX-License-Identifier: Apache-2.0

"""Finds the groups where libvirt puts the tasks of a guest.

A container has all its tasks in one group.  A virtual machine has a group for
each vCPU below the group of its domain.  The other threads of a virtual
machine are in the group ``emulator``, get no budget and stay ordinary.
"""

import dataclasses
import posixpath
import re

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.rules import words
from nova_rt.services.compute import claims

_EMULATOR = 'emulator'
_VCPU = re.compile(r'vcpu([0-9]+)')


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """The groups of a running guest in the cpu hierarchy.

    :ivar domain: the group that has all tasks of the guest in it or below it
    :ivar vcpus: the groups of the vCPUs, in order; none for containers
    :ivar keeper: the pid of the keeper of a container, which never becomes
        real-time; 0 for a virtual machine
    """

    domain: str
    vcpus: tuple[str, ...]
    keeper: int

    def reserved(self, claim: claims.RTClaim) -> tuple[str, ...]:
        """Returns the groups whose tasks become real-time."""
        return tuple(group for number, group in enumerate(self.vcpus)
                     if number not in claim.unreserved) or (self.domain,)

    def gathers(self, interface: base.KernelInterface) -> bool:
        """Checks whether the vCPUs have to be in one group.

        On a replicated interface, a group for each vCPU would cost the share
        of the guest once for each vCPU.
        """
        return (interface.replicated and not interface.inherits
                and len(self.vcpus) > 1)

    def leaves(self, interface: base.KernelInterface) -> tuple[str, ...]:
        """Returns the groups that hold the budget."""
        if not self.vcpus or (interface.replicated and interface.inherits):
            return (self.domain,)
        return self.vcpus[:1] if interface.replicated else self.vcpus

    def budgets(self, interface: base.KernelInterface,
                claim: claims.RTClaim) -> dict[str, base.Budget]:
        """Returns the budget that each leaf must hold.

        :raises LookupError: when the guest has not one group for each vCPU
        """
        if self.vcpus and len(self.vcpus) != len(claim.places):
            raise LookupError(
                f'the guest has groups for '
                f'{words.count(len(self.vcpus), "vCPU")} but a claim for '
                f'{len(claim.places)}; use an accelerator that runs a thread '
                f'for each vCPU')
        leaves = self.leaves(interface)
        runtime = claim.in_kernel.runtime_us
        period = claim.in_kernel.period_us
        if len(leaves) > 1:
            return {leaves[vcpu]: base.Budget({cpu: runtime}, period)
                    for vcpu, cpu in claim.by_vcpu.items()}
        return {leaves[0]: base.Budget(
            dict.fromkeys(claim.cpus, runtime), period)}


def find(tasks: kernel_tasks.Tasks, controller: str, pid: int) -> Layout:
    """Returns the layout of the guest whose keeper is process *pid*.

    :raises LookupError: when the guest has ended
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
