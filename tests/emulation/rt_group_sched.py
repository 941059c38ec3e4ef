# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel with interface F1: RT_GROUP_SCHED on cgroup v1.

The rules are those of ``kernel/sched/rt.c`` as they were measured on a real
kernel; ``tests/functional/kernel/test_differential.py`` compares the two.
Next to the ``cpu`` hierarchy there is one of ``cpuset``, each with the task
lists that production code reads.
"""

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import errno
import os
import posixpath
import threading

from tests.emulation import clock as virtual
from tests.emulation import numbers

RUNTIME = 'cpu.rt_runtime_us'
PERIOD = 'cpu.rt_period_us'
CPUS = 'cpuset.cpus'
TASKS = 'tasks'
SYSCTL_RUNTIME = '/proc/sys/kernel/sched_rt_runtime_us'
SYSCTL_PERIOD = '/proc/sys/kernel/sched_rt_period_us'
POSSIBLE = '/sys/devices/system/cpu/possible'

CPU_MOUNT = '/sys/fs/cgroup/cpu'
CPUSET_MOUNT = '/sys/fs/cgroup/cpuset'

REAL_TIME = frozenset((os.SCHED_FIFO, os.SCHED_RR))

_SHIFT = 20
_MAX_RUNTIME_US = ((1 << 44) - 1) // 1000
_MAX_PERIOD_US = ((1 << 64) - 1) // 1000
_DEFAULT_PERIOD_US = 1_000_000


@dataclasses.dataclass(eq=False)
class Task:
    """A thread; *process* is the id of its first thread."""

    thread: int
    process: int
    policy: int = os.SCHED_OTHER
    priority: int = 0
    groups: dict[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(eq=False)
class Group:
    """A group of the cpu hierarchy; runtime -1 is unlimited.

    :ivar dead_since: when it was removed; its budget stays a while
    """

    runtime: int = 0
    period: int = _DEFAULT_PERIOD_US
    children: 'list[Group]' = dataclasses.field(default_factory=list)
    dead_since: float | None = None

    @property
    def ratio(self) -> int:
        return ratio(self.runtime, self.period)


def ratio(runtime: int, period: int) -> int:
    """The kernel's to_ratio(): 20 bits after the point, truncated."""
    return 1 << _SHIFT if runtime < 0 else (runtime << _SHIFT) // period


