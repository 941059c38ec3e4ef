# SPDX-License-Identifier: Apache-2.0

"""The common parts of all emulated kernels: the files and the controls.

The interfaces, one module each, say which files a budget has, which values
they take and where real-time tasks may be.  They are written after the
facts about the kernels, not after the code under test.
"""

from collections.abc import Iterator
import contextlib
import dataclasses
import errno
import fractions
import posixpath
import threading

from nova_rt.machine.host import cgroup
from nova_rt.machine import privsep
from tests.emulation import cpusets
from tests.emulation import groups
from tests.emulation import guard
from tests.emulation import hierarchies
from tests.emulation import numbers
from tests.emulation import paths

HostDied = guard.HostDied
Task = groups.Task
Group = groups.Group
Budget = groups.Budget
ratio = groups.ratio

PPM = 1_000_000


class Kernel(hierarchies.Hierarchies):
    """The files (``machine.host.cgroup.CgroupFS``) and the controls."""

    # The protocol CgroupFS.

    def read(self, path: str) -> str:
        return self.show(path).rstrip()

    def write(self, path: str, text: str) -> None:
        data = text + '\n'
        if self.write_data(path, data) != len(data):
            raise OSError(errno.EINVAL, cgroup.SHORT_WRITE, path)
        # The gate of production: privsep writes no file that an interface
        # does not declare.
        name = posixpath.basename(path)
        if name.startswith('cpu.') and privsep.form_of(name) is None:
            raise PermissionError(
                errno.EPERM, f'nova_rt.machine.privsep does not write {name}; '
                f'name the file in "writes" of the interface')

    def children(self, path: str) -> list[str]:
        with self.guard:
            try:
                key, name = self.locate(path)
                group = self._trees[key][name]
            except (KeyError, OSError):
                return []
            return sorted(self._mounts[key] + child.name
                          for child in group.alive)

    def make(self, path: str) -> None:
        with contextlib.suppress(FileExistsError):
            self.create(path)

    def create(self, path: str) -> None:
        """Does what mkdir(2) does."""
        self._mkdir(*self.locate(path))

    def remove(self, path: str) -> None:
        self._rmdir(*self.locate(path))

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

    @property
    def busy(self) -> bool:
        """Returns whether somebody is between the steps of a change."""
        return self._owner is not None

    def timers(self) -> list[float]:
        with self.guard:
            if not self.shows_timers:
                raise numbers.refusal(errno.ENOENT, '/proc/timer_list')
            return [due for group in self._root_group().walk()
                    for due in group.quiet_at.values()
                    if due > self.clock.now]

    def mounts(self) -> list[tuple[str, str, str]]:
        kind = 'cgroup' if self.version == 1 else 'cgroup2'
        return [('/proc', 'proc', 'rw'), *(
            (point, kind, f'rw,relatime,{key or "nsdelegate"}')
            for key, point in self._mounts.items())]

    # The files with the results of read(2) and write(2).

    def show(self, path: str) -> str:
        """Returns what read(2) returns."""
        with self.guard:
            self._rests.pop(path, None)
            if path in (paths.SYSCTL_RUNTIME, paths.SYSCTL_PERIOD):
                return f'{self.sysctl[path == paths.SYSCTL_PERIOD]}\n'
            if path == paths.POSSIBLE:
                return numbers.cpu_text(range(self.cpus)) + '\n'
            key, group, name = self._split(path)
            if name in self._rt_files(key, group):
                return self.show_rt(group, name)
            return self._show_core(key, group, name, path)

    def write_data(self, path: str, data: str) -> int:
        """Does what write(2) does: returns its count, or raises its errno."""
        text = data.removesuffix('\n')
        if self.intercept is not None:
            self.intercept(path, text)
        with self.guard:
            if path in (paths.SYSCTL_RUNTIME, paths.SYSCTL_PERIOD):
                self._write_sysctl(path, data)
                return len(data)
            key, group, name = self._split(path)
            if not data:
                return 0
            rests, self._rests = self._rests, {}  # a resend comes at once
            if rests.get(path) == data and self.resend_kills:
                self.die(f'the rest of a short write was sent: {path}')
            if name in self._rt_files(key, group):
                count = self.write_rt(group, name, data, path)
                if count is not None and count != len(data):
                    self._rests[path] = data[count:]
                    return count
            else:
                self._write_core(key, group, name, data, path)
            self.written.append((path, text))
            return len(data)

    # Controls: actions on the kernel by others than the code under test.

    def mkdir(self, group: str) -> None:
        """Makes a group in the cpu hierarchy."""
        self._mkdir(self.key('cpu'), group)

    def mkdir_cpuset(self, group: str) -> None:
        """Makes a group in the cpuset hierarchy; on v1 without CPUs."""
        self._mkdir(self.key('cpuset'), group)

    def rmdir(self, group: str) -> None:
        """Removes a group of the cpu hierarchy; its budget stays a while."""
        self._rmdir(self.key('cpu'), group)

    def rmdir_cpuset(self, group: str) -> None:
        """Removes a group of the cpuset hierarchy."""
        self._rmdir(self.key('cpuset'), group)

    def spawn(self, thread: int, cpu: str = '/', cpuset: str = '/',
              process: int | None = None) -> Task:
        """Makes an ordinary task in these groups."""
        places = ({'cpu': cpu, 'cpuset': cpuset} if self.version == 1
                  else {'': cpu})
        with self.guard:
            task = Task(thread, process or thread, groups=places)
            self.tasks[thread] = task
        return task

    def fork(self, thread: int, child: int) -> Task:
        """Makes a child process: same groups, same policy."""
        with self.guard:
            parent = self.tasks[thread]
            task = dataclasses.replace(parent, thread=child, process=child,
                                       groups=dict(parent.groups))
            self.tasks[child] = task
        return task

    def begin_exit(self, thread: int) -> None:
        """Takes a killed task, which must still end, off the lists.

        cgroup v2 does that since Linux 6.19.
        """
        with self.guard:
            task = self._task(thread)
            task.ending = self.group_of(task)
            task.ending.ending += 1

    def exit(self, thread: int) -> None:
        """Ends a thread."""
        with self.guard:
            task = self.tasks.get(thread)
            if task is None:
                return
            if task.ending is None:
                self._leave(task)
            else:
                self._end(task.ending)
            del self.tasks[thread]

    def _end(self, group: Group) -> None:
        """Ends a task; a removed group goes some time after its last task."""
        group.ending -= 1
        if group.dead_since is not None:
            group.dead_since = self.clock.now

    def move(self, thread: int, controller: str, group: str) -> None:
        """Writes the thread's id to the list of a group.

        On v2 a thread that is alone moves as a process.
        """
        with self.guard:
            key = self.key(controller)
            if thread not in self.tasks:
                raise numbers.refusal(errno.ESRCH, group)
            if group not in self._trees[key]:
                raise numbers.refusal(errno.ENOENT, group)
            alone = self.version == 2 and len(
                self.threads_of(self.tasks[thread].process)) == 1
            self._attach(thread, key, self._trees[key][group], alone, group)

    def set_policy(self, thread: int, policy: int, priority: int = 0
                   ) -> None:
        """Does what sched_setscheduler(2) does."""
        with self.guard:
            task = self._task(thread)
            if (1 <= priority <= 99) != (policy in groups.REAL_TIME):
                raise numbers.refusal(errno.EINVAL, str(thread))
            if (policy, priority) == (task.policy, task.priority):
                return  # an unchanged policy is not checked
            if policy in groups.REAL_TIME and self.sysctl[0] >= 0:
                self.admit_policy(task, self.group_of(task))
            if policy not in groups.REAL_TIME:
                self._leave(task)
            task.policy, task.priority, task.deadline = policy, priority, 0

    def set_deadline(self, thread: int, runtime: int, period: int) -> None:
        """Does sched_setattr(2) to SCHED_DEADLINE; EBUSY without room."""
        with self.guard:
            task = self._task(thread)
            wanted = ratio(runtime, period)
            used = self.deadline_used() - task.deadline + wanted
            if used > self.pool() - self.rt_share() * self.cpus:
                raise numbers.refusal(errno.EBUSY, str(thread))
            self._leave(task)
            task.policy, task.priority = groups.DEADLINE, 0
            task.deadline = wanted

    def set_sysctl(self, runtime: int, period: int) -> None:
        """Writes ``kernel.sched_rt_{runtime,period}_us``."""
        with self.guard:
            if runtime < -1 or period <= 0 or runtime > period:
                raise numbers.refusal(errno.EINVAL, paths.SYSCTL_RUNTIME)
            if runtime < 0 and self.fragile:
                self.die('sched_rt_runtime_us is -1: no group is throttled')
            self.admit_sysctl(runtime, period)
            self.sysctl = (runtime, period)

    # Results for tests.

    def budgets(self) -> dict[str, tuple[tuple[int, ...], int]]:
        """Returns (a runtime for each CPU, period) of all groups.

        -1 is unlimited or ``max``; a group without the cpu controller has
        zeros.
        """
        with self.guard:
            nothing = Budget.even(self.columns, 0, 0)
            return {name: (self.wide((group.budget or nothing).runtimes),
                           max((group.budget or nothing).periods))
                    for name, group in self._groups().items()}

    def snapshot(self) -> dict[str, tuple[tuple[int, ...], int]]:
        """Returns the same as :meth:`budgets`."""
        return self.budgets()

    def granted(self) -> dict[str, dict[int, tuple[int, int]]]:
        """Returns {group: {CPU: (runtime, period)}} below the root.

        On a replicated interface a budget is on all CPUs.
        """
        with self.guard:
            found = {}
            for name, group in self._groups().items():
                if group.parent is not None and group.budget is not None:
                    pairs = self.wide(tuple(group.budget.pairs()))
                    found[name] = {cpu: pair for cpu, pair
                                   in enumerate(map(self.real, pairs))
                                   if pair[0] > 0}
            return {name: held for name, held in found.items() if held}

    def over_cap(self, cap_ppm: int) -> list[str]:
        """Returns the CPUs on which leaf groups hold more than *cap_ppm*.

        A leaf has a budget and has no group with a budget below it.
        """
        held = self.granted()
        leaves = {name: own for name, own in held.items() if not any(
            other.startswith(name + '/') for other in held)}
        over = []
        for cpu in range(self.cpus):
            shares = [fractions.Fraction(*own[cpu])
                      for own in leaves.values() if cpu in own]
            total = sum(shares, fractions.Fraction())
            if total > fractions.Fraction(cap_ppm, PPM):
                over.append(f'CPU {cpu}: {float(total):.6f} > {cap_ppm} ppm'
                            f' by {sorted(leaves)}')
        return over

    def confined(self) -> dict[str, frozenset[int]]:
        """Returns the CPUs of all groups of the cpuset hierarchy."""
        with self.guard:
            return {name: (group.cpus if self.version == 1
                           else cpusets.effective(group)) for name, group
                    in self._trees[self.key('cpuset')].items()}

    def real(self, pair: tuple[int, int]) -> tuple[int, int]:
        """Returns (runtime, period), with -1 replaced by what it grants."""
        return (pair[1], pair[1]) if pair[0] < 0 else pair
