# SPDX-License-Identifier: Apache-2.0

"""Finds the tasks of a guest, and changes their scheduling policies."""

from collections.abc import Iterator, Sequence
import contextlib
import errno
import os
import pathlib
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import thread as thread_state
from nova_rt.machine import privsep
from nova_rt.rules import cpulist
from nova_rt.rules import exception

CPUSET = 'cpuset.cpus'

_REAL_TIME = frozenset((os.SCHED_FIFO, os.SCHED_RR))
_POLICIES = {'rr': os.SCHED_RR, 'fifo': os.SCHED_FIFO}
_PASSES = 100


class Tasks:
    """Reads /proc and the task lists of groups; changes policies."""

    def __init__(self, fs: cgroup.CgroupFS) -> None:
        self._fs = fs

    def mount_of(self, controller: str) -> str:
        """Returns the mount point of a v1 controller, or of v2 for ''.

        :raises LookupError: when the controller is not mounted
        """
        for point, kind, options in self._fs.mounts():
            if kind == ('cgroup' if controller else 'cgroup2') and (
                    not controller or controller in options.split(',')):
                return point
        raise LookupError(f'cgroup controller {controller} is not mounted')

    def group_of(self, pid: int, controller: str) -> str:
        """Returns the group of a process, as in /proc/PID/cgroup.

        :raises LookupError: when the process or the controller does not exist
        """
        try:
            text = pathlib.Path(f'/proc/{pid:d}/cgroup').read_text()
        except OSError as error:
            raise LookupError(f'process {pid} has ended') from error
        for line in text.splitlines():
            _, controllers, group = line.split(':', 2)
            if controller in controllers.split(','):
                return group
        raise LookupError(f'process {pid} has no {controller} group')

    def partition(self, controller: str) -> str:
        """Returns the top group of all guests on this host."""
        mount = self.mount_of(controller)
        present = self._fs.children(mount)
        for group in cgroup.GUEST_GROUPS:
            if mount + group in present:
                return group
        # Before the first guest starts, neither of the two groups exists.
        systemd, plain = cgroup.GUEST_GROUPS
        return systemd if mount + '/system.slice' in present else plain

    def confine(self, pid: int, cpus: tuple[int, ...]) -> tuple[int, ...]:
        """Restricts the group of *pid* to *cpus*; see :meth:`confine_group`.

        :raises LookupError: when the process has ended, or when there are no
            cpusets
        :raises OSError: when the kernel refuses
        """
        return self.confine_group(self.cpuset_group_of(pid), cpus)

    def confine_group(self, group: str, cpus: tuple[int, ...]
                      ) -> tuple[int, ...]:
        """Restricts a cpuset to *cpus*, unless it already has exactly these.

        :returns: the earlier CPUs of the cpuset; () if the cpuset was empty
        :raises OSError: when the kernel refuses
        :raises LookupError: when there are no cpusets
        """
        before = self.cpus_of(group)
        self._pin(self.file_of_cpus(group), cpus)
        return before

    def cpus_of(self, group: str) -> tuple[int, ...]:
        """Returns the CPUs of a cpuset; () if it has none of its own.

        :raises OSError: when the cpuset cannot be read
        :raises LookupError: when there are no cpusets
        """
        return cpulist.parse_ids(self._fs.read(self.file_of_cpus(group)))

    def is_confined(self, pid: int, cpus: tuple[int, ...]) -> bool:
        """Checks whether the group of *pid* is kept on exactly *cpus*.

        :raises OSError: when the cpuset cannot be read
        :raises LookupError: when the process has ended, or when there are no
            cpusets
        """
        return self.is_group_confined(self.cpuset_group_of(pid), cpus)

    def is_group_confined(self, group: str, cpus: tuple[int, ...]) -> bool:
        """Checks whether a cpuset is kept on exactly *cpus*.

        :raises OSError: when the cpuset cannot be read
        :raises LookupError: when there are no cpusets
        """
        return self._fs.read(self.file_of_cpus(group)) == _ids(cpus)

    def _pin(self, path: str, cpus: tuple[int, ...]) -> None:
        if self._fs.read(path) != _ids(cpus):
            self._fs.write(path, _ids(cpus))

    def cpuset_group_of(self, pid: int) -> str:
        """Returns the group of a task in the hierarchy of cpusets.

        :raises LookupError: when the task has ended, or when there are no
            cpusets
        """
        return self.group_of(pid, self.cpuset)

    def file_of_cpus(self, group: str) -> str:
        """Returns the path of the file with the CPUs of a cpuset.

        :raises LookupError: when there are no cpusets
        """
        return posixpath.join(
            self.mount_of(self.cpuset), group.strip('/'), CPUSET)

    @property
    def cpuset(self) -> str:
        """The hierarchy of cpusets: a v1 controller, or '' for v2."""
        try:
            self.mount_of('cpuset')
        except LookupError:
            return ''
        return 'cpuset'

    def gather(self, groups: Sequence[str], controller: str,
               cpus: tuple[int, ...]) -> None:
        """Moves the vCPU threads of a guest into the first of their groups.

        A replicated interface would charge the guest once for each group.
        Each thread stays on its pCPU.

        :param groups: the groups of the vCPUs, in order
        :param cpus: the pCPU of each vCPU
        :raises OSError: when the kernel refuses
        :raises LookupError: when the controller is not mounted
        """
        mount = self.mount_of(controller)
        first = posixpath.join(mount, groups[0].strip('/'))
        if not controller and len(groups) > 1:
            self._pin(posixpath.join(first, CPUSET), cpus)
        for group, cpu in list(zip(groups, cpus, strict=True))[1:]:
            for thread in self.threads(group, controller):
                privsep.place_vcpu(first, controller, thread, cpu)

    def threads(self, group: str, controller: str, keeper: int = 0
                ) -> list[int]:
        """Returns the ids of the threads in a group and below it.

        :param keeper: a process whose threads are left out
        """
        return list(self._threads(group, controller, keeper))

    def vcpu_threads(self, group: str, controller: str) -> list[int]:
        """Returns the threads in a vCPU's group that run the vCPU's code.

        KVM's own worker threads are in the group of the vCPU that made them,
        but have no part in the reservation.
        """
        return [thread for thread in self._threads(group, controller, 0)
                if not thread_state.is_worker(thread)]

    def idle_groups(self, group: str, controller: str) -> Iterator[str]:
        """Yields the groups below *group* that have no groups and no tasks."""
        for child in self.groups_below(group, controller):
            if self.groups_below(child, controller):
                yield from self.idle_groups(child, controller)
            elif not (self.threads(child, controller)
                      or self._is_populated(child, controller)):
                yield child

    def _is_populated(self, group: str, controller: str) -> bool:
        """Checks if tasks that the kernel no longer lists have yet to end.

        Without a budget these tasks never end, and a task that blocks RCU
        would hang the host.
        """
        return not controller and cgroup.is_populated(
            self._fs, posixpath.join(self.mount_of(''), group.strip('/')))

    def runs_at(self, thread: int, policy: str, priority: int) -> bool:
        """Checks if a thread has this policy and priority, or has ended."""
        return _runs_at(thread, policy, priority)

    def outranks(self, thread: int, policy: str, priority: int) -> bool:
        """Checks for a real-time policy or priority beyond the given one.

        The answer is True for another real-time policy, or a higher priority.
        """
        with contextlib.suppress(ProcessLookupError):
            own = os.sched_getparam(thread).sched_priority
            return own > priority or (
                own > 0 and _policy_of(thread) != _POLICIES[policy])
        return False

    def is_init(self, thread: int, keeper: int) -> bool:
        """Checks whether a thread is the init that the keeper started.

        The init gets the policy last and loses it first.  So while the init
        has the policy, all other threads have got the policy, too.
        """
        return _is_child(thread, keeper)

    def groups_below(self, group: str, controller: str) -> list[str]:
        """Returns the groups directly below a group."""
        mount = self.mount_of(controller)
        return [path.removeprefix(mount) for path in self._fs.children(
            posixpath.join(mount, group.strip('/')))]

    def make_real_time(self, group: str, controller: str, keeper: int,
                       policy: str, priority: int) -> int:
        """Gives all tasks of a guest a real-time policy.

        Tasks may fork during a pass over the group, so there are several
        passes.  The children of a task that was changed inherit the policy,
        so the passes come to an end.

        :param keeper: pid of the keeper of the guest (libvirt_lxc), which is
            not changed
        :returns: how many threads were changed
        :raises KernelError: when the kernel refuses, or when the guest forks
            faster than its tasks can be changed
        """
        changed = 0
        for _ in range(_PASSES):
            pending = [thread for thread
                       in self._threads(group, controller, keeper)
                       if not _runs_at(thread, policy, priority)]
            if not pending:
                return changed
            for thread in [task for task in pending
                           if not self.is_init(task, keeper)] or pending:
                changed += _set(group, controller, thread, policy, priority)
        raise exception.KernelError(
            interface='sched_setscheduler', group=group,
            reason='the guest creates tasks faster than they can be made '
                   'real-time')

    def make_ordinary(self, group: str, controller: str, keeper: int
                      ) -> None:
        """Takes the real-time policy from all tasks of a group.

        The method also finds tasks that are about to end, which cgroup v2 may
        no longer list: real-time tasks would need the budget that is taken
        next.
        """
        for _ in range(_PASSES):
            threads = {*self._threads(group, controller, 0),
                       *self.every_thread(group, controller)}
            rest = [thread for thread in threads
                    if _policy_of(thread) in _REAL_TIME]
            if not rest:
                return
            for thread in sorted(rest, key=lambda thread: not self.is_init(
                    thread, keeper)):
                _set(group, controller, thread, 'none', 0)

    def every_thread(self, group: str, controller: str) -> Iterator[int]:
        """Yields the threads of all processes of a v2 group, listed or not.

        A process is in the group of its first thread.
        """
        return _all_threads(group) if not controller else iter(())

    def _threads(self, group: str, controller: str, keeper: int
                 ) -> Iterator[int]:
        top = posixpath.join(self.mount_of(controller), group.strip('/'))
        stack = [top]
        while stack:
            path = stack.pop()
            stack.extend(self._fs.children(path))
            try:
                text = self._fs.read(posixpath.join(
                    path, 'tasks' if controller else 'cgroup.threads'))
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENODEV):
                    continue  # The group was removed meanwhile.
                raise
            for thread in map(int, text.split()):
                if thread != keeper and not _belongs(thread, keeper):
                    yield thread


