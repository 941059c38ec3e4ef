# SPDX-License-Identifier: Apache-2.0

"""Reads the control groups of the cpu hierarchy and what they hold."""

import collections
from collections.abc import Iterator
import dataclasses
import errno
import functools
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import base

#: The errno of a v2 group whose threads are listed in another group.
_ELSEWHERE = errno.EOPNOTSUPP


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """A group below the root, by its path in the hierarchy."""

    path: str
    state: base.GroupState

    @property
    def budget(self) -> bool:
        """True if the group holds a runtime."""
        return any(self.state.runtimes)

    @property
    def configured(self) -> bool:
        """True if the group has numbers of its own, even if they are 0."""
        return self.budget or self.state.period_us > 0

    @property
    def ppm(self) -> int:
        """The bandwidth of the fullest lane, in ppm."""
        return max(self.state.ppm, default=0)


class Groups:
    """The state of the whole hierarchy at one moment.

    :ivar all: groups by path, parents before their children, without the
        root
    :ivar unreadable: a sentence for each group that cannot be read
    """

    def __init__(self, host: host_files.Host, hierarchy: cgroup.Hierarchy,
                 interface: base.KernelInterface) -> None:
        self._host = host
        self._mount = hierarchy.mount
        self._list = 'tasks' if hierarchy.controller else 'cgroup.threads'
        self._interface = interface
        self.unreadable: list[str] = []
        self.all = {group.path: group for group in self._walk()}
        self._children: dict[str, list[Group]] = collections.defaultdict(list)
        for group in self.all.values():
            self._children[posixpath.dirname(group.path)].append(group)

    @functools.cached_property
    def root(self) -> Group:
        """The root group.

        :raises OSError: when its file cannot be read
        :raises ValueError: when its file has a bad value
        """
        return Group('/', self._interface.group_state('/'))

    @functools.cached_property
    def partition(self) -> str:
        """The top group of all guests, even if it does not exist yet."""
        existing = [path for path in cgroup.GUEST_GROUPS if path in self.all]
        systemd, plain = cgroup.GUEST_GROUPS
        return (existing or [systemd if '/system.slice' in self.all
                             else plain])[0]

    @property
    def top(self) -> list[Group]:
        """The groups directly below the root."""
        return self.children('/')

    def get(self, path: str) -> Group | None:
        """Returns the group with this path, or None."""
        return self.root if path == '/' else self.all.get(path)

    def children(self, path: str) -> list[Group]:
        """Returns the groups directly below *path*."""
        return self._children.get(path, [])

    def below(self, path: str) -> list[Group]:
        """Returns all groups below *path*, at any depth."""
        prefix = path.rstrip('/') + '/'
        return [group for group in self.all.values()
                if group.path.startswith(prefix)]

    def charged(self, path: str) -> list[Group]:
        """Returns the groups whose budgets are parts of *path*'s budget."""
        groups = []
        for child in self.children(path):
            if self._interface.inherits and not child.configured:
                groups += self.charged(child.path)
            elif child.budget:
                groups.append(child)
        return groups

    def room(self, path: str) -> int:
        """Returns the ppm that a group holds beyond its children."""
        group = self.get(path)
        if group is None:
            return 0
        taken = [sum(lane) for lane in zip(
            *(child.state.ppm for child in self.charged(path)), strict=True)]
        if any(taken) and self._interface.keeps_room(path):
            return 0
        own = group.state.ppm
        if self._interface.binds_cpus:
            # A group has one runtime for all its CPUs, so that its fullest
            # CPU counts.
            return max(own, default=0) - max(taken, default=0)
        return max(map(int.__sub__, own, taken or (0,) * len(own)),
                   default=0)

    def occupied(self, path: str) -> bool:
        """Checks whether a task is in the group itself."""
        try:
            return bool(self._host.read(
                posixpath.join(self._mount, path.strip('/'), self._list)))
        except OSError as error:
            if cgroup.is_gone(error) or error.errno == _ELSEWHERE:
                return False
            raise

    def populated(self, path: str) -> bool:
        """Checks whether a task is in the group or below it."""
        return self.occupied(path) or any(
            self.occupied(group.path) for group in self.below(path))

    def _walk(self) -> Iterator[Group]:
        queue = self._host.children(self._mount)
        for path in queue:
            queue += self._host.children(path)
            name = path.removeprefix(self._mount)
            try:
                yield Group(name, self._interface.group_state(name))
            except OSError as error:
                if not cgroup.is_gone(error):
                    self.unreadable.append(f'{name}: {error}')
            except ValueError as error:
                self.unreadable.append(f'{name}: {error}')

    def parents(self) -> list[str]:
        """Returns the groups that have a budget only for their children.

        If a group of a guest has tasks of its own, the group is left out.
        """
        top = [self.partition] if self.partition in self.all else []
        return top + [
            group.path for group in self.below(self.partition)
            if group.budget and self.charged(group.path)
            and not self.occupied(group.path)]
