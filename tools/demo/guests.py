# SPDX-License-Identifier: Apache-2.0

"""The kinds of guests, and how they differ as seen from the host."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of guests, and how to find the parts of such a guest."""

    #: for people, at the beginning of a sentence
    title: str
    #: [nova_rt] kernel_interface, None if nova-compute finds it by itself
    interface: str | None
    #: the image that keeps every vCPU busy
    image: str
    #: how many MiB of memory that image needs
    ram: int
    #: the image that tries to get more than its share
    hostile_image: str
    #: what its console shows when it begins; '' if it begins at once
    console: str
    #: the control group of a domain
    group: str
    #: below that, the groups of the vCPUs; '' if all tasks are in one group
    vcpu_groups: str
    #: the names, for people, of the tasks inside the guest, and of the tasks
    #: that serve the guest
    own_tasks: str
    other_tasks: str
    #: (runtime, period) in us of three servers on one pCPU, the last of them
    #: hostile; an emulated machine must be able to boot with each of these
    #: reservations
    company: tuple[tuple[int, int], ...]

    def keeper(self, group: str) -> int | None:
        """Returns the process that serves a guest from within its group."""
        # libvirt names the group of a container after its libvirt_lxc.
        return int(group.split('-')[1]) if not self.vcpu_groups else None


#: In the order of the demonstration.  Virtual machines get the reservation
#: that every stock kernel can give, also if the kernel has group budgets.
KINDS = {
    'qemu': Kind('Virtual machines', 'sched_deadline',
                 'qemu-busy', 96, 'qemu-hostile',
                 r'nova-rt guest: \d+ vCPUs (busy|hostile)',
                 'qemu-*-{}.libvirt-qemu', 'vcpu*',
                 'vCPUs', 'emulator and I/O threads',
                 ((3_000, 10_000), (350_000, 1_000_000), (25_000, 100_000))),
    'lxc': Kind('Containers', None,
                'lxc-busy', 64, 'lxc-hostile', '',
                'lxc-*-{}.libvirt-lxc', '', 'tasks', 'libvirt_lxc',
                ((3_000, 10_000), (600_000, 1_000_000), (2_000, 50_000))),
}
KINDS['kvm'] = dataclasses.replace(
    KINDS['qemu'], image='kvm-busy', hostile_image='kvm-hostile')