def _ids(cpus: tuple[int, ...]) -> str:
    return cpulist.format_ids(sorted(cpus))


def _all_threads(group: str) -> Iterator[int]:
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):  # The process has ended.
            text = (process / 'cgroup').read_text()
            path = text.rpartition('0::')[2].strip()
            if f'{path}/'.startswith(f'{group.rstrip("/")}/'):
                yield from map(int, os.listdir(process / 'task'))


def _belongs(thread: int, process: int) -> bool:
    """Checks whether *thread* belongs to *process*."""
    return os.path.exists(f'/proc/{process:d}/task/{thread:d}')


def _is_child(thread: int, process: int) -> bool:
    """Checks whether *thread* is the first thread of a child of *process*."""
    try:
        text = pathlib.Path(f'/proc/{thread:d}/status').read_text()
    except OSError:
        return False  # The thread has ended.
    fields = dict(line.split(':', 1) for line in text.splitlines())
    return (int(fields['Tgid']), int(fields['PPid'])) == (thread, process)


def _policy_of(thread: int) -> int:
    """Returns the policy of a thread; SCHED_RR for one that has ended."""
    try:
        return os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK
    except ProcessLookupError:
        return os.SCHED_RR


def _runs_at(thread: int, policy: str, priority: int) -> bool:
    """Checks policy and priority; True for a thread that has ended."""
    try:
        return (os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK
                == _POLICIES[policy] and
                os.sched_getparam(thread).sched_priority == priority)
    except ProcessLookupError:
        return True


def _set(group: str, controller: str, thread: int, policy: str,
         priority: int) -> int:
    try:
        privsep.set_policy(group, controller, thread, policy, priority)
    except ProcessLookupError:
        return 0
    except OSError as error:
        raise exception.KernelError(
            interface='sched_setscheduler', group=group,
            reason=f'thread {thread} cannot be made {policy}: {error}'
        ) from error
    return 1
