# SPDX-License-Identifier: Apache-2.0

"""What every kernel interface offers, and the files below it.

The interfaces themselves live in one module each.  Here: their common shape
and the tiny file layer that tests replace by an emulated kernel.
"""

import abc
from collections.abc import Mapping, Sequence
import contextlib
import dataclasses
import errno
from typing import Protocol, Self, TYPE_CHECKING

if TYPE_CHECKING:
    from nova_rt.kernel import survey as survey_module

#: strerror of the OSError (EINVAL) for a write that the kernel cut short,
#: which is how HCBS kernels refuse; it must never be resent.
SHORT_WRITE = 'short write'


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
    """Where the cpu controller is mounted.

    :ivar controller: how lines of /proc/PID/cgroup name it: 'cpu' for
        cgroup v1, '' for v2
    """

    mount: str
    controller: str


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
    :ivar fixed_priorities: servers run by priorities and not by EDF
    :ivar min_period_us: the shortest period that the kernel keeps
    :ivar min_runtime_us: the shortest runtime that it may be given
    """

    ppm: int
    tick_us: int
    fixed_priorities: bool = False
    min_period_us: int = 1
    min_runtime_us: int = 1


class KernelInterface(abc.ABC):
    """One way in which kernels reserve CPU time for control groups.

    A group is named by its path from the root of the hierarchy, as
    ``/proc/PID/cgroup`` has it: ``/machine/lxc-1-x.libvirt-lxc``.
    All methods raise KernelError, a sentence with the reason.
    """

    #: name of the entry point
    name: str
    #: one runtime is granted on every CPU, whatever the pinning
    replicated: bool
    #: deadline servers enforce it: a guest is ended first, and its budget
    #: goes with its group
    drains: bool = False
    #: the timer of a throttled server outlives its budget and then kills
    #: the host, so a budget is taken only when none can stand any more
    fragile: bool = False
    #: groups without a budget of their own run within that of the nearest
    #: ancestor that has one
    inherits: bool = False
    #: the CPUs of a group are fixed while it has a budget
    binds_cpus: bool = False
    #: servers of one CPU run by the priorities of their tasks, not by EDF
    fixed_priorities: bool = False

    def __init__(self, fs: CgroupFS, hierarchy: Hierarchy) -> None:
        self._fs = fs
        self._root = hierarchy.mount
        self.controller = hierarchy.controller

    @classmethod
    @abc.abstractmethod
    def detect(cls, survey: 'survey_module.Survey') -> bool:
        """Whether the running kernel has this interface; never guesses."""

    @classmethod
    def on(cls, survey: 'survey_module.Survey') -> Self:
        """The interface on the hierarchy of *survey*."""
        return cls(survey.fs, survey.hierarchy)

    def keeps_room(self, group: str) -> bool:
        """Whether *group* shall hold more than its children, if any do."""
        return False

    @abc.abstractmethod
    def prepare(self, ppm: int) -> None:
        """Once at start: have the root group hand out up to *ppm*.

        Nothing to do where the kernel starts with a budget in the root.
        """

    @abc.abstractmethod
    def capacity(self, ours: str) -> Capacity:
        """What may be reserved below *ours*, the top group of the guests."""

    @abc.abstractmethod
    def reserve(self, budgets: Mapping[str, Budget]) -> None:
        """Give groups exactly these *budgets*; idempotent, also a resize.

        All or nothing: on an error every value written is put back.
        """

    @abc.abstractmethod
    def read(self, group: str) -> Budget | None:
        """What the kernel holds for *group*; None for no reservation."""

    @abc.abstractmethod
    def release(self, groups: Sequence[str]) -> None:
        """Take the budgets of *groups* back; one that is gone is fine.

        Their tasks must not be real-time any more, or have ended.  Where
        the interface is *fragile*, this takes as long as a timer of their
        servers can stand: periods, of the longest that they had lately.
        """

    @abc.abstractmethod
    def settle(self, group: str) -> None:
        """Make *group* and its ancestors hold just what their children do.

        After libvirt removed groups with their budgets: no guest shall find
        room to take.
        """


def is_gone(error: OSError) -> bool:
    """Whether a group was removed meanwhile."""
    return error.errno in (errno.ENOENT, errno.ENODEV)


def is_short(error: OSError) -> bool:
    """Whether the kernel cut a write short."""
    return error.errno == errno.EINVAL and error.strerror == SHORT_WRITE
