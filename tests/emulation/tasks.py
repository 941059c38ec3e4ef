# SPDX-License-Identifier: Apache-2.0

"""Guests and their tasks on emulated kernels, and the /proc below Tasks.

``machine.kernel.tasks`` reads /proc and calls sched_setscheduler(2) by the
ids of threads; this module replaces both.  Ids are unique over all kernels of
a process, because the hosts of a functional test share the process.
"""

from collections.abc import Iterable, Iterator
import contextlib
import errno
import itertools
import os
import posixpath
import threading
from typing import Any

from nova_rt.machine.host import sched
from nova_rt.machine.kernel import deadline
from nova_rt.machine.kernel import tasks
from nova_rt.machine import privsep
from tests.emulation import kernel as emulation
from tests.emulation import paths
from tests.emulation import stock

#: Higher than any real pid, so that a mistake never affects a real process.
_FIRST = 1 << 23

_ids = itertools.count(_FIRST)
_kernels: dict[int, emulation.Kernel] = {}
#: The ids of threads that the kernel itself runs in a process.
_workers: set[int] = set()
_registry = threading.Lock()


class Guests:
    """Does to the groups of one host what libvirt does.

    :ivar running: the threads of each domain, by the pid of its first
        process: the keeper of a container, or QEMU
    """

    def __init__(self, kernel: emulation.Kernel,
                 partition: str = '/machine') -> None:
        self.kernel = kernel
        self.partition = partition
        self.running: dict[int, list[int]] = {}
        self._made: dict[int, list[str]] = {}
        self._beside: dict[int, list[int]] = {}
        self._numbers = itertools.count(1)

    def start(self, name: str, cpus: str | None = None, tasks: int = 2
              ) -> int:
        """Starts a container; returns its domain's id, the pid of its keeper.

        :param cpus: the cpuset of its XML, None for all
        """
        keeper = next(_ids)
        group = f'{self.partition}/lxc-{keeper}-{name}.libvirt-lxc'
        self._make(self.partition)
        self._make(group)
        if cpus:
            self.kernel.write(self.cpus_of(group), cpus)
        self._made[keeper] = [group]
        self.running[keeper] = []
        for thread in (keeper, *(next(_ids) for _ in range(tasks))):
            self._spawn(keeper, thread, group, thread)
        return keeper

    def start_qemu(self, name: str, cpus: list[str]) -> int:
        """Starts a virtual machine; returns the pid of its process.

        QEMU's first thread and a worker are in ``emulator``; the thread of
        each vCPU, and that of I/O, is in a group of its own.

        :param cpus: the cpuset of each vCPU, '' for all
        """
        process = next(_ids)
        group = (f'{self.partition}/qemu-{next(self._numbers)}-{name}'
                 f'.libvirt-qemu')
        self._make(self.partition)
        self._make(group)
        self._made[process] = [group]
        self.running[process] = []
        self._spawn(process, process, group, process)
        self._below(process, f'{group}/emulator', '', process)
        self._spawn(process, next(_ids), f'{group}/emulator', process)
        for number, own in enumerate(cpus):
            thread = next(_ids)
            self._spawn(process, thread, f'{group}/emulator', process)
            self._below(process, f'{group}/vcpu{number}', own, thread)
        self._add(process, f'{group}/emulator')
        self._below(process, f'{group}/iothread1', '',
                    self._beside[process][-1])
        return process

    def first_run(self, process: int) -> int:
        """Starts KVM's worker in the group of a vCPU; returns its id."""
        thread = self._add(process, self.vcpus(process)[0])
        _workers.add(thread)
        return thread

    def _add(self, process: int, group: str) -> int:
        """Adds a thread that runs nothing of the guest."""
        thread = next(_ids)
        self.kernel.spawn(thread, group, group, process)
        self._beside.setdefault(process, []).append(thread)
        adopt(self.kernel, thread)
        return thread

    def stop(self, keeper: int) -> None:
        """Kills a guest and removes its groups, with their budget."""
        for thread in (*self.running.pop(keeper),
                       *self._beside.pop(keeper, ())):
            self.kernel.exit(thread)
            with _registry:
                del _kernels[thread]
        for group in reversed(self._made.pop(keeper)):
            self.kernel.rmdir(group)
            if self.kernel.version == 1:
                self.kernel.rmdir_cpuset(group)

    def group(self, keeper: int) -> str:
        """Returns the group of the whole guest."""
        return self._made[keeper][0]

    def vcpus(self, process: int) -> list[str]:
        """Returns the groups of a virtual machine's vCPUs."""
        return [group for group in self._made[process]
                if posixpath.basename(group).startswith('vcpu')]

    def cpus_of(self, group: str) -> str:
        """Returns the path of a group's cpuset.cpus."""
        mount = (paths.CPUSET_MOUNT if self.kernel.version == 1
                 else paths.UNIFIED_MOUNT)
        return posixpath.join(mount, group.strip('/'), paths.CPUS)

    def _make(self, group: str) -> None:
        kernel, above = self.kernel, posixpath.dirname(group)
        if kernel.version == 2:
            self._enable(above)
        with contextlib.suppress(FileExistsError):
            kernel.mkdir(group)
        if kernel.version == 1:
            with contextlib.suppress(FileExistsError):
                kernel.mkdir_cpuset(group)
                # libvirt copies the parent's CPUs into its new groups.
                kernel.write(self.cpus_of(group),
                             kernel.read(self.cpus_of(above)))

    def _enable(self, group: str) -> None:
        path = posixpath.join(paths.UNIFIED_MOUNT, group.strip('/'),
                              paths.SUBTREE)
        has = self.kernel.read(path).split()
        for name in ('cpu', 'cpuset'):
            if name not in has:
                self.kernel.write(path, f'+{name}')

    def _below(self, process: int, group: str, cpus: str, thread: int
               ) -> None:
        """Makes a group for threads of a virtual machine, with one thread."""
        kernel = self.kernel
        self._make(group)
        self._made[process].append(group)
        if kernel.version == 1:
            controllers = ['cpu', 'cpuset']
        else:
            controllers = ['']
            kernel.write(posixpath.join(
                paths.UNIFIED_MOUNT, group.strip('/'),
                paths.TYPE), 'threaded')
        if cpus:
            kernel.write(self.cpus_of(group), cpus)
        for controller in controllers:
            kernel.move(thread, controller, group)

    def _spawn(self, keeper: int, thread: int, group: str, process: int
               ) -> None:
        self.kernel.spawn(thread, group, group, process)
        self.running[keeper].append(thread)
        adopt(self.kernel, thread)


