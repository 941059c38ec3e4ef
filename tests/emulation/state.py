# SPDX-License-Identifier: Apache-2.0

"""The state of an emulated kernel: groups, tasks and their budgets."""

import abc
from collections.abc import Callable
import errno
import posixpath
import threading
from typing import NoReturn, TypeVar

from tests.emulation import clock as virtual
from tests.emulation import groups
from tests.emulation import guard
from tests.emulation import numbers
from tests.emulation import paths
from tests.emulation import throttle

Task = groups.Task
Group = groups.Group
Budget = groups.Budget

_PPM = 1_000_000
#: The runtime that stands for 0 if a kernel refuses 0 for a CPU.
_NO_RUNTIME_US = 2
_COARSE = 6  # CLOCK_MONOTONIC_COARSE
_SLACK = 1e-9  # The error of adding seconds in floating point.

Value = TypeVar('Value')


class State(abc.ABC):
    """The state, with methods for an interface to override.

    :ivar written: (path, text) of all writes that succeeded, in order
    :ivar intercept: called before each write; it may raise to refuse the write
    :ivar late_seconds: how long a removed group keeps its budget
    """

    #: whether it dies of the action that killed the real HCBS kernel
    fragile = True
    #: whether it dies of the rest of a short write, or takes it for the value
    resend_kills = True
    #: whether servers are charged by a timer instead of at ticks
    hrtick = False
    #: whether it shows when the timers of its servers will fire
    shows_timers = True
    #: how much later than a tick run time is charged
    stolen_us = 0
    #: whether it has a budget for each CPU
    per_cpu = False

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None,
                 version: int = 1,
                 sysctl: tuple[int, int] = (950_000, 1_000_000),
                 servers_ppm: int = 0) -> None:
        """Boots the kernel.

        :param version: the version of cgroups
        :param sysctl: sched_rt_{runtime,period}_us
        :param servers_ppm: the ppm that fair and ext servers hold of each CPU
            in the deadline pool
        """
        self.cpus = cpus
        self.columns = cpus if self.per_cpu else 1
        self.version = version
        self.clock = clock or virtual.Clock()
        self.late_seconds = 0.018
        self.tick_us = round(self.clock.clock_getres(_COARSE) * _PPM)
        self.sysctl = sysctl
        self.servers_ppm = servers_ppm
        self.tasks: dict[int, Task] = {}
        self.written: list[tuple[str, str]] = []
        self.intercept: Callable[[str, str], None] | None = None
        self.guard = guard.Guard()
        #: whether a kernel lock that cpuset needs was never released
        self.hung = False
        self._rests: dict[str, str] = {}
        self._lock = threading.Lock()
        self._owner: int | None = None
        self._mounts = ({'cpu': paths.CPU_MOUNT, 'cpuset': paths.CPUSET_MOUNT}
                        if version == 1 else {'': paths.UNIFIED_MOUNT})
        self._trees = {key: {'/': Group('/', cpus=frozenset(range(cpus)))}
                       for key in self._mounts}
        self._root_group().budget = self.root_budget()

    # Methods that an interface overrides.

    @abc.abstractmethod
    def root_budget(self) -> Budget:
        """Returns the budget of the root group after boot."""

    @abc.abstractmethod
    def new_budget(self) -> Budget:
        """Returns the budget of a new group."""

    @abc.abstractmethod
    def rt_files(self, group: Group) -> tuple[str, ...]:
        """Returns the names of the files of a group's budget."""

    @abc.abstractmethod
    def show_rt(self, group: Group, name: str) -> str:
        """Returns what reading such a file gives, with the newline."""

    @abc.abstractmethod
    def write_rt(self, group: Group, name: str, data: str, path: str
                 ) -> int | None:
        """Takes or refuses a value; returns a count after a short write."""

    @abc.abstractmethod
    def admit_attach(self, task: Task, group: Group, path: str) -> None:
        """Checks whether a real-time task may enter a group.

        :raises OSError: when the task may not
        """

    @abc.abstractmethod
    def admit_policy(self, task: Task, group: Group) -> None:
        """Checks whether a task may become real-time in its group.

        :raises OSError: when the task may not
        """

    @abc.abstractmethod
    def admit_sysctl(self, runtime: int, period: int) -> None:
        """Checks new limits of the sysctls.

        :raises OSError: when these cannot be the limits
        """

    def admit_new(self, task: Task, fresh: Budget, path: str) -> None:
        """Checks whether the group can get a new budget by +cpu.

        :raises OSError: when the group cannot
        """
        if not fresh.has_runtime:
            raise numbers.refusal(errno.EINVAL, path)

    def admit_cpus(self, group: Group, path: str) -> None:
        """Checks whether the CPUs of a group can be changed now.

        :raises OSError: when they cannot
        """

    def is_real_time(self, task: Task) -> bool:
        """Returns whether a task counts as a real-time task of its group."""
        return task.policy in groups.REAL_TIME

    def context(self, group: Group) -> Group:
        """Returns the group whose servers run *group*'s real-time tasks."""
        return self.cpu_group(group)

    # Groups.

    def key(self, controller: str) -> str:
        """Returns the key of the hierarchy with a controller."""
        return controller if self.version == 1 else ''

    def group_at(self, path: str) -> Group | None:
        """Returns the group with this directory."""
        try:
            key, name = self.locate(path)
        except OSError:
            return None
        return self._trees[key].get(name)

    def locate(self, path: str) -> tuple[str, str]:
        """Returns (hierarchy, group) of a directory; ENOENT outside mounts."""
        for key, mount in self._mounts.items():
            if path == mount or path.startswith(mount + '/'):
                return key, path[len(mount):] or '/'
        raise numbers.refusal(errno.ENOENT, path)

    def files(self, path: str) -> list[str]:
        """Returns the names of the files in the directory of a group."""
        key, name = self.locate(path)
        group = self._trees[key][name]
        return [*self._core_files(key, group), *self._rt_files(key, group)]

    def _split(self, path: str) -> tuple[str, Group, str]:
        """Returns (hierarchy, group, file); raises ENOENT if it is missing."""
        key, name = self.locate(posixpath.dirname(path))
        group = self._trees[key].get(name)
        file = posixpath.basename(path)
        if group is None or (file not in self._core_files(key, group) and
                             file not in self._rt_files(key, group)):
            raise numbers.refusal(errno.ENOENT, path)
        return key, group, file

    def _rt_files(self, key: str, group: Group) -> tuple[str, ...]:
        return (self.rt_files(group) if key != 'cpuset'
                and group.budget is not None else ())

    def _core_files(self, key: str, group: Group) -> tuple[str, ...]:
        if self.version == 1:
            lists = (paths.TASKS, paths.PROCS)
            return (*lists, paths.CPUS) if key == 'cpuset' else lists
        common: tuple[str, ...] = (
            paths.PROCS, paths.THREADS, paths.CONTROLLERS, paths.SUBTREE,
            paths.STAT)
        if group.parent is None:
            return (*common, paths.EFFECTIVE)
        common += paths.TYPE, paths.EVENTS
        if 'cpuset' in group.parent.subtree:
            return (*common, paths.CPUS, paths.EFFECTIVE)
        return common

    def _groups(self) -> dict[str, Group]:
        """Returns the groups of the cpu controller."""
        return self._trees[self.key('cpu')]

    def _mkdir(self, key: str, name: str) -> None:
        with self.guard:
            tree = self._trees[key]
            if name in tree:
                raise numbers.refusal(errno.EEXIST, name)
            parent = tree.get(posixpath.dirname(name))
            if parent is None:
                raise numbers.refusal(errno.ENOENT, name)
            group = Group(name, parent)
            if key == 'cpu' or (not key and 'cpu' in parent.subtree):
                group.budget = self.new_budget()
            parent.children.append(group)
            tree[name] = group

    def _rmdir(self, key: str, name: str) -> None:
        with self.guard:
            tree = self._trees[key]
            if name not in tree:
                raise numbers.refusal(errno.ENOENT, name)
            group = tree[name]
            if group.parent is None or group.alive or self.inside(group, key):
                raise numbers.refusal(errno.EBUSY, name)
            del tree[name]
            group.dead_since = self.clock.now

    # Tasks.

    def group_of(self, task: Task) -> Group:
        """Returns a task's group in the cpu controller's hierarchy."""
        return self._groups()[task.groups[self.key('cpu')]]

    @staticmethod
    def cpu_group(group: Group) -> Group:
        """Returns the nearest group with the cpu controller."""
        return next(each for each in group.up() if each.budget is not None)

    def inside(self, group: Group, key: str | None = None) -> list[int]:
        """Returns the threads in a group that its lists show."""
        where = self.key('cpu') if key is None else key
        return sorted(thread for thread, task in self.tasks.items()
                      if task.groups[where] == group.name
                      and task.ending is None)

    def _real_time(self, group: Group) -> list[Task]:
        return [task for task in map(self.tasks.__getitem__,
                                     self.inside(group))
                if self.is_real_time(task)]

    def has_real_time(self, group: Group) -> bool:
        """Returns whether real-time tasks are in the group itself."""
        return group.dead_since is None and bool(self._real_time(group))

    def _occupied(self, group: Group) -> bool:
        return bool(self.inside(group))

    def _task(self, thread: int) -> Task:
        if thread not in self.tasks:
            raise numbers.refusal(errno.ESRCH, str(thread))
        return self.tasks[thread]

    def threads_of(self, process: int) -> list[Task]:
        """Returns the threads of a process."""
        return [task for task in self.tasks.values()
                if task.process == process]

    def _leave(self, task: Task) -> None:
        """Notes that a real-time task goes: a server may be throttled."""
        if task.policy not in groups.REAL_TIME:
            return
        self._throttle(self.context(self.group_of(task)))

    def _throttle(self, group: Group) -> None:
        """Notes that what its tasks ran may have to be paid back."""
        if group.parent is not None and group.budget is not None:
            debt_us = self.stolen_us + (
                0 if self.hrtick else self.tick_us)
            for column, (runtime, period) in enumerate(group.budget.pairs()):
                if self.per_cpu and runtime == _NO_RUNTIME_US:
                    continue  # Its tasks may not run on that CPU.
                group.quiet_at[column] = max(
                    group.quiet_at.get(column, 0.0), self.clock.now
                    + throttle.seconds(runtime, period, debt_us))

    # Budgets.

    def apply(self, group: Group, budget: Budget) -> None:
        """Stores an admitted budget, of which the host may die."""
        old = group.budget
        if (self.fragile and old is not None and group.parent is not None
                and any(before > 0 >= after
                        and self.clock.now + _SLACK < group.quiet_at.get(
                            column, 0.0)
                        for column, (before, after) in enumerate(zip(
                            old.runtimes, budget.runtimes, strict=True)))):
            self.die(f'{group.name} lost its runtime while a server of it '
                     f'could be throttled')
        if old is not None and any(task.policy in groups.REAL_TIME
                                   for task in self._real_time(group)):
            self._throttle(group)  # The timer is pending for the old deadline.
        group.budget = budget

    def bury(self) -> None:
        """Forgets removed groups whose time has come."""
        self._root_group().bury(self.clock.now, self.late_seconds)

    def _root_group(self) -> Group:
        return self._groups()['/']

    def limit(self) -> int:
        """Returns the ratio that the sysctls allow."""
        return groups.ratio(*self.sysctl)

    def pool(self) -> int:
        """Returns the size of the deadline pool over all CPUs."""
        servers = groups.ratio(self.servers_ppm, _PPM)
        return (self.limit() - servers) * self.cpus

    def deadline_used(self) -> int:
        """Returns what tasks of SCHED_DEADLINE hold of the pool."""
        return sum(task.deadline for task in self.tasks.values())

    def rt_share(self) -> int:
        """Returns what the root group takes of the pool on each CPU."""
        budget = self._root_group().budget
        return max(budget.ratios()) if budget is not None else 0

    def wide(self, columns: tuple[Value, ...]) -> tuple[Value, ...]:
        """Returns an entry for each CPU."""
        return columns if self.per_cpu else columns * self.cpus

    def die(self, reason: str) -> NoReturn:
        """Makes the kernel dead, and raises HostDied."""
        self.guard.die(reason)

    def _write_sysctl(self, path: str, data: str) -> None:
        values = list(self.sysctl)
        values[path == paths.SYSCTL_PERIOD] = numbers.signed(data, path)
        self.set_sysctl(values[0], values[1])

    @abc.abstractmethod
    def set_sysctl(self, runtime: int, period: int) -> None:
        """Writes ``kernel.sched_rt_{runtime,period}_us``."""
