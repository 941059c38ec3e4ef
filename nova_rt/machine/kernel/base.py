# SPDX-License-Identifier: Apache-2.0

"""The base class of kernel interfaces, and the budgets of groups."""

import abc
from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import enum
from typing import Self

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import survey as rt_survey
from nova_rt.rules import reservation

Lanes = tuple[int, ...]


class Evidence(enum.Enum):
    """The evidence that identifies an interface without a write."""

    NAMES = 'the names of its files'
    RELEASE = 'the release of the kernel'
    VALUES = 'the values of the groups that exist'


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """A runtime for each pCPU and a period, in us, for a group.

    On a replicated interface *runtime_us* has the same value for each pCPU
    of the claim, and the kernel grants this runtime on every CPU.
    """

    runtime_us: Mapping[int, int]
    period_us: int

    def gives(self, wanted: 'Budget', replicated: bool) -> bool:
        """Checks whether this budget grants *wanted*, and no more.

        :param replicated: True if a runtime is granted on every CPU, so that
            only the CPUs of *wanted* are compared
        """
        if self.period_us != wanted.period_us:
            return False
        if not replicated:
            return dict(self.runtime_us) == dict(wanted.runtime_us)
        return all(self.runtime_us.get(cpu) == runtime
                   for cpu, runtime in wanted.runtime_us.items())


