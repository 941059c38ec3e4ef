# SPDX-License-Identifier: Apache-2.0

"""The tasks of a guest: where they are, and their scheduling policy."""

from collections.abc import Iterator
import errno
import os
import pathlib
import posixpath

from nova_rt import cpus as rt_cpus
from nova_rt import exception
from nova_rt.kernel import base
import nova_rt.privsep

#: Top groups libvirt puts guests below, with and without systemd.
PARTITIONS = ('/machine.slice', '/machine')

_REAL_TIME = frozenset((os.SCHED_FIFO, os.SCHED_RR))
_PASSES = 100


class Tasks:
    """Reads /proc and the task lists of groups; changes policies."""

    def __init__(self, fs: base.CgroupFS) -> None:
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
        for group in PARTITIONS:
            if mount + group in present:
                return group
        return PARTITIONS[-1]

    def confine(self, pid: int, cpus: tuple[int, ...]) -> None:
        """Keep the group of *pid* on *cpus*; nothing to do where it is.

        :raises OSError, LookupError: it cannot be confined
        """
        group = self.group_of(pid, 'cpuset')
        path = posixpath.join(self.mount_of('cpuset'), group.strip('/'),
                              'cpuset.cpus')
        wanted = rt_cpus.format_ids(sorted(cpus))
        if self._fs.read(path) != wanted:
            self._fs.write(path, wanted)

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
            ordinary = [thread for thread
                        in self._threads(group, controller, keeper)
                        if _policy_of(thread) not in _REAL_TIME]
            if not ordinary:
                return changed
            for thread in ordinary:
                changed += _set(group, controller, thread, policy, priority)
        raise exception.KernelError(
            interface='sched_setscheduler', group=group,
            reason='the guest creates tasks faster than they can be made '
                   'real-time')

    def make_ordinary(self, group: str, controller: str) -> None:
        """Take the real-time policy from all tasks of a group."""
        for _ in range(_PASSES):
            rest = [thread for thread in self._threads(group, controller, 0)
                    if _policy_of(thread) in _REAL_TIME]
            if not rest:
                return
            for thread in rest:
                _set(group, controller, thread, 'none', 0)

    def _threads(self, group: str, controller: str, keeper: int
                 ) -> Iterator[int]:
        top = posixpath.join(self.mount_of(controller), group.strip('/'))
        stack = [top]
        while stack:
            path = stack.pop()
            stack.extend(self._fs.children(path))
            try:
                text = self._fs.read(posixpath.join(path, 'tasks'))
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENODEV):
                    continue  # the group was removed meanwhile
                raise
            for thread in map(int, text.split()):
                if thread != keeper and not _belongs(thread, keeper):
                    yield thread


def _belongs(thread: int, process: int) -> bool:
    """Whether *thread* is one of *process*."""
    return os.path.exists(f'/proc/{process:d}/task/{thread:d}')


def _policy_of(thread: int) -> int:
    """Its policy; a task that has ended counts as real-time: done."""
    try:
        return os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK
    except ProcessLookupError:
        return os.SCHED_RR


def _set(group: str, controller: str, thread: int, policy: str,
         priority: int) -> int:
    try:
        nova_rt.privsep.set_policy(group, controller, thread, policy,
                                   priority)
    except ProcessLookupError:
        return 0
    except OSError as error:
        raise exception.KernelError(
            interface='sched_setscheduler', group=group,
            reason=f'thread {thread} cannot be made {policy}: {error}'
        ) from error
    return 1