class EmulatedTasks(tasks.Tasks):
    """The class Tasks with the groups of emulated threads."""

    def group_of(self, pid: int, controller: str) -> str:
        kernel = _kernels.get(pid)
        task = kernel.tasks.get(pid) if kernel else None
        if kernel is None or task is None:
            raise LookupError(f'process {pid} has ended')
        path = task.groups.get(kernel.key(controller))
        if path is None:
            raise LookupError(f'process {pid} has no {controller} group')
        return path

    def every_thread(self, group: str, controller: str) -> Iterator[int]:
        for thread, kernel in list(_kernels.items()):
            task = kernel.tasks.get(thread)
            if not controller and task is not None:
                path = task.groups.get('', '')
                if f'{path}/'.startswith(f'{group}/'):
                    yield thread


def adopt(kernel: emulation.Kernel, thread: int) -> None:
    """Makes *thread* of *kernel* known by its id."""
    with _registry:
        _kernels[thread] = kernel


def new_id() -> int:
    """Returns an id that no emulated thread has."""
    return next(_ids)


def policy_of(thread: int) -> int:
    """Replaces ``os.sched_getscheduler``."""
    return _task(thread).policy


def parameters_of(thread: int) -> os.sched_param:
    """Replaces ``os.sched_getparam``."""
    return os.sched_param(_task(thread).priority)


