# SPDX-License-Identifier: Apache-2.0

"""The tasks of a guest: where they are, and their scheduling policy."""

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
        """Mount point of a v1 controller, or of v2 for ''.

        :raises LookupError: it is not mounted
        """
        for point, kind, options in self._fs.mounts():
            if kind == ('cgroup' if controller else 'cgroup2') and (
                    not controller or controller in options.split(',')):
                return point
        raise LookupError(f'cgroup controller {controller} is not mounted')

    def group_of(self, pid: int, controller: str) -> str:
        """The group of a process, as in /proc/PID/cgroup.

        :raises LookupError: no such process or controller
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
        """The top group of all guests on this host."""
        mount = self.mount_of(controller)
        present = self._fs.children(mount)
        for group in cgroup.PARTITIONS:
            if mount + group in present:
                return group
        # Neither is there before the first guest.
        systemd, plain = cgroup.PARTITIONS
        return systemd if mount + '/system.slice' in present else plain

    def confine(self, pid: int, cpus: tuple[int, ...]) -> tuple[int, ...]:
        """Keep the group of *pid* on *cpus*; see :meth:`confine_group`.

        :raises LookupError: it has ended, or there are no cpusets
        """
        return self.confine_group(self.cpuset_group_of(pid), cpus)

    def confine_group(self, group: str, cpus: tuple[int, ...]
                      ) -> tuple[int, ...]:
        """Keep a cpuset on *cpus*; nothing to do where it is.

        :returns: what it was kept on before; () for no CPUs of its own
        :raises OSError, LookupError: it cannot be confined
        """
        path = self._cpus_of(group)
        before = cpulist.parse_ids(self._fs.read(path))
        self._pin(path, cpus)
        return before

    def is_confined(self, pid: int, cpus: tuple[int, ...]) -> bool:
        """Whether the group of *pid* is kept on just *cpus*.

        :raises OSError, LookupError: it cannot be told
        """
        return self.is_group_confined(self.cpuset_group_of(pid), cpus)

    def is_group_confined(self, group: str, cpus: tuple[int, ...]) -> bool:
        """Whether a cpuset is kept on just *cpus*.

        :raises OSError, LookupError: it cannot be told
        """
        return self._fs.read(self._cpus_of(group)) == _ids(cpus)

    def _pin(self, path: str, cpus: tuple[int, ...]) -> None:
        if self._fs.read(path) != _ids(cpus):
            self._fs.write(path, _ids(cpus))

    def cpuset_group_of(self, pid: int) -> str:
        """The group of a process or thread in the hierarchy of cpusets.

        :raises LookupError: it has ended, or there are no cpusets
        """
        return self.group_of(pid, self.cpuset)

    def _cpus_of(self, group: str) -> str:
        return posixpath.join(
            self.mount_of(self.cpuset), group.strip('/'), CPUSET)

    @property
    def cpuset(self) -> str:
        """The hierarchy of cpusets: a v1 controller, or v2."""
        try:
            self.mount_of('cpuset')
        except LookupError:
            return ''
        return 'cpuset'

    def gather(self, groups: Sequence[str], controller: str,
               cpus: tuple[int, ...]) -> None:
        """Put the vCPU threads of a guest into the first of their groups.

        A replicated interface would charge the guest once for each group.
        Each thread stays on its pCPU.

        :param groups: of the vCPUs, in their order
        :param cpus: the pCPU of each
        :raises OSError, LookupError: they cannot be put there
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
        """The ids of the threads in a group and below it.

        :param keeper: a process whose threads are left out
        """
        return list(self._threads(group, controller, keeper))

    def vcpu_threads(self, group: str, controller: str) -> list[int]:
        """The threads in the group of a vCPU that run its code.

        KVM's own worker threads are in the group of the vCPU that made
        them, and nobody reserves for them.
        """
        return [thread for thread in self._threads(group, controller, 0)
                if not thread_state.is_worker(thread)]

    def idle_groups(self, group: str, controller: str) -> Iterator[str]:
        """The groups below *group* that have neither groups nor tasks."""
        for child in self.groups_below(group, controller):
            if self.groups_below(child, controller):
                yield from self.idle_groups(child, controller)
            elif not (self.threads(child, controller)
                      or self._is_populated(child, controller)):
                yield child

    def _is_populated(self, group: str, controller: str) -> bool:
        """Whether tasks that the kernel lists no more have yet to end.

        Without a budget they never would, and one that was interrupted
        where it holds up RCU would take the host with it.
        """
        return not controller and cgroup.is_populated(
            self._fs, posixpath.join(self.mount_of(''), group.strip('/')))

    def runs_at(self, thread: int, policy: str, priority: int) -> bool:
        """Whether it has this policy and priority, or has ended."""
        return _runs_at(thread, policy, priority)

    def outranks(self, thread: int, policy: str, priority: int) -> bool:
        """Whether it is real-time by another policy, or by more priority."""
        with contextlib.suppress(ProcessLookupError):
            own = os.sched_getparam(thread).sched_priority
            return own > priority or (
                own > 0 and _policy_of(thread) != _POLICIES[policy])
        return False

    def is_init(self, thread: int, keeper: int) -> bool:
        """Whether it is the first thread of what the keeper started.

        It gets the policy last and loses it first: as long as it has it,
        so had all the others.
        """
        return _is_child(thread, keeper)

    def groups_below(self, group: str, controller: str) -> list[str]:
        """The groups right below a group."""
        mount = self.mount_of(controller)
        return [path.removeprefix(mount) for path in self._fs.children(
            posixpath.join(mount, group.strip('/')))]

    def make_real_time(self, group: str, controller: str, keeper: int,
                       policy: str, priority: int) -> int:
        """Give all tasks of a guest a real-time policy.

        A task may fork while we walk; children of a task that was changed
        inherit the policy, so the walk ends.

        :param keeper: pid of the process that keeps the guest (libvirt_lxc),
            which is left alone
        :returns: how many threads were changed
        :raises KernelError: refused, or the guest forks faster than we walk
        """
        changed = 0
        for _ in range(_PASSES):
            others = [thread for thread
                      in self._threads(group, controller, keeper)
                      if not _runs_at(thread, policy, priority)]
            if not others:
                return changed
            for thread in [other for other in others
                           if not self.is_init(other, keeper)] or others:
                changed += _set(group, controller, thread, policy, priority)
        raise exception.KernelError(
            interface='sched_setscheduler', group=group,
            reason='the guest creates tasks faster than they can be made '
                   'real-time')

    def make_ordinary(self, group: str, controller: str, keeper: int
                      ) -> None:
        """Take the real-time policy from all tasks of a group.

        From those that are about to end as well, which cgroup v2 may list
        no more: they need the budget that is taken next.
        """
        for _ in range(_PASSES):
            found = {*self._threads(group, controller, 0),
                     *self.every_thread(group, controller)}
            rest = [thread for thread in found
                    if _policy_of(thread) in _REAL_TIME]
            if not rest:
                return
            for thread in sorted(rest, key=lambda thread: not self.is_init(
                    thread, keeper)):
                _set(group, controller, thread, 'none', 0)

    def every_thread(self, group: str, controller: str) -> Iterator[int]:
        """The threads of all processes of a v2 group, be they listed or not.

        A process is in the group that its first thread is in.
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
                    continue  # the group was removed meanwhile
                raise
            for thread in map(int, text.split()):
                if thread != keeper and not _belongs(thread, keeper):
                    yield thread


def _ids(cpus: tuple[int, ...]) -> str:
    return cpulist.format_ids(sorted(cpus))


def _all_threads(group: str) -> Iterator[int]:
    for process in pathlib.Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):  # it has ended
            text = (process / 'cgroup').read_text()
            path = text.rpartition('0::')[2].strip()
            if f'{path}/'.startswith(f'{group.rstrip("/")}/'):
                yield from map(int, os.listdir(process / 'task'))


def _belongs(thread: int, process: int) -> bool:
    """Whether *thread* is one of *process*."""
    return os.path.exists(f'/proc/{process:d}/task/{thread:d}')


def _is_child(thread: int, process: int) -> bool:
    """Whether *thread* is the first of a child of *process*."""
    try:
        text = pathlib.Path(f'/proc/{thread:d}/status').read_text()
    except OSError:
        return False  # it has ended
    found = dict(line.split(':', 1) for line in text.splitlines())
    return (int(found['Tgid']), int(found['PPid'])) == (thread, process)


def _policy_of(thread: int) -> int:
    """Its policy; a task that has ended counts as real-time: done."""
    try:
        return os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK
    except ProcessLookupError:
        return os.SCHED_RR


def _runs_at(thread: int, policy: str, priority: int) -> bool:
    """Whether it has these; one that has ended counts as done."""
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