class Kernel:
    """The files (:class:`nova_rt.kernel.base.CgroupFS`) and the controls.

    :ivar written: (path, text) of all writes that succeeded, in order
    :ivar intercept: called before each write; it may raise to refuse it
    :ivar late_seconds: how long a removed group keeps its budget
    """

    def __init__(self, cpus: int = 4, clock: virtual.Clock | None = None
                 ) -> None:
        self.cpus = cpus
        self.clock = clock or virtual.Clock()
        self.late_seconds = 0.018
        self.sysctl = (950_000, 1_000_000)
        self.tasks: dict[int, Task] = {}
        self.written: list[tuple[str, str]] = []
        self.intercept: Callable[[str, str], None] | None = None
        root = Group(950_000, _DEFAULT_PERIOD_US)
        self._groups: dict[str, Group] = {'/': root}
        self._cpusets = {'/': frozenset(range(cpus))}
        self._mutex = threading.RLock()
        self._lock = threading.Lock()
        self._owner: int | None = None

    # The protocol CgroupFS.

    def read(self, path: str) -> str:
        with self._mutex:
            if path in (SYSCTL_RUNTIME, SYSCTL_PERIOD):
                return str(self.sysctl[path == SYSCTL_PERIOD])
            if path == POSSIBLE:
                return numbers.cpu_text(range(self.cpus))
            controller, group, name = self._split(path)
            if name == TASKS:
                return '\n'.join(str(task) for task, entry
                                 in sorted(self.tasks.items())
                                 if entry.groups[controller] == group)
            if name == CPUS:
                return numbers.cpu_text(self._cpusets[group])
            found = self._groups[group]
            return str(found.runtime if name == RUNTIME else found.period)

    def write(self, path: str, text: str) -> None:
        if self.intercept is not None:
            self.intercept(path, text)
        with self._mutex:
            controller, group, name = self._split(path)
            data = text + '\n'
            if name == RUNTIME:
                self._set_runtime(group, numbers.signed(data, path), path)
            elif name == PERIOD:
                self._set_period(group, numbers.unsigned(data, path), path)
            elif name == CPUS:
                self._set_cpus(group, numbers.cpu_set(data, path), path)
            else:
                self.move(numbers.signed(data, path), controller, group)
            self.written.append((path, text))

    def children(self, path: str) -> list[str]:
        with self._mutex:
            controller, group = self._locate(path)
            return sorted(
                self._mount(controller) + name for name in self._names(
                    controller) if name != '/'
                and posixpath.dirname(name) == group)

    @contextlib.contextmanager
    def locked(self, path: str) -> Iterator[None]:
        if self._owner == threading.get_ident():
            raise RuntimeError('locked twice: a real kernel would hang here')
        with self._lock:
            self._owner = threading.get_ident()
            try:
                yield
            finally:
                self._owner = None

    def mounts(self) -> list[tuple[str, str, str]]:
        return [('/proc', 'proc', 'rw'),
                (CPU_MOUNT, 'cgroup', 'rw,relatime,cpu'),
                (CPUSET_MOUNT, 'cgroup', 'rw,relatime,cpuset')]

    # Controls: what others than the code under test do to the kernel.

    def mkdir(self, group: str) -> None:
        """A new group in the cpu hierarchy."""
        with self._mutex:
            self._parent_of(group, group in self._groups, self._groups)
            self._groups[group] = Group()
            self._groups[posixpath.dirname(group)].children.append(
                self._groups[group])

    def mkdir_cpuset(self, group: str) -> None:
        """A new group in the cpuset hierarchy, with no CPU yet."""
        with self._mutex:
            self._parent_of(group, group in self._cpusets, self._cpusets)
            self._cpusets[group] = frozenset()

    def rmdir(self, group: str) -> None:
        """Remove a group of the cpu hierarchy; its budget stays a while."""
        with self._mutex:
            if group not in self._groups:
                raise numbers.refusal(errno.ENOENT, group)
            self._check_empty('cpu', group)
            self._groups.pop(group).dead_since = self.clock.now

    def rmdir_cpuset(self, group: str) -> None:
        with self._mutex:
            if group not in self._cpusets:
                raise numbers.refusal(errno.ENOENT, group)
            self._check_empty('cpuset', group)
            del self._cpusets[group]

    def spawn(self, thread: int, cpu: str = '/', cpuset: str = '/',
              process: int | None = None) -> Task:
        """An ordinary task that appears in these groups."""
        task = Task(thread, process or thread,
                    groups={'cpu': cpu, 'cpuset': cpuset})
        with self._mutex:
            self.tasks[thread] = task
        return task

    def fork(self, thread: int, child: int) -> Task:
        """A child process: same groups, same policy."""
        with self._mutex:
            parent = self.tasks[thread]
            task = dataclasses.replace(parent, thread=child, process=child,
                                       groups=dict(parent.groups))
            self.tasks[child] = task
        return task

    def exit(self, thread: int) -> None:
        with self._mutex:
            self.tasks.pop(thread, None)

    def move(self, thread: int, controller: str, group: str) -> None:
        """Write the thread's id to ``tasks`` of a group."""
        with self._mutex:
            if thread not in self.tasks:
                raise numbers.refusal(errno.ESRCH, group)
            if group not in self._names(controller):
                raise numbers.refusal(errno.ENOENT, group)
            task = self.tasks[thread]
            if (controller == 'cpu' and task.policy in REAL_TIME
                    and self._groups[group].runtime == 0):
                raise numbers.refusal(errno.EINVAL, group)
            if controller == 'cpuset' and not self._cpusets[group]:
                raise numbers.refusal(errno.ENOSPC, group)
            task.groups[controller] = group

    def set_policy(self, thread: int, policy: int, priority: int = 0
                   ) -> None:
        """sched_setscheduler(2)."""
        with self._mutex:
            if thread not in self.tasks:
                raise ProcessLookupError(errno.ESRCH, 'no such task')
            task = self.tasks[thread]
            if (1 <= priority <= 99) != (policy in REAL_TIME):
                raise numbers.refusal(errno.EINVAL, str(thread))
            if (policy in REAL_TIME and self.sysctl[0] >= 0
                    and self._groups[task.groups['cpu']].runtime == 0):
                raise numbers.refusal(errno.EPERM, str(thread))
            task.policy, task.priority = policy, priority

    def set_sysctl(self, runtime: int, period: int) -> None:
        """Write ``kernel.sched_rt_{runtime,period}_us``."""
        with self._mutex:
            if runtime < -1 or period <= 0 or runtime > period:
                raise numbers.refusal(errno.EINVAL, SYSCTL_RUNTIME)
            if runtime == 0:
                raise numbers.refusal(errno.EBUSY, SYSCTL_RUNTIME)
            before, self.sysctl = self.sysctl, (runtime, period)
            try:
                self._check_tree(None, 0, 1, SYSCTL_RUNTIME)
            except OSError:
                self.sysctl = before
                raise

    # What tests look at.

    def snapshot(self) -> dict[str, tuple[int, int]]:
        """(runtime, period) of all groups."""
        with self._mutex:
            return {name: (group.runtime, group.period)
                    for name, group in self._groups.items()}

    def confined(self) -> dict[str, frozenset[int]]:
        """The CPUs of all groups of the cpuset hierarchy."""
        with self._mutex:
            return dict(self._cpusets)

    # Admission.

    def _set_runtime(self, group: str, value: int, path: str) -> None:
        if value > _MAX_PERIOD_US or value > _MAX_RUNTIME_US:
            raise numbers.refusal(errno.EINVAL, path)
        found = self._groups[group]
        runtime = -1 if value < 0 else value
        if group == '/' and runtime == 0:
            raise numbers.refusal(errno.EINVAL, path)
        self._check_tree(found, runtime, found.period, path)
        found.runtime = runtime

    def _set_period(self, group: str, value: int, path: str) -> None:
        if value == 0 or value > _MAX_PERIOD_US:
            raise numbers.refusal(errno.EINVAL, path)
        found = self._groups[group]
        self._check_tree(found, found.runtime, value, path)
        found.period = value

    def _check_tree(self, changed: Group | None, runtime: int, period: int,
                    path: str) -> None:
        """tg_rt_schedulable() from the root down, before the change."""
        limit = ratio(*self.sysctl)
        stack = [self._groups['/']]
        while stack:
            group = stack.pop()
            self._bury(group)
            new = ((runtime, period) if group is changed
                   else (group.runtime, group.period))
            if new[0] > new[1]:
                raise numbers.refusal(errno.EINVAL, path)
            if (new[0] == 0 and group.runtime and self.sysctl[0] >= 0
                    and self._has_rt_task(group)):
                raise numbers.refusal(errno.EBUSY, path)
            total = sum(ratio(runtime, period) if child is changed
                        else child.ratio for child in group.children)
            if ratio(*new) > limit or total > ratio(*new):
                raise numbers.refusal(errno.EINVAL, path)
            stack.extend(group.children)

    def _bury(self, group: Group) -> None:
        """Forget removed children whose time has come, leaves first."""
        for child in group.children:
            self._bury(child)
        group.children = [
            child for child in group.children
            if child.dead_since is None or child.children
            or self.clock.now - child.dead_since < self.late_seconds]

    def _has_rt_task(self, group: Group) -> bool:
        return any(task.policy in REAL_TIME
                   and self._groups[task.groups['cpu']] is group
                   for task in self.tasks.values())

    def _set_cpus(self, group: str, cpus: frozenset[int], path: str) -> None:
        if group == '/':
            raise numbers.refusal(errno.EACCES, path)
        if not cpus <= self._cpusets['/']:
            raise numbers.refusal(errno.ERANGE, path)
        for name, held in self._cpusets.items():
            if name != '/' and posixpath.dirname(name) == group and (
                    not held <= cpus):
                raise numbers.refusal(errno.EBUSY, path)
        if not cpus <= self._cpusets[posixpath.dirname(group)]:
            raise numbers.refusal(errno.EACCES, path)
        if not cpus and any(task.groups['cpuset'] == group
                            for task in self.tasks.values()):
            raise numbers.refusal(errno.ENOSPC, path)
        self._cpusets[group] = cpus

    # Paths.

    @staticmethod
    def _mount(controller: str) -> str:
        return CPU_MOUNT if controller == 'cpu' else CPUSET_MOUNT

    def _names(self, controller: str) -> list[str]:
        return list(self._groups if controller == 'cpu' else self._cpusets)

    @staticmethod
    def _locate(path: str) -> tuple[str, str]:
        for controller, mount in (('cpu', CPU_MOUNT),
                                  ('cpuset', CPUSET_MOUNT)):
            if path == mount or path.startswith(mount + '/'):
                return controller, path[len(mount):] or '/'
        raise numbers.refusal(errno.ENOENT, path)

    def _split(self, path: str) -> tuple[str, str, str]:
        """(controller, group, file); ENOENT where there is none."""
        controller, group = self._locate(posixpath.dirname(path))
        name = posixpath.basename(path)
        known = (RUNTIME, PERIOD) if controller == 'cpu' else (CPUS,)
        if group not in self._names(controller) or (
                name not in (*known, TASKS)):
            raise numbers.refusal(errno.ENOENT, path)
        return controller, group, name

    @staticmethod
    def _parent_of(group: str, exists: bool, names: object) -> None:
        if exists:
            raise numbers.refusal(errno.EEXIST, group)
        if posixpath.dirname(group) not in names:  # type: ignore[operator]
            raise numbers.refusal(errno.ENOENT, group)

    def _check_empty(self, controller: str, group: str) -> None:
        below = any(name != '/' and posixpath.dirname(name) == group
                    for name in self._names(controller))
        inside = any(task.groups[controller] == group
                     for task in self.tasks.values())
        if below or inside or group == '/':
            raise numbers.refusal(errno.EBUSY, group)
