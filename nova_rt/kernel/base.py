# SPDX-License-Identifier: Apache-2.0

"""What every kernel interface offers, and the files below it.

The interfaces themselves live in one module each.  Here: their common shape
and the tiny file layer that tests replace by an emulated kernel.
"""

import abc
from collections.abc import Iterator, Mapping
import contextlib
import dataclasses
from typing import Protocol, Self


class CgroupFS(Protocol):
    """The operations on cgroup files that an interface needs.

    Paths are absolute.  Errors are OSError with the kernel's errno.
    """

    def read(self, path: str) -> str:
        """The content, without the newline at its end."""

    def write(self, path: str, text: str) -> None:
        """One write(2) of *text* and a newline.

        :raises OSError: errno of the write; EINVAL for a short one, which is
            how some kernels refuse (and which must never be resent)
        """

    def children(self, path: str) -> list[str]:
        """Paths of the groups right below *path*; [] where it is gone."""

    def locked(self, path: str) -> contextlib.AbstractContextManager[None]:
        """Exclusive use of the hierarchy at *path*, between processes."""

    def mounts(self) -> list[tuple[str, str, str]]:
        """(mount point, file system type, options) of all mounts."""


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """What a group holds: us of runtime by pCPU, and the period in us.

    On a replicated interface *runtime_us* has one equal value for each pCPU
    that was asked for; the kernel grants it on every CPU.
    """

    runtime_us: Mapping[int, int]
    period_us: int


@dataclasses.dataclass(frozen=True, slots=True)
class Capacity:
    """What the kernel lets us hand out.

    :ivar ppm: of each pCPU, before any cap of ours
    :ivar tick_us: granularity of enforcement, 0 where it is fine
    """

    ppm: int
    tick_us: int


class KernelInterface(abc.ABC):
    """One way in which kernels reserve CPU time for control groups.

    A group is named by its path from the root of the hierarchy, as
    ``/proc/PID/cgroup`` has it: ``/machine/lxc-1-x.libvirt-lxc``.
    All methods but *detect* raise KernelError, a sentence with the reason.
    """

    #: name of the entry point
    name: str
    #: one runtime is granted on every CPU, whatever the pinning
    replicated: bool
    #: the line of /proc/PID/cgroup: a v1 controller, '' for v2
    controller: str

    @classmethod
    @abc.abstractmethod
    def detect(cls, fs: CgroupFS) -> Self | None:
        """The interface, if the running kernel has it; never guesses."""

    @abc.abstractmethod
    def capacity(self, ours: str) -> Capacity:
        """What may be reserved below *ours*, the top group of the guests."""

    @abc.abstractmethod
    def reserve(self, group: str, budget: Budget) -> None:
        """Give *group* exactly *budget*; idempotent, and so also a resize.

        All or nothing: on an error every value written is put back.
        """

    @abc.abstractmethod
    def read(self, group: str) -> Budget | None:
        """What the kernel holds for *group*; None for no reservation."""

    @abc.abstractmethod
    def release(self, group: str) -> None:
        """Take the budget of *group* back; a group that is gone is fine.

        Its tasks must not be real-time any more, or have ended.
        """

    @abc.abstractmethod
    def settle(self, group: str) -> None:
        """Make *group* and its ancestors hold just what their children do.

        After libvirt removed groups with their budgets: no guest shall find
        room to take.
        """


class Journal:
    """Ordered writes that can be undone.

    Each step remembers the value it replaced.  An undo ignores groups that
    were removed meanwhile: their budget is gone with them.
    """

    def __init__(self, fs: CgroupFS) -> None:
        self._fs = fs
        self._done: list[tuple[str, str]] = []

    def write(self, path: str, value: int) -> None:
        """Write and read back.

        :raises OSError: the kernel refused, or reads back another value
        """
        old = self._fs.read(path)
        if old == str(value):
            return
        self._done.append((path, old))
        self._fs.write(path, str(value))
        found = self._fs.read(path)
        if found != str(value):
            raise OSError(f'{path} reads {found} after writing {value}')

    def undo(self) -> None:
        """Put the old values back, last first."""
        while self._done:
            path, old = self._done.pop()
            with contextlib.suppress(OSError):
                if self._fs.read(path) != old:
                    self._fs.write(path, old)


@contextlib.contextmanager
def journal(fs: CgroupFS) -> Iterator[Journal]:
    """A journal that undoes its writes when the block raises."""
    entries = Journal(fs)
    try:
        yield entries
    except BaseException:
        entries.undo()
        raise
