# SPDX-License-Identifier: Apache-2.0

"""Control groups as files: where they are, and what reading them needs.

:class:`CgroupFS` is the tiny layer that tests replace by an emulated kernel.
"""

import contextlib
import dataclasses
import errno
import posixpath
from typing import Protocol

#: Top groups libvirt puts guests below, with and without systemd.
PARTITIONS = ('/machine.slice', '/machine')

#: strerror of the OSError (EINVAL) for a write that the kernel cut short,
#: which is how HCBS kernels refuse; it must never be resent.
SHORT_WRITE = 'short write'

_REMOVED = 'nr_dying_subsys_cpu '


class CgroupFS(Protocol):
    """The operations on cgroup files that an interface needs.

    Paths are absolute.  Errors are OSError with the kernel's errno.
    """

    def read(self, path: str) -> str:
        """The content, without white space at its end."""

    def write(self, path: str, text: str) -> None:
        """One write(2) of *text* and a newline.

        :raises OSError: errno of the write; for a short one EINVAL with
            the strerror SHORT_WRITE
        """

    def children(self, path: str) -> list[str]:
        """Paths of the groups right below *path*; [] where it is gone."""

    def make(self, path: str) -> None:
        """mkdir(2) of a group; one that exists is fine."""

    def remove(self, path: str) -> None:
        """rmdir(2) of a group."""

    def locked(self, path: str) -> contextlib.AbstractContextManager[None]:
        """Exclusive use of the hierarchy at *path*, between processes."""

    def timers(self) -> list[float]:
        """When the timers of deadline servers that stand now will fire.

        In seconds of the monotonic clock; of all groups, since the kernel
        does not tell whose they are.

        :raises OSError: the kernel does not tell
        """

    def mounts(self) -> list[tuple[str, str, str]]:
        """(mount point, file system type, options) of all mounts."""


@dataclasses.dataclass(frozen=True, slots=True)
class Hierarchy:
    """The place where the cpu controller is mounted.

    :ivar controller: how lines of /proc/PID/cgroup name it: 'cpu' for
        cgroup v1, '' for v2
    """

    mount: str
    controller: str


def is_populated(files: CgroupFS, group: str) -> bool:
    """Whether a task is in a group or below, even one that has yet to end.

    Only cgroup v2 tells; since Linux 6.19 its lists leave out the tasks
    that are about to end.

    :param group: path of the directory
    :raises OSError: it cannot be read; a group that is gone is not populated
    """
    try:
        text = files.read(posixpath.join(group, 'cgroup.events'))
    except OSError as error:
        if is_gone(error):
            return False
        raise
    return 'populated 1' in text.splitlines()


def counts_removed(files: CgroupFS, group: str) -> bool:
    """Whether the cpu controller still counts a group removed below *group*.

    It does while tasks have yet to end there, and some time after.  Only
    cgroup v2 tells, since Linux 6.12.

    :param group: path of the directory
    """
    with contextlib.suppress(OSError):
        text = files.read(posixpath.join(group, 'cgroup.stat'))
        return any(line.startswith(_REMOVED) and not line.endswith(' 0')
                   for line in text.splitlines())
    return False


def is_below(group: str, other: str) -> bool:
    """Whether a group is another one or below that; not of the root."""
    return f'{group}/'.startswith(f'{other}/') and other.strip('/') != ''


def is_gone(error: OSError) -> bool:
    """Whether a group was removed meanwhile."""
    return error.errno in (errno.ENOENT, errno.ENODEV)


def is_short(error: OSError) -> bool:
    """Whether the kernel cut a write short."""
    return error.errno == errno.EINVAL and error.strerror == SHORT_WRITE