def belongs(thread: int, process: int) -> bool:
    """Replaces ``nova_rt.machine.kernel.tasks._belongs``."""
    kernel = _kernels.get(thread)
    task = kernel.tasks.get(thread) if kernel else None
    return task is not None and task.process == process


def is_child(thread: int, process: int) -> bool:
    """Replaces ``machine.kernel.tasks._is_child``: a keeper has one init."""
    kernel = _kernels.get(process)
    keeper = kernel.tasks.get(process) if kernel else None
    if kernel is None or keeper is None:
        return False
    return thread == min(other for other, task in kernel.tasks.items()
                         if other != process and task.groups == keeper.groups)


def set_policy(group: str, controller: str, thread: int, policy: str,
               priority: int) -> None:
    """Replaces ``nova_rt.machine.privsep.set_policy``."""
    path = _task(thread).groups[_kernels[thread].key(controller)]
    if path != group and not path.startswith(group.rstrip('/') + '/'):
        raise ProcessLookupError(errno.ESRCH, 'not in this group')
    number = privsep.POLICIES[policy]
    _kernels[thread].set_policy(
        thread, number, 0 if number == os.SCHED_OTHER else priority)


def place_vcpu(path: str, controller: str, thread: int, cpu: int) -> None:
    """Replaces ``nova_rt.machine.privsep.place_vcpu``."""
    task, kernel = _task(thread), _kernels[thread]
    _, group = kernel.locate(path)
    guest, vcpu = posixpath.split(group)
    source = posixpath.split(task.groups[kernel.key(controller)])
    if source[0] != guest or not all(
            name.startswith('vcpu') for name in (source[1], vcpu)):
        raise ProcessLookupError(errno.ESRCH, 'no vCPU of this guest')
    kernel.move(thread, controller or 'cpu', group)
    task.affinity = frozenset((cpu,))


# SCHED_DEADLINE, where the kernel is a stock one.

def attributes_of(thread: int) -> sched.Policy:
    """Replaces ``nova_rt.machine.host.sched.get``."""
    _task(thread)
    kernel = _kernels[thread]
    if isinstance(kernel, stock.Kernel):
        return kernel.policy(thread)
    return sched.Policy(_task(thread).policy, _task(thread).priority)


def set_deadline(thread: int, runtime_us: int, period_us: int) -> None:
    """Replaces ``nova_rt.machine.sched_setattr.start``."""
    _task(thread)
    _kernels[thread].set_deadline(thread, runtime_us, period_us)


def change_deadline(group: str, controller: str, thread: int, runtime_us: int,
                    period_us: int, path: str, everywhere: str, cpus: str
                    ) -> None:
    """Replaces ``nova_rt.machine.privsep.change_deadline``."""
    kernel = _stock(thread)
    after = kernel.read(path)
    kernel.write(path, everywhere)
    try:
        set_deadline(thread, runtime_us, period_us)
        after = cpus
    finally:
        kernel.write(path, after)


def set_scheduler(thread: int, policy: int, param: os.sched_param) -> None:
    """Replaces ``os.sched_setscheduler``."""
    _task(thread)
    _kernels[thread].set_policy(thread, policy, param.sched_priority)


def affinity_of(thread: int) -> set[int]:
    """Replaces ``os.sched_getaffinity``."""
    _task(thread)
    return set(_stock(thread).allowed(thread))


def set_affinity(thread: int, cpus: Iterable[int]) -> None:
    """Replaces ``os.sched_setaffinity``."""
    _task(thread)
    kernel = _stock(thread)
    kernel.set_affinity(thread, frozenset(cpus) & frozenset(
        range(kernel.cpus)))


def groups_of(thread: int) -> list[str]:
    """Replaces ``nova_rt.machine.privsep._groups_of``."""
    _task(thread)
    return [f'0:{key}:{group}' for key, group
            in _task(thread).groups.items()]


