# SPDX-License-Identifier: Apache-2.0

"""Which kinds of guests the demonstration shows on this host.

Each kind is one act: a cloud of its own and the whole story.  What happens in
an act is in the main module.
"""

from collections.abc import Iterator
import dataclasses

from demo import groups
from demo import guests


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
        if self.guest != 'lxc' or groups.has_budgets():
            return ''
        return ('Containers are left out: this kernel has no budgets for '
                'control groups (no group has cpu.rt_runtime_us or '
                'cpu.rt.max), so nova-rt reserves for virtual machines only.')


def chosen(guest: str | None, interface: str | None) -> Iterator[Act]:
    """The acts in their order, virtual machines first.

    :param guest: a single kind, None for all
    :param interface: instead of what the kind has
    """
    for name, kind in guests.KINDS.items():
        if guest in (None, name):
            yield Act(name, interface or kind.interface)
