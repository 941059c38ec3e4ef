# SPDX-License-Identifier: Apache-2.0

"""Examines the running kernel, so that interfaces can detect themselves.

The names of files distinguish most kernels.  If two kernels have the same
files, values are written to a scratch group without tasks and budget, to see
how the kernel answers.
"""

from collections.abc import Iterator
import contextlib
import enum
import errno
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.rules import exception

#: The scratch group, which exists only during a survey and never has a task.
SCRATCH = 'nova-rt-probe'
CONTROLLERS = 'cgroup.controllers'
SUBTREE = 'cgroup.subtree_control'


class Outcome(enum.Enum):
    """The answer of the kernel to a write."""

    ACCEPTED = 'accepted'
    REFUSED = 'refused'
    SHORT = 'cut short'


def hierarchy_of(fs: cgroup.CgroupFS) -> cgroup.Hierarchy | None:
    """Returns where the controller cpu is mounted; None if unmounted.

    :raises KernelError: when the mounts cannot be read
    """
    with _explained('/'):
        return _hierarchy_of(fs)


def _hierarchy_of(fs: cgroup.CgroupFS) -> cgroup.Hierarchy | None:
    for point, kind, options in fs.mounts():
        if kind == 'cgroup' and 'cpu' in options.split(','):
            return cgroup.Hierarchy(point, 'cpu')
    for point, kind, _ in fs.mounts():
        if kind == 'cgroup2' and 'cpu' in _words(fs, point, CONTROLLERS):
            return cgroup.Hierarchy(point, '')
    return None


@contextlib.contextmanager
def _explained(group: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise exception.KernelError(
            interface='probe', group=group,
            reason=f'cannot find out what the kernel offers: {error}'
        ) from error


def _words(fs: cgroup.CgroupFS, group: str, name: str) -> list[str]:
    try:
        return fs.read(posixpath.join(group, name)).split()
    except OSError as error:
        if cgroup.is_gone(error):
            return []
        raise


class Survey:
    """A survey of the kernel, with a scratch group while it is open."""

    def __init__(self, fs: cgroup.CgroupFS, hierarchy: cgroup.Hierarchy
                 ) -> None:
        self.fs = fs
        self.hierarchy = hierarchy
        self._scratch = posixpath.join(hierarchy.mount, SCRATCH)

    @property
    def version(self) -> int:
        """The version of cgroups: 1 or 2."""
        return 1 if self.hierarchy.controller else 2

    def in_root(self, name: str) -> bool:
        """Checks whether the root group has a file."""
        return self._exists(self.hierarchy.mount, name)

    def in_group(self, name: str) -> bool:
        """Checks whether a new group has a file."""
        return self._exists(self._scratch, name)

    def value(self, name: str) -> str:
        """Returns what a file of a new group holds."""
        return self.fs.read(posixpath.join(self._scratch, name))

    def number(self, name: str) -> int:
        """Returns the first number that a file of a new group holds."""
        words = self.value(name).split()
        if not words:
            raise ValueError(f'{name} is empty')
        return int(words[0])

    def attempt(self, name: str, text: str) -> Outcome:
        """Tests how a new group takes a value, and makes the group again."""
        try:
            self.fs.write(posixpath.join(self._scratch, name), text)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise  # Any other error says nothing about the value.
            return Outcome.SHORT if cgroup.is_short(error) else Outcome.REFUSED
        self.fs.remove(self._scratch)
        self.fs.make(self._scratch)
        return Outcome.ACCEPTED

    def _exists(self, group: str, name: str) -> bool:
        try:
            self.fs.read(posixpath.join(group, name))
        except OSError as error:
            if cgroup.is_gone(error):
                return False
            raise
        return True

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Makes the scratch group for the time of the block.

        :raises KernelError: when the kernel or the block fails
        """
        with (_explained(self._scratch),
              self.fs.locked(self.hierarchy.mount)):
            self._enable()
            with contextlib.suppress(FileNotFoundError):
                # A crash may have left the group.
                self.fs.remove(self._scratch)
            self.fs.make(self._scratch)
            try:
                yield
            finally:
                self.fs.remove(self._scratch)

    def _enable(self) -> None:
        # On v2 groups have the files of a controller only if their parent
        # enables the controller.  libvirt enables it for its guests, too.
        root = self.hierarchy.mount
        if self.version == 2 and 'cpu' not in _words(self.fs, root, SUBTREE):
            self.fs.write(posixpath.join(root, SUBTREE), '+cpu')
