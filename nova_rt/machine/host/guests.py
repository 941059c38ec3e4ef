# SPDX-License-Identifier: Apache-2.0

"""The guests of libvirt, by the processes that keep them.

libvirt is not asked: it may be what is broken.
"""

import dataclasses
import posixpath

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import proc

#: Guests that are put in control groups, by [libvirt] virt_type.
VIRT_TYPES = ('kvm', 'lxc', 'qemu')

_CONTAINER = 'libvirt_lxc'
#: In part: /proc cuts names at 15 characters.
_MACHINES = ('qemu-system', 'qemu-kvm')
#: Groups that libvirt makes below that of the domain.
_INNER = ('emulator', 'libvirt')


@dataclasses.dataclass(frozen=True, slots=True)
class Guest:
    """A domain that runs.

    :ivar keeper: the process of libvirt or QEMU behind it
    :ivar group: where that is, in the cpu hierarchy
    :ivar init: the first process of a container, None for machines
    """

    keeper: proc.Task
    group: str
    init: proc.Task | None

    @property
    def container(self) -> bool:
        return self.keeper.comm == _CONTAINER

    @property
    def domain(self) -> str:
        """The group with all its tasks, in it or below."""
        return domain(self.group)

    def __str__(self) -> str:
        group = self.domain
        if posixpath.basename(group) == _INNER[1]:
            group = posixpath.dirname(group)
        return posixpath.basename(group)


def domain(group: str) -> str:
    """The group of all tasks of a guest, by that of its keeper."""
    if posixpath.basename(group) == _INNER[0]:
        return posixpath.dirname(group)
    return group


def find(host: host_files.Host, tasks: proc.Tasks, controller: str
         ) -> list[Guest]:
    """Processes in the root group are nobody's guests."""
    found = []
    for task in tasks.processes.values():
        if task.comm != _CONTAINER and not task.comm.startswith(_MACHINES):
            continue
        group = proc.group_of(host, task, controller)
        if group.strip('/'):
            found.append(Guest(task, group, _init(tasks, task)))
    return found


def _init(tasks: proc.Tasks, keeper: proc.Task) -> proc.Task | None:
    if keeper.comm != _CONTAINER:
        return None
    return next((task for task in tasks.processes.values()
                 if task.parent == keeper.pid and task.comm != 'lxc-fuse'),
                None)
