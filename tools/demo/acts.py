# SPDX-License-Identifier: Apache-2.0

"""Chooses the kinds of guests that the demonstration shows on this host.

Each kind is one act, with a cloud of its own and all steps.  The steps are
in the main module.
"""

from collections.abc import Iterator
import dataclasses

from cloud import kvm

from demo import groups
from demo import guests

_EMULATED, _CONTAINERS = 'qemu', 'lxc'
_KVM = 'kvm'


@dataclasses.dataclass(frozen=True)
class Act:
    """One kind of guests and the kernel interface that reserves for it.

    :ivar interface: [nova_rt] kernel_interface, None if nova-compute finds
        the interface by itself
    """

    guest: str
    interface: str | None

    @property
    def title(self) -> str:
        """Returns the title of the act, for people."""
        title = guests.KINDS[self.guest].title
        return f'{title} by {self.interface}' if self.interface else title

    @property
    def cannot_be(self) -> str:
        """Returns one sentence why this host cannot show the act, or ''."""
        reason = kvm.lacking() if self.guest == _KVM else ''
        if reason:
            return (f'{reason} Load the module kvm_intel or kvm_amd, or use '
                    f'--guest {_EMULATED}.')
        if self.guest != _CONTAINERS or groups.has_budgets():
            return ''
        return ('Containers are left out: this kernel has no budgets for '
                'control groups (no group has cpu.rt_runtime_us or '
                'cpu.rt.max), so nova-rt reserves for virtual machines only.')


def chosen(guest: str | None, interface: str | None) -> Iterator[Act]:
    """Returns the acts in their order, virtual machines first.

    :param guest: a single kind; None for virtual machines, with KVM if this
        host can run KVM guests, and containers
    :param interface: the kernel interface in place of that of the kind
    """
    machines = _EMULATED if kvm.lacking() else _KVM
    for name in (guest,) if guest else (machines, _CONTAINERS):
        yield Act(name, interface or guests.KINDS[name].interface)
