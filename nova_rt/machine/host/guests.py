# SPDX-License-Identifier: Apache-2.0

"""Finds the guests of libvirt by their keepers.

The module does not ask libvirt, so that guests are also found while libvirt is
down.
"""

import dataclasses
import posixpath

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import proc

#: The values of [libvirt] virt_type whose guests are in control groups.
VIRT_TYPES = ('kvm', 'lxc', 'qemu')

_CONTAINER = 'libvirt_lxc'
#: How the names of QEMU begin; /proc cuts names at 15 characters.
_MACHINES = ('qemu-system', 'qemu-kvm')
#: The groups that libvirt makes below the group of a domain.
_INNER = ('emulator', 'libvirt')


@dataclasses.dataclass(frozen=True, slots=True)
class Guest:
    """A running domain.

    :ivar keeper: the process of libvirt_lxc or QEMU that keeps the domain
    :ivar group: the group of the keeper in the cpu hierarchy
    :ivar init: the first process of a container; None for virtual machines
    """

    keeper: proc.Task
    group: str
    init: proc.Task | None

    @property
    def container(self) -> bool:
        """True for a container, False for a virtual machine."""
        return self.keeper.comm == _CONTAINER

    @property
    def domain(self) -> str:
        """The group in or below which all tasks of the guest are."""
        return domain(self.group)

    def __str__(self) -> str:
        group = self.domain
        if posixpath.basename(group) == _INNER[1]:
            group = posixpath.dirname(group)
        return posixpath.basename(group)


def domain(group: str) -> str:
    """Returns the group of all tasks of a guest.

    :param group: the group of its keeper
    """
    if posixpath.basename(group) == _INNER[0]:
        return posixpath.dirname(group)
    return group


def find(host: host_files.Host, tasks: proc.TaskTable, controller: str
         ) -> list[Guest]:
    """Returns the guests among *tasks*.

    A process in the root group is not a keeper.
    """
    guests = []
    for task in tasks.processes.values():
        if task.comm != _CONTAINER and not task.comm.startswith(_MACHINES):
            continue
        group = proc.group_of(host, task, controller)
        if group.strip('/'):
            guests.append(Guest(task, group, _init(tasks, task)))
    return guests


def _init(tasks: proc.TaskTable, keeper: proc.Task) -> proc.Task | None:
    if keeper.comm != _CONTAINER:
        return None
    return next((task for task in tasks.processes.values()
                 if task.parent == keeper.pid and task.comm != 'lxc-fuse'),
                None)
