# SPDX-License-Identifier: Apache-2.0

"""The kinds of guests a cloud can have: one of them at a time."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Kind:
    """What libvirt and Nova call one kind of guests.

    :ivar daemon: as libvirt's driver is called
    :ivar cpu_mode: of Nova: what its guests see
    """

    virt_type: str
    uri: str
    daemon: str
    cpu_mode: str = 'none'

    @property
    def driver(self) -> str:
        """The file of libvirt's driver."""
        return f'libvirt_driver_{self.daemon}.so'

    @property
    def modular_socket(self) -> str:
        """Where libvirt's daemon for this kind alone would listen."""
        return f'/run/libvirt/virt{self.daemon}d-sock'


# With "qemu" the CPU is emulated: ordinary kernels do not boot under the
# nested KVM of many machines, and the threads and groups are the same.
KINDS = {kind.virt_type: kind for kind in (
    Kind('lxc', 'lxc:///', 'lxc'), Kind('qemu', 'qemu:///system', 'qemu'),
    Kind('kvm', 'qemu:///system', 'qemu', 'host-passthrough'))}