@dataclasses.dataclass(frozen=True, slots=True)
class GroupState:
    """The budget of a group: a runtime for each lane, and a period, in us."""

    runtimes: Lanes
    period_us: int

    @property
    def ppm(self) -> Lanes:
        """The bandwidth of each lane, rounded up; a runtime of -1 is 100 %."""
        return tuple(
            reservation.PPM if runtime < 0
            else -(-runtime * reservation.PPM // max(1, self.period_us))
            for runtime in self.runtimes)

    @property
    def none(self) -> 'GroupState':
        """Returns this period with a runtime of 0."""
        return GroupState((0,) * len(self.runtimes), self.period_us)


@dataclasses.dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity of the kernel for reservations.

    :ivar ppm: the ppm of each pCPU, before ``[nova_rt] cpu_cap``
    :ivar tick_us: the tick at which CPU time is charged; 0 if it is charged
        exactly
    :ivar fixed_priorities: True if servers run by priorities, not by EDF
    :ivar min_period_us: the shortest period that the kernel keeps
    :ivar min_runtime_us: the shortest runtime that the kernel may be given
    :ivar before_interrupts: True if reservations run before the threads that
        handle interrupts
    :ivar others: the groups with bandwidth outside of the group of the guests;
        *ppm* leaves out this bandwidth
    """

    ppm: int
    tick_us: int
    fixed_priorities: bool = False
    min_period_us: int = 1
    min_runtime_us: int = 1
    before_interrupts: bool = False
    others: tuple[str, ...] = ()


class KernelInterface(abc.ABC):
    """One way in which kernels reserve CPU time for control groups.

    A group is named by its path from the root of the hierarchy, as in
    ``/proc/PID/cgroup``, for example ``/machine/lxc-1-x.libvirt-lxc``.
    All methods raise KernelError, whose message has the reason.
    """

    #: the name of the entry point
    name: str
    #: a label that is shown before the name
    label: str = 'Plug-in'
    #: the file of a group that holds its runtime
    file: str
    #: the files that the interface writes in addition to those that
    #: machine.privsep knows: names of files of the controller cpu, and regular
    #: expressions of their values
    writes: Mapping[str, str] = {}
    #: the shortest runtime and the shortest period that the kernel accepts,
    #: in us
    min_runtime_us: int = 1
    min_period_us: int = 1
    #: True if a runtime is granted on every CPU, whatever the pinning
    replicated: bool
    #: True if deadline servers enforce the budget: a guest is ended before
    #: its budget is released, and the budget is removed with the group
    drains: bool = False
    #: True if the timer of a throttled server outlives the budget and then
    #: kills the host: a budget is released only when no timer can be pending
    fragile: bool = False
    #: True if a group without a budget runs within the budget of its nearest
    #: ancestor that has one
    inherits: bool = False
    #: True if the CPUs of a group cannot change while it has a budget
    binds_cpus: bool = False
    #: True if servers on one CPU run by the priorities of their tasks, not
    #: by EDF
    fixed_priorities: bool = False
    #: True if the kernel stops a whole subtree when it has used the runtime of
    #: its parent, so that a parent may shrink only one period after its
    #: children
    throttles_parents: bool = False
    #: True if the runtime of a group is that of a deadline server, which is
    #: charged by a timer if the kernel has HRTICK, and which no real-time
    #: task can starve
    deadline_servers: bool = False

    def __init__(self, fs: cgroup.CgroupFS, hierarchy: cgroup.Hierarchy
                 ) -> None:
        self._fs = fs
        self._root = hierarchy.mount
        self.controller = hierarchy.controller

    @classmethod
    @abc.abstractmethod
    def detect(cls, survey: rt_survey.Survey) -> bool:
        """Checks if the kernel surely has this interface."""

    @classmethod
    def on(cls, survey: rt_survey.Survey) -> Self:
        """Returns the interface on the hierarchy of *survey*."""
        return cls(survey.fs, survey.hierarchy)

    def keeps_room(self, group: str) -> bool:
        """Checks whether *group* must hold more than its children hold.

        The answer concerns only groups whose children hold a budget.
        """
        return False

    @classmethod
    def evidence(cls, version: int) -> Evidence:
        """Returns the evidence that identifies the interface.

        :param version: the version of cgroups, 1 or 2
        """
        return Evidence.NAMES

    @abc.abstractmethod
    def prepare(self, ppm: int) -> None:
        """Gives the root group up to *ppm* for its children, at the start.

        Does nothing if the root group of the kernel starts with a budget.
        """

    @abc.abstractmethod
    def capacity(self, ours: str) -> Capacity:
        """Returns the capacity for guests; *ours* is the group of guests."""

    @abc.abstractmethod
    def reserve(self, budgets: Mapping[str, Budget]) -> None:
        """Gives groups exactly these *budgets*.

        A group may already hold this budget or another one.  After an error
        every group has its old budget again.
        """

    @abc.abstractmethod
    def read(self, group: str) -> Budget | None:
        """Returns the budget of *group*; None if it has none."""

    def group_state(self, group: str) -> GroupState:
        """Returns the values in the files of *group*, which may be a parent.

        If the groups of an interface keep a part for tasks of their own,
        this method returns what a group holds in all, and :meth:`read`
        returns what the group keeps.

        :raises OSError: when the group is gone
        :raises ValueError: when the file has a value that the kernel never
            writes
        """
        budget = self.read(group)
        if budget is None:
            return GroupState((0,), 0)
        return GroupState(tuple(budget.runtime_us.values()), budget.period_us)

    @abc.abstractmethod
    def release(self, groups: Sequence[str]) -> None:
        """Takes the budgets of *groups* back; ignores groups that are gone.

        The tasks of the groups must be ordinary or have ended.  If the
        interface is *fragile*, the method waits as long as a timer of the
        groups can be pending: a few of the longest periods that the groups had
        recently.
        """

    def forbid(self, groups: Iterable[str]) -> None:  # noqa: B027
        """Keeps real-time tasks out of *groups* until they get a budget.

        The tasks of the groups must be ordinary.  A group that has a budget
        stays as it is; a group that is gone is ignored.  Does nothing unless
        the interface *inherits*: on other interfaces a group without a budget
        takes no real-time tasks.
        """

    @abc.abstractmethod
    def settle(self, group: str) -> None:
        """Makes *group* and its ancestors hold exactly their children's sum.

        This method is called after libvirt removed groups with their budgets,
        so that no guest can take the room that they leave.
        """
