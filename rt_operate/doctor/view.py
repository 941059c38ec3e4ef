# SPDX-License-Identifier: Apache-2.0

"""The view of the host that all checks share.

Each part is read once, when it is first used.
"""

from collections.abc import Callable, Iterable
import functools
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import guests as host_guests
from nova_rt.machine.host import namespaces
from nova_rt.machine.host import proc
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import groups as kernel_groups
from nova_rt.machine.kernel import passive
from nova_rt.machine.kernel import survey
from rt_operate.doctor import findings
from rt_operate.doctor import options as doctor_options


class View:
    """A host and its options, as the checks see them."""

    def __init__(self, host: host_files.Host,
                 options: doctor_options.Options) -> None:
        self.host = host
        self.options = options

    @functools.cached_property
    def detection(self) -> passive.Detection:
        """The kernel interface; its detection changes nothing on the host."""
        return passive.find(self.host, self.options.kernel_interface,
                            self.options.virt_type != 'lxc')

    @property
    def interface(self) -> base.KernelInterface | None:
        """The interface that gives budgets to groups; None without one."""
        return self.detection.interface

    @property
    def by_timer(self) -> bool:
        """Tells whether deadline servers enforce the reservations.

        Reservations that deadline servers enforce share the bandwidth of a
        pCPU with other deadline servers.
        """
        return self.detection.deadline or (
            self.interface is not None and self.interface.deadline_servers)

    @functools.cached_property
    def outside(self) -> str:
        """The reason why this process does not see the host; '' if it does."""
        return namespaces.trouble(self.host)

    @functools.cached_property
    def hierarchy(self) -> cgroup.Hierarchy | None:
        """The hierarchy of the cpu controller; None if it is not mounted.

        :raises OSError: when the mounts cannot be read
        """
        return survey.hierarchy_of(self.host)

    @functools.cached_property
    def groups(self) -> kernel_groups.Groups | None:
        """The groups and their budgets; None if groups have no budgets."""
        if self.interface is None or self.hierarchy is None:
            return None
        return kernel_groups.Groups(self.host, self.hierarchy,
                                    self.interface)

    @functools.cached_property
    def tasks(self) -> proc.TaskTable:
        """The tasks of the host.

        :raises OSError, ValueError: when /proc cannot be read or understood
        """
        return proc.walk(self.host)

    @functools.cached_property
    def guests(self) -> list[host_guests.Guest]:
        """The guests of libvirt that run."""
        if self.hierarchy is None:
            return []
        return host_guests.find(self.host, self.tasks,
                                self.hierarchy.controller)

    def group_of(self, task: proc.Task) -> str:
        """Returns the group of a task in the cpu hierarchy; '' for none."""
        if self.hierarchy is None:
            return ''
        return proc.group_of(self.host, task, self.hierarchy.controller)

    def path(self, group: str, name: str) -> str:
        """Returns the path of the file *name* of a group."""
        mount = self.hierarchy.mount if self.hierarchy else ''
        return posixpath.join(mount, group.strip('/'), name)


#: A check.  Its key in CHECKS is the id of its findings, and the id under
#: which a failure of the check itself is reported.
Check = Callable[[View], Iterable[findings.Finding]]
