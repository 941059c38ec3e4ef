# SPDX-License-Identifier: Apache-2.0

"""Which kinds of guests the demonstration shows on this host.

Each kind is one act: a cloud of its own and the whole story.  What happens in
an act is in the main module.
"""

from collections.abc import Iterator
import dataclasses
import os

from demo import groups
from demo import guests

_SHOWN = ('qemu', 'lxc')
_KVM = '/dev/kvm'


@dataclasses.dataclass(frozen=True)
class Act:
    """One kind of guests and the kernel interface that reserves for it.

    :ivar interface: [nova_rt] kernel_interface, None for what nova-compute
        finds by itself
    """

    guest: str
    interface: str | None

    @property
    def title(self) -> str:
        """What is shown, for people."""
        title = guests.KINDS[self.guest].title
        return f'{title} by {self.interface}' if self.interface else title

    @property
    def cannot_be(self) -> str:
        """One sentence that says why this host cannot show it, or ''."""
        if self.guest == 'kvm' and not os.path.exists(_KVM):
            return (f'This host has no {_KVM}, so it cannot run guests of '
                    f'KVM: load the module kvm_intel or kvm_amd, or take '
                    f'--guest qemu.')
        if self.guest != 'lxc' or groups.has_budgets():
            return ''
        return ('Containers are left out: this kernel has no budgets for '
                'control groups (no group has cpu.rt_runtime_us or '
                'cpu.rt.max), so nova-rt reserves for virtual machines only.')


def chosen(guest: str | None, interface: str | None) -> Iterator[Act]:
    """The acts in their order, virtual machines first.

    :param guest: a single kind, None for what every host can show
    :param interface: instead of what the kind has
    """
    for name in (guest,) if guest else _SHOWN:
        yield Act(name, interface or guests.KINDS[name].interface)