def is_worker(thread: int) -> bool:
    """Replaces ``nova_rt.machine.host.thread.is_worker``."""
    return thread in _workers


def is_runnable(thread: int) -> bool:
    """Replaces ``nova_rt.machine.host.thread.is_runnable``."""
    _task(thread)
    kernel = _kernels[thread]
    return isinstance(kernel, stock.Kernel) and thread in kernel.busy_threads


def ran_ns(thread: int) -> int:
    """Replaces ``nova_rt.machine.host.thread.ran_ns``."""
    _task(thread)
    return _stock(thread).ran_ns(thread)


def pauses(thread: int) -> int:
    """Replaces ``machine.host.thread.pauses``: a busy thread makes none."""
    _task(thread)
    return 0


def overrun_ns(thread: int) -> int:
    """Replaces ``machine.host.thread.overrun_ns``: a tick, if busy."""
    return 4_000_000 if is_runnable(thread) else 0


def no_other_threads(controller: str) -> list[deadline.Other]:
    """Replaces ``deadline.read_other_threads``: there are none."""
    return []


def try_pinning(path: str, cpu: int) -> bool:
    """Replaces ``nova_rt.machine.privsep.try_pinning``."""
    return stock.Kernel.shrinks


def read_server(server: str, cpu: int, name: str) -> int:
    """Replaces ``machine.privsep.read_server``: there is a fair server."""
    if server != 'fair_server':
        return 0
    return 50_000_000 if name == 'runtime' else 1_000_000_000


def _stock(thread: int) -> stock.Kernel:
    kernel = _kernels[thread]
    assert isinstance(kernel, stock.Kernel)
    return kernel


#: The functions that read and change threads while guests have budgets.
THREADS: dict[str, Any] = {
    'nova_rt.machine.kernel.tasks._belongs': belongs,
    'nova_rt.machine.kernel.tasks._is_child': is_child,
    'nova_rt.machine.host.thread.is_worker': is_worker,
    'nova_rt.machine.kernel.tasks.os.sched_getparam': parameters_of,
    'nova_rt.machine.kernel.tasks.os.sched_getscheduler': policy_of,
    'nova_rt.machine.privsep.set_policy': set_policy,
    'nova_rt.machine.privsep.place_vcpu': place_vcpu,
}
#: The replacements of system calls, and of the trial at the start.
DEADLINE: dict[str, Any] = {
    'nova_rt.machine.host.thread.is_worker': is_worker,
    'nova_rt.machine.host.thread.is_runnable': is_runnable,
    'nova_rt.machine.host.thread.ran_ns': ran_ns,
    'nova_rt.machine.host.thread.overrun_ns': overrun_ns,
    'nova_rt.machine.host.thread.pauses': pauses,
    'nova_rt.machine.host.sched.get': attributes_of,
    'nova_rt.machine.sched_setattr.start': set_deadline,
    'nova_rt.machine.host.sched.os.sched_setscheduler': set_scheduler,
    'nova_rt.machine.kernel.pins.os.sched_getaffinity': affinity_of,
    'nova_rt.machine.privsep.os.sched_setaffinity': set_affinity,
    'nova_rt.machine.privsep._groups_of': groups_of,
    'nova_rt.machine.privsep.change_deadline': change_deadline,
    'nova_rt.machine.privsep.try_pinning': try_pinning,
    'nova_rt.machine.privsep.read_server': read_server,
    'nova_rt.machine.kernel.deadline.read_other_threads': no_other_threads,
}


def _task(thread: int) -> emulation.Task:
    kernel = _kernels.get(thread)
    task = kernel.tasks.get(thread) if kernel else None
    if task is None:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return task


__all__ = ['DEADLINE', 'THREADS', 'EmulatedTasks', 'Guests', 'adopt',
           'belongs', 'is_child', 'new_id', 'parameters_of', 'place_vcpu',
           'policy_of', 'set_policy']
