# SPDX-License-Identifier: Apache-2.0

"""SCHED_DEADLINE threads on one pCPU each, by the cpusets of their groups.

The kernel makes a thread SCHED_DEADLINE, or changes what it has, only while
the thread may run on all CPUs of its root domain.  It lets the cpuset of the
thread's group shrink afterwards, and the thread keeps policy and bandwidth:
set first, shrink then.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
import contextlib
import os
import posixpath

from nova_rt.machine.host import cgroup
from nova_rt.machine.kernel import survey
from nova_rt.machine.kernel import tasks as kernel_tasks
from nova_rt.machine import privsep
from nova_rt.rules import cpulist

_MEMS = 'cpuset.mems'
_VCPU = 'vcpu'
_EMULATOR = 'emulator'
_IOTHREAD = 'iothread'


class Pins:
    """Widens and shrinks the cpusets of a guest's threads.

    Methods raise OSError with the kernel's errno, LookupError where a
    thread has ended or libvirt gave it no cpuset.

    :param spare: the CPUs of guests that no reservation may have
    :param cells: the CPUs of each NUMA cell
    """

    def __init__(self, tasks: kernel_tasks.Tasks,
                 spare: Callable[[], Collection[int]],
                 cells: Callable[[], Sequence[Collection[int]]] = list
                 ) -> None:
        self._tasks = tasks
        self._spare = spare
        self._cells = cells

    def confine(self, thread: int, cpus: tuple[int, ...]) -> tuple[int, ...]:
        """Keep a vCPU on *cpus*; where it is, for none.

        :returns: what it was kept on before; () for no CPUs of its own
        """
        self._group_of(thread, _VCPU)
        return self._tasks.confine(thread, cpus) if cpus else ()

    def free(self, thread: int, cpus: Collection[int]) -> None:
        """Let a vCPU itself, which libvirt restricts too, run on *cpus*."""
        if not os.sched_getaffinity(thread).issuperset(cpus):
            privsep.free_vcpu(self._group_of(thread, _VCPU),
                              self._tasks.cpuset, thread)

    def are(self, thread: int, cpu: int) -> bool:
        """Whether a thread runs on *cpu* only."""
        return os.sched_getaffinity(thread) == {cpu}

    def spare(self, process: int, claimed: Collection[int]
              ) -> dict[str, tuple[int, ...]]:
        """Keep what QEMU does beside its vCPUs off the pCPUs of others.

        It would live on what these leave.  The threads of the emulator and
        of vhost are in one group, each I/O thread is in one of its own.

        :param claimed: the pCPUs of the guest's vCPUs: spare CPUs of their
            NUMA cells are taken where there are any
        :returns: what each group was kept on before, for :meth:`put_back`
        """
        cpus = self._spare_near(claimed)
        if not cpus:
            return {}
        return {group: self._tasks.confine_group(group, cpus)
                for group in self._beside(process)}

    def put_back(self, before: Mapping[str, tuple[int, ...]]) -> None:
        """Undo :meth:`spare`; a group that is gone stays gone."""
        for group, cpus in before.items():
            if cpus:
                with contextlib.suppress(FileNotFoundError):
                    self._tasks.confine_group(group, cpus)

    def is_spared(self, process: int, claimed: Collection[int]) -> bool:
        """Whether there is nothing left to do for :meth:`spare`."""
        cpus = self._spare_near(claimed)
        return not cpus or all(
            self._tasks.is_group_confined(group, cpus)
            for group in self._beside(process))

    def _spare_near(self, claimed: Collection[int]) -> tuple[int, ...]:
        """Spare CPUs of the cells of *claimed*, else all; ascending."""
        spare = frozenset(self._spare())
        near = {cpu for cell in self._cells() if set(claimed) & set(cell)
                for cpu in cell}
        return tuple(sorted(spare & near or spare))

    def _beside(self, process: int) -> list[str]:
        """The cpusets of a guest's threads that are no vCPUs."""
        emulator = self._group_of(process, _EMULATOR)
        return [emulator, *(
            group for group in self._tasks.groups_below(
                posixpath.dirname(emulator), self._tasks.cpuset)
            if posixpath.basename(group).startswith(_IOTHREAD))]

    def _group_of(self, thread: int, kind: str) -> str:
        """Never another than libvirt makes for such a thread."""
        group = self._tasks.cpuset_group_of(thread)
        if not posixpath.basename(group).startswith(kind):
            raise LookupError(
                f'it is in the cpuset {group}, which is not that of its '
                f'{kind}; have libvirt manage cpusets (cgroup_controllers '
                f'in qemu.conf)')
        return group


def try_out(fs: cgroup.CgroupFS, mount: str, v1: bool, cpus: Sequence[int]
            ) -> bool:
    """Whether the kernel lets cpusets shrink around SCHED_DEADLINE.

    :param mount: of the hierarchy with cpusets
    :param cpus: of the root domain, ascending
    :raises OSError: the kernel refuses a step
    """
    group = posixpath.join(mount, survey.SCRATCH)
    with fs.locked(mount):
        if not v1:
            _hand_on(fs, mount)
        with contextlib.suppress(FileNotFoundError):
            fs.remove(group)  # left by a crash
        fs.make(group)
        try:
            if v1:
                fs.write(posixpath.join(group, _MEMS),
                         fs.read(posixpath.join(mount, _MEMS)))
            fs.write(posixpath.join(group, kernel_tasks.CPUSET),
                     cpulist.format_ids(cpus))
            return bool(privsep.try_pinning(group, cpus[-1]))
        finally:
            fs.remove(group)


def _hand_on(fs: cgroup.CgroupFS, mount: str) -> None:
    """Groups of v2 have cpusets where the root hands them on."""
    path = posixpath.join(mount, survey.SUBTREE)
    if 'cpuset' not in fs.read(path).split():
        fs.write(path, '+cpuset')
