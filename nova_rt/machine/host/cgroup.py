# SPDX-License-Identifier: Apache-2.0

"""Finds the control groups of this machine, and reads their files.

Tests replace :class:`CgroupFS` by an emulated kernel.
"""

import contextlib
import dataclasses
import errno
import posixpath
from typing import Protocol

#: The top groups below which libvirt puts guests, with and without systemd.
GUEST_GROUPS = ('/machine.slice', '/machine')

#: strerror of the OSError (EINVAL) for a short write: HCBS kernels refuse a
#: value in this way.  The rest of the value must never be sent.
SHORT_WRITE = 'short write'

_REMOVED = 'nr_dying_subsys_cpu '


class CgroupFS(Protocol):
    """The operations on cgroup files that an interface needs.

    Paths are absolute.  Errors are OSError with the kernel's errno.
    """

    def read(self, path: str) -> str:
        """Returns the content of a file without white space at its end."""

    def write(self, path: str, text: str) -> None:
        """Writes *text* and a newline by one write(2).

        :raises OSError: when the write fails, with its errno; a short write
            fails with EINVAL and the strerror SHORT_WRITE
        """

    def children(self, path: str) -> list[str]:
        """Returns the paths of the groups directly below *path*.

        :returns: [] if *path* is gone
        """

    def make(self, path: str) -> None:
        """Makes a group by mkdir(2), unless the group exists."""

    def remove(self, path: str) -> None:
        """Removes a group by rmdir(2)."""

    def locked(self, path: str) -> contextlib.AbstractContextManager[None]:
        """Returns a lock, between processes, on the hierarchy at *path*."""

    def timers(self) -> list[float]:
        """Returns when the pending timers of deadline servers will fire.

        The times are in seconds of the monotonic clock.  The times concern all
        groups, because the kernel does not show the group of a timer.

        :raises OSError: when the kernel does not show its timers
        """

    def mounts(self) -> list[tuple[str, str, str]]:
        """Returns (mount point, file system type, options) of all mounts."""


@dataclasses.dataclass(frozen=True, slots=True)
class Hierarchy:
    """The place where the cpu controller is mounted.

    :ivar controller: its name in lines of /proc/PID/cgroup: 'cpu' for cgroup
        v1, '' for v2
    """

    mount: str
    controller: str


def is_populated(files: CgroupFS, group: str) -> bool:
    """Checks if a group, or a group below it, has tasks.

    Only cgroup v2 shows this.  Tasks that are about to end also count,
    although the task lists of v2 leave these tasks out since Linux 6.19.

    :param group: path of the directory
    :returns: False if the group is gone
    :raises OSError: when the file of the group cannot be read
    """
    try:
        text = files.read(posixpath.join(group, 'cgroup.events'))
    except OSError as error:
        if is_gone(error):
            return False
        raise
    return 'populated 1' in text.splitlines()


def counts_removed(files: CgroupFS, group: str) -> bool:
    """Checks if the controller cpu still counts removed groups below *group*.

    The kernel counts a removed group while tasks of the group have yet to
    end, and for some time after that.  Only cgroup v2 shows this, since Linux
    6.12.

    :param group: path of the directory
    """
    with contextlib.suppress(OSError):
        text = files.read(posixpath.join(group, 'cgroup.stat'))
        return any(line.startswith(_REMOVED) and not line.endswith(' 0')
                   for line in text.splitlines())
    return False


def is_below(group: str, other: str) -> bool:
    """Checks if *group* is *other* or below; False if *other* is the root."""
    return f'{group}/'.startswith(f'{other}/') and other.strip('/') != ''


def is_gone(error: OSError) -> bool:
    """Checks whether an error means that a group was removed."""
    return error.errno in (errno.ENOENT, errno.ENODEV)


def is_short(error: OSError) -> bool:
    """Checks whether an error means a short write."""
    return error.errno == errno.EINVAL and error.strerror == SHORT_WRITE
