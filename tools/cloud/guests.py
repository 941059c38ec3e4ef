# SPDX-License-Identifier: Apache-2.0

"""The kinds of guests; a cloud has guests of one kind at a time."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Kind:
    """The names of libvirt and Nova for one kind of guests.

    :ivar daemon: the name of libvirt's driver
    :ivar cpu_mode: Nova's option, which says what CPU the guests see
    """

    virt_type: str
    uri: str
    daemon: str
    cpu_mode: str

    @property
    def driver(self) -> str:
        """Returns the file of libvirt's driver."""
        return f'libvirt_driver_{self.daemon}.so'

    @property
    def modular_socket(self) -> str:
        """Returns the socket of libvirt's daemon for this kind alone."""
        return f'/run/libvirt/virt{self.daemon}d-sock'


# With "qemu" the CPU is emulated, for machines without a usable KVM.  Threads
# and groups are nearly the same; KVM adds worker threads.  With "kvm" the CPU
# is QEMU's default, because some hypervisors refuse registers of the host's.
KINDS = {kind.virt_type: kind for kind in (
    Kind('lxc', 'lxc:///', 'lxc', 'none'),
    Kind('qemu', 'qemu:///system', 'qemu', 'host-model'),
    Kind('kvm', 'qemu:///system', 'qemu', 'none'))}
