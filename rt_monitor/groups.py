# SPDX-License-Identifier: Apache-2.0

"""Turns the guests of libvirt into servers with the numbers of their groups.

The number of a group is the inode number of its directory, with both versions
of cgroups.
"""

from collections.abc import Iterable, Iterator
import contextlib
import dataclasses
import functools
import itertools
import posixpath
import re
import socket

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import domains as host_domains
from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import guests as host_guests
from nova_rt.machine.host import proc
from nova_rt.machine.host import sched
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import passive
from nova_rt.machine.kernel import survey
from rt_monitor import domains
from rt_monitor import servers

_VCPU = re.compile(r'vcpu(\d+)')
_US = 1_000
#: The number of searches over which the budgets of unchanged servers are
#: read once: each search reads a part of them.
TURNS = 3


class Finder:
    """Finds the servers repeatedly; reads everything only after a change.

    A guest or group that goes away in the meantime is left out.
    """

    def __init__(self, host: host_files.Host) -> None:
        self._host = host
        self._turns = itertools.cycle(range(TURNS))
        self._last: tuple[tuple[str, int], ...] | None = None
        self._running: list[tuple[host_guests.Guest, servers.Watched]] = []

    def find(self) -> list[servers.Watched]:
        """Returns the servers that run.

        :raises CannotMonitor: when guests cannot be read
        :raises KernelError: when the control groups cannot be read
        """
        hierarchy = self._hierarchy
        if hierarchy is None:
            return []
        now = tuple(self._signs(hierarchy))
        turn: int | None = next(self._turns)
        if now != self._last:
            self._running = list(self._running_guests(hierarchy))
            self._last, turn = now, None
        self._running = [
            (guest, self._with_budget(guest, server)
             if turn in (None, number % TURNS) else server)
            for number, (guest, server) in enumerate(self._running)]
        return [server for _, server in self._running]

    def _with_budget(self, guest: host_guests.Guest, server: servers.Watched
                     ) -> servers.Watched:
        granted = self._granted(guest, server)
        if granted == server.reservation:
            return server
        return dataclasses.replace(server, reservation=granted)

    @functools.cached_property
    def _hierarchy(self) -> cgroup.Hierarchy | None:
        return survey.hierarchy_of(self._host)

    @functools.cached_property
    def _interface(self) -> base.KernelInterface | None:
        return passive.find(self._host, None, machines=False).interface

    def _signs(self, hierarchy: cgroup.Hierarchy
               ) -> Iterator[tuple[str, int]]:
        """Yields values that change if a guest starts, ends or is replaced."""
        for partition in cgroup.GUEST_GROUPS:
            for path in self._host.children(hierarchy.mount + partition):
                below = self._host.children(path)
                inner = posixpath.join(path, 'libvirt')  # with systemd
                if inner in below:
                    below = [*below, *self._host.children(inner)]
                for directory in (path, *below):
                    inode = self._inode(directory)
                    if inode:
                        yield directory, inode
        # libvirt replaces the file of a domain at each change.
        for path in host_domains.files(self._host):
            yield path, self._inode(path) or 0

    def _running_guests(
            self, hierarchy: cgroup.Hierarchy
            ) -> Iterator[tuple[host_guests.Guest, servers.Watched]]:
        try:
            tasks = proc.walk(self._host)
        except (OSError, ValueError):
            return
        for guest in host_guests.find(self._host, tasks,
                                      hierarchy.controller):
            path = hierarchy.mount + guest.domain
            groups = dict(self._groups(path))
            if groups:
                yield guest, self._described(guest, groups)

    def _described(self, guest: host_guests.Guest, groups: dict[int, int]
                   ) -> servers.Watched:
        domain = domains.find(self._host, guest.keeper.pid)
        return servers.Watched(
            domain.uuid or str(guest), groups, domain.vcpus, domain.name,
            domain.project, domain.flavor, addresses=domain.addresses,
            taps=tuple(self._taps(domain.interfaces)),
            sockets=guest.container, vnf=domain.vnf)

    def _taps(self, interfaces: Iterable[str]) -> Iterator[int]:
        for name in interfaces:
            with contextlib.suppress(OSError):  # the interface is gone
                # A /sys may belong to another network namespace; the system
                # call is always for ours.
                yield socket.if_nametoindex(name)

    def _groups(self, path: str) -> Iterator[tuple[int, int]]:
        whole = self._inode(path)
        if whole:
            yield servers.WHOLE, whole
        for child in self._host.children(path):
            match = _VCPU.fullmatch(posixpath.basename(child))
            inode = self._inode(child)
            if match and inode:
                yield int(match[1]), inode

    def _inode(self, path: str) -> int | None:
        try:
            return self._host.inode(path)
        except OSError:
            return None  # the group is gone

    def _granted(self, guest: host_guests.Guest, server: servers.Watched
                 ) -> servers.Granted | None:
        """Returns the runtime and period that the kernel grants a server."""
        return self._budget(guest, server) or self._deadline(guest)

    def _budget(self, guest: host_guests.Guest, server: servers.Watched
                ) -> servers.Granted | None:
        if self._interface is None:
            return None
        names = [guest.domain, *(
            posixpath.join(guest.domain, f'vcpu{vcpu}')
            for vcpu in sorted(server.groups) if vcpu != servers.WHOLE)]
        for name in names:
            try:
                budget = self._interface.group_state(name)
            except (OSError, ValueError):
                continue  # the group is gone, or has no budget
            runtime = max(budget.runtimes, default=0)
            if runtime > 0 and budget.period_us > 0:
                return servers.Granted(runtime, budget.period_us,
                                       of_group=True)
        return None

    def _deadline(self, guest: host_guests.Guest
                  ) -> servers.Granted | None:
        pid = guest.keeper.pid
        try:
            for thread in map(int, self._host.names(f'/proc/{pid}/task')):
                policy = sched.get(thread)
                if policy.is_deadline and policy.period:
                    return servers.Granted(policy.runtime // _US,
                                           policy.period // _US)
        except OSError:
            pass
        return None
