# SPDX-License-Identifier: Apache-2.0

"""The control groups of the cpu hierarchy and what they hold."""

import collections
from collections.abc import Iterator
import dataclasses
import errno
import functools
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import base

#: Not listed: the group holds threads of another one (v2).
_ELSEWHERE = errno.EOPNOTSUPP


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """A group below the root, by its path in the hierarchy."""

    path: str
    held: base.Held

    @property
    def budget(self) -> bool:
        return any(self.held.runtimes)

    @property
    def configured(self) -> bool:
        """It has numbers of its own, if only zeros."""
        return self.budget or self.held.period_us > 0

    @property
    def ppm(self) -> int:
        return max(self.held.ppm, default=0)


class Groups:
    """One look at the whole hierarchy.

    :ivar all: by path, parents before their children; without the root
    :ivar unreadable: a sentence for each group that shows garbage
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
        """:raises OSError, ValueError: it cannot be read"""
        return Group('/', self._interface.held('/'))

    @functools.cached_property
    def partition(self) -> str:
        """The top group of all guests, where it will be if it is not."""
        found = [path for path in cgroup.PARTITIONS if path in self.all]
        systemd, plain = cgroup.PARTITIONS
        return (found or [systemd if '/system.slice' in self.all
                          else plain])[0]

    @property
    def top(self) -> list[Group]:
        return self.children('/')

    def get(self, path: str) -> Group | None:
        return self.root if path == '/' else self.all.get(path)

    def children(self, path: str) -> list[Group]:
        return self._children.get(path, [])

    def below(self, path: str) -> list[Group]:
        """All groups below *path*, at any depth."""
        prefix = path.rstrip('/') + '/'
        return [group for group in self.all.values()
                if group.path.startswith(prefix)]

    def charged(self, path: str) -> list[Group]:
        """The groups whose budgets are part of that of *path*."""
        found = []
        for child in self.children(path):
            if self._interface.inherits and not child.configured:
                found += self.charged(child.path)
            elif child.budget:
                found.append(child)
        return found

    def room(self, path: str) -> int:
        """ppm that a group holds beyond what its children do."""
        group = self.get(path)
        if group is None:
            return 0
        taken = [sum(lane) for lane in zip(
            *(child.held.ppm for child in self.charged(path)), strict=True)]
        if any(taken) and self._interface.keeps_room(path):
            return 0
        own = group.held.ppm
        if self._interface.binds_cpus:
            # One runtime for all its CPUs, so that of the fullest counts.
            return max(own, default=0) - max(taken, default=0)
        return max(map(int.__sub__, own, taken or (0,) * len(own)),
                   default=0)

    def occupied(self, path: str) -> bool:
        """Whether a task is in the group itself."""
        try:
            return bool(self._host.read(
                posixpath.join(self._mount, path.strip('/'), self._list)))
        except OSError as error:
            if cgroup.is_gone(error) or error.errno == _ELSEWHERE:
                return False
            raise

    def populated(self, path: str) -> bool:
        """Whether a task is in the group or below."""
        return self.occupied(path) or any(
            self.occupied(group.path) for group in self.below(path))

    def _walk(self) -> Iterator[Group]:
        queue = self._host.children(self._mount)
        for path in queue:
            queue += self._host.children(path)
            name = path.removeprefix(self._mount)
            try:
                yield Group(name, self._interface.held(name))
            except OSError as error:
                if not cgroup.is_gone(error):
                    self.unreadable.append(f'{name}: {error}')
            except ValueError as error:
                self.unreadable.append(f'{name}: {error}')

    def parents(self) -> list[str]:
        """The groups that only hand out: a guest's own may keep a part."""
        top = [self.partition] if self.partition in self.all else []
        return top + [
            group.path for group in self.below(self.partition)
            if group.budget and self.charged(group.path)
            and not self.occupied(group.path)]
