# SPDX-License-Identifier: Apache-2.0

"""Guests and their tasks on emulated kernels, and the /proc below Tasks.

``nova_rt.kernel.tasks`` reads /proc and calls sched_setscheduler(2) by the
ids of threads; here is what stands in for both.  Ids are unique over all
kernels of a process, as the hosts of a functional test share it.
"""

import contextlib
import errno
import itertools
import os
import posixpath
import threading

from nova_rt.kernel import tasks
from nova_rt import privsep
from tests.emulation import rt_group_sched

#: Beyond any real pid, so that a mistake never meets a real process.
_FIRST = 1 << 23

_ids = itertools.count(_FIRST)
_kernels: dict[int, rt_group_sched.Kernel] = {}
_registry = threading.Lock()


class Guests:
    """What libvirt's LXC driver does to the groups of one host."""

    def __init__(self, kernel: rt_group_sched.Kernel,
                 partition: str = '/machine') -> None:
        self.kernel = kernel
        self.partition = partition
        self.running: dict[int, list[int]] = {}

    def start(self, name: str, cpus: str | None = None, tasks: int = 2
              ) -> int:
        """Start a container; returns the domain's id, its keeper's pid.

        :param cpus: the cpuset of its XML, None for all
        """
        kernel = self.kernel
        keeper = next(_ids)
        group = f'{self.partition}/lxc-{keeper}-{name}.libvirt-lxc'
        for path in (self.partition, group):
            with contextlib.suppress(FileExistsError):
                kernel.mkdir(path)
            with contextlib.suppress(FileExistsError):
                kernel.mkdir_cpuset(path)
                # libvirt copies the parent's CPUs into its new groups.
                kernel.write(_cpus_of(path), kernel.read(
                    _cpus_of(posixpath.dirname(path))))
        if cpus:
            kernel.write(_cpus_of(group), cpus)
        threads = [keeper, *(next(_ids) for _ in range(tasks))]
        for thread in threads:
            kernel.spawn(thread, group, group)
            with _registry:
                _kernels[thread] = kernel
        self.running[keeper] = threads
        return keeper

    def stop(self, keeper: int) -> None:
        """Kill a container and remove its groups, with their budget."""
        threads = self.running.pop(keeper)
        group = self.kernel.tasks[keeper].groups['cpu']
        for thread in threads:
            self.kernel.exit(thread)
            with _registry:
                del _kernels[thread]
        self.kernel.rmdir(group)
        self.kernel.rmdir_cpuset(group)

    def group(self, keeper: int) -> str:
        return self.kernel.tasks[keeper].groups['cpu']


class EmulatedTasks(tasks.Tasks):
    """Tasks with the groups of emulated threads."""

    def group_of(self, pid: int, controller: str) -> str:
        kernel = _kernels.get(pid)
        task = kernel.tasks.get(pid) if kernel else None
        if task is None:
            raise LookupError(f'process {pid} has ended')
        if controller not in task.groups:
            raise LookupError(f'process {pid} has no {controller} group')
        return task.groups[controller]


def adopt(kernel: rt_group_sched.Kernel, thread: int) -> None:
    """Let *thread*, which *kernel* has already, be found by its id."""
    with _registry:
        _kernels[thread] = kernel


def new_id() -> int:
    """An id that no emulated thread has."""
    return next(_ids)


def policy_of(thread: int) -> int:
    """For ``os.sched_getscheduler``."""
    return _task(thread).policy


def belongs(thread: int, process: int) -> bool:
    """For ``nova_rt.kernel.tasks._belongs``."""
    kernel = _kernels.get(thread)
    task = kernel.tasks.get(thread) if kernel else None
    return task is not None and task.process == process


def set_policy(group: str, controller: str, thread: int, policy: str,
               priority: int) -> None:
    """For ``nova_rt.privsep.set_policy``."""
    path = _task(thread).groups[controller]
    if path != group and not path.startswith(group.rstrip('/') + '/'):
        raise ProcessLookupError(errno.ESRCH, 'not in this group')
    number = privsep.POLICIES[policy]
    _kernels[thread].set_policy(
        thread, number, 0 if number == os.SCHED_OTHER else priority)


def _task(thread: int) -> rt_group_sched.Task:
    kernel = _kernels.get(thread)
    task = kernel.tasks.get(thread) if kernel else None
    if task is None:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return task


def _cpus_of(group: str) -> str:
    return posixpath.join(rt_group_sched.CPUSET_MOUNT, group.strip('/'),
                          rt_group_sched.CPUS)


__all__ = ['EmulatedTasks', 'Guests', 'adopt', 'belongs', 'new_id',
           'policy_of', 'set_policy']
