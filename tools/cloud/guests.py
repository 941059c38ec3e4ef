# SPDX-License-Identifier: Apache-2.0

"""The two kinds of guests a cloud can have: one of them at a time."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Kind:
    """What libvirt and Nova call one kind of guests."""

    virt_type: str
    uri: str

    @property
    def driver(self) -> str:
        """The file of libvirt's driver."""
        return f'libvirt_driver_{self.virt_type}.so'

    @property
    def modular_socket(self) -> str:
        """Where libvirt's daemon for this kind alone would listen."""
        return f'/run/libvirt/virt{self.virt_type}d-sock'


# QEMU emulates the CPU: ordinary kernels do not boot under the nested KVM of
# many machines, and the threads and groups are the same.
KINDS = {kind.virt_type: kind for kind in (
    Kind('lxc', 'lxc:///'), Kind('qemu', 'qemu:///system'))}
