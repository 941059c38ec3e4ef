# SPDX-License-Identifier: Apache-2.0

"""What every kernel interface offers; each lives in a module of its own."""

import abc
from collections.abc import Mapping, Sequence
import dataclasses
import enum
from typing import Self

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.rules import reservation

Lanes = tuple[int, ...]


class Evidence(enum.Enum):
    """What tells an interface from others without touching the kernel."""

    NAMES = 'the names of its files'
    RELEASE = 'the release of the kernel'
    VALUES = 'the values of the groups that exist'


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """What a group holds: us of runtime by pCPU, and the period in us.

    On a replicated interface *runtime_us* has one equal value for each pCPU
    that was asked for; the kernel grants it on every CPU.
    """

    runtime_us: Mapping[int, int]
    period_us: int

    def gives(self, wanted: 'Budget', replicated: bool) -> bool:
        """Whether a group that holds this has what was wanted, and no more.

        :param replicated: a runtime is granted on every CPU, so on those
            that were asked for, too
        """
        if self.period_us != wanted.period_us:
            return False
        if not replicated:
            return dict(self.runtime_us) == dict(wanted.runtime_us)
        return all(self.runtime_us.get(cpu) == runtime
                   for cpu, runtime in wanted.runtime_us.items())


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """What a group holds: us of runtime by lane, and the period in us."""

    runtimes: Lanes
    period_us: int

    @property
    def ppm(self) -> Lanes:
        """Bandwidth by lane, rounded up; all of it for a runtime of -1."""
        return tuple(
            reservation.PPM if runtime < 0
            else -(-runtime * reservation.PPM // max(1, self.period_us))
            for runtime in self.runtimes)

    @property
    def none(self) -> 'Held':
        """The same without a runtime."""
        return Held((0,) * len(self.runtimes), self.period_us)


@dataclasses.dataclass(frozen=True, slots=True)
class Capacity:
    """What the kernel lets us hand out.

    :ivar ppm: of each pCPU, before any cap of ours
    :ivar tick_us: granularity of enforcement, 0 where it is fine
    :ivar fixed_priorities: servers run by priorities and not by EDF
    :ivar min_period_us: the shortest period that the kernel keeps
    :ivar min_runtime_us: the shortest runtime that it may be given
    :ivar before_interrupts: reservations go before the threads that handle
        interrupts
    """

    ppm: int
    tick_us: int
    fixed_priorities: bool = False
    min_period_us: int = 1
    min_runtime_us: int = 1
    before_interrupts: bool = False


class KernelInterface(abc.ABC):
    """One way in which kernels reserve CPU time for control groups.

    A group is named by its path from the root of the hierarchy, as
    ``/proc/PID/cgroup`` has it: ``/machine/lxc-1-x.libvirt-lxc``.
    All methods raise KernelError, a sentence with the reason.
    """

    #: name of the entry point
    name: str
    #: what people call it, before the name
    label: str = 'Plug-in'
    #: the file of a group that holds its runtime
    file: str
    #: what it writes beyond the files that machine.privsep knows: names of
    #: files of the controller cpu, and regular expressions of their values
    writes: Mapping[str, str] = {}
    #: the shortest runtime and period that the kernel takes, in us
    min_runtime_us: int = 1
    min_period_us: int = 1
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
    #: a group's runtime is a deadline server, which is charged by a timer
    #: where the kernel has HRTICK, and cannot be starved by a real-time task
    deadline_servers: bool = False

    def __init__(self, fs: cgroup.CgroupFS, hierarchy: cgroup.Hierarchy
                 ) -> None:
        self._fs = fs
        self._root = hierarchy.mount
        self.controller = hierarchy.controller

    @classmethod
    @abc.abstractmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        """Whether the running kernel has this interface; never guesses."""

    @classmethod
    def on(cls, survey: rt_survey.Survey) -> Self:
        """The interface on the hierarchy of *survey*."""
        return cls(survey.fs, survey.hierarchy)

    def keeps_room(self, group: str) -> bool:
        """Whether *group* shall hold more than its children, if any do."""
        return False

    @classmethod
    def evidence(cls, version: int) -> Evidence:
        """What tells it from others on this version of cgroups."""
        return Evidence.NAMES

    @abc.abstractmethod
    def prepare(self, ppm: int) -> None:
        """Has the root group hand out up to *ppm*; called once, at start.

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

    def held(self, group: str) -> Held:
        """What the files of *group* show, be it in the middle of others.

        An interface whose groups keep a part for tasks of their own tells
        here what they hold, and by :meth:`read` what they keep.

        :raises OSError: the group is gone
        :raises ValueError: the file holds what the kernel never writes
        """
        found = self.read(group)
        if found is None:
            return Held((0,), 0)
        return Held(tuple(found.runtime_us.values()), found.period_us)

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
