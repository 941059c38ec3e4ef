# SPDX-License-Identifier: Apache-2.0

"""Keeps SCHED_DEADLINE threads on one pCPU each, by cpusets of their groups.

The kernel makes a thread SCHED_DEADLINE, or changes its runtime and period,
only while the thread may run on all CPUs of its root domain.  Afterwards the
kernel lets the cpuset of the thread's group shrink, and the thread keeps its
policy and bandwidth.  Therefore this module sets the policy first, and shrinks
the cpuset afterwards.
"""

from collections.abc import (
    Callable, Collection, Iterator, Mapping, Sequence)
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

    Methods raise OSError with the kernel's errno, and LookupError when a
    thread has ended or libvirt gave it no cpuset.

    :param spare: returns the CPUs of guests that reservations may not use
    :param cells: returns the CPUs of each NUMA cell
    :param shared: returns the CPUs that Nova dedicates to no guest; an
        ordinary thread stays where it is if Nova put it on none of these CPUs,
        for example on a CPU that Nova dedicates to the emulator
        (hw:emulator_threads_policy)
    :param emulator: returns the CPUs for emulator, I/O and vhost threads;
        None for the spare CPUs
    """

    def __init__(self, tasks: kernel_tasks.Tasks,
                 spare: Callable[[], Collection[int]],
                 cells: Callable[[], Sequence[Collection[int]]] = list,
                 shared: Callable[[], Collection[int]] = tuple,
                 emulator: Callable[[], Collection[int]] | None = None
                 ) -> None:
        self._tasks = tasks
        self._spare = spare
        self._cells = cells
        self._shared = shared
        self._emulator = emulator or spare

    def confine(self, thread: int, cpus: tuple[int, ...]) -> tuple[int, ...]:
        """Keeps a vCPU on *cpus*; () leaves the vCPU where it is.

        :returns: the earlier CPUs of its cpuset; () if it had no cpuset of its
            own
        """
        self._group_of(thread, _VCPU)
        return self._tasks.confine(thread, cpus) if cpus else ()

    def cpuset_of(self, thread: int) -> tuple[str, tuple[int, ...]]:
        """Returns the file with the CPUs of a vCPU's cpuset, and these CPUs.

        The list of CPUs is empty if the cpuset has none of its own.
        """
        group = self._group_of(thread, _VCPU)
        return self._tasks.file_of_cpus(group), self._tasks.cpus_of(group)

    def free(self, thread: int, cpus: Collection[int]) -> None:
        """Widens the affinity of a vCPU, which libvirt restricts, too."""
        if not os.sched_getaffinity(thread).issuperset(cpus):
            privsep.free_vcpu(self._group_of(thread, _VCPU),
                              self._tasks.cpuset, thread)

    def is_pinned_to(self, thread: int, cpu: int) -> bool:
        """Checks whether a thread may run on *cpu* only."""
        return os.sched_getaffinity(thread) == {cpu}

    def keep_others_off(self, process: int, claimed: Collection[int],
                        ordinary: Collection[int] = ()
                        ) -> dict[str, tuple[int, ...]]:
        """Keeps QEMU's ordinary threads off the reserved pCPUs.

        On reserved pCPUs these threads would get only the CPU time that the
        reserved vCPUs leave.  The threads of the emulator and of vhost are in
        one group; each I/O thread is in a group of its own.

        :param claimed: the pCPUs of the guest's reserved vCPUs; CPUs of their
            NUMA cells are used if there are any
        :param ordinary: the indices of the vCPUs without a reservation; each
            of these vCPUs is kept on the spare CPUs among its CPUs, or stays
            where it is if none of its CPUs is spare
        :returns: the CPUs of each group before, for :meth:`put_back`
        """
        return {group: self._tasks.confine_group(group, cpus)
                for group, cpus in self._homes(process, claimed, ordinary)}

    def put_back(self, before: Mapping[str, tuple[int, ...]]) -> None:
        """Undoes :meth:`keep_others_off`; ignores groups that are gone."""
        for group, cpus in before.items():
            if cpus:
                with contextlib.suppress(FileNotFoundError):
                    self._tasks.confine_group(group, cpus)

    def are_others_off(self, process: int, claimed: Collection[int],
                       ordinary: Collection[int] = ()) -> bool:
        """Checks whether :meth:`keep_others_off` has nothing left to do."""
        return all(
            self._tasks.is_group_confined(group, cpus)
            for group, cpus in self._homes(process, claimed, ordinary))

    def _homes(self, process: int, claimed: Collection[int],
               ordinary: Collection[int]
               ) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yields the CPUs for each cpuset with ordinary threads."""
        if near := self._near(claimed, self._emulator()):
            shared = self._shared()
            for group in self._beside(process):
                now = self._tasks.cpus_of(group)
                if not (now and shared) or _common(now, shared):
                    yield group, near
        if near := self._near(claimed, self._spare()):
            for group in self._vcpus(process, ordinary):
                now = self._tasks.cpus_of(group)
                cpus = (_common(now, near) or _common(now, self._spare())
                        if now else near)
                if cpus:
                    yield group, cpus

    def _near(self, claimed: Collection[int], cpus: Collection[int]
              ) -> tuple[int, ...]:
        """Returns the *cpus* in the NUMA cells of *claimed*, ascending.

        If these cells have none, all of *cpus* are returned.
        """
        near = {cpu for cell in self._cells() if set(claimed) & set(cell)
                for cpu in cell}
        return tuple(sorted(near.intersection(cpus) or cpus))

    def _beside(self, process: int) -> list[str]:
        """Returns the cpusets of a guest's threads that are not vCPUs."""
        emulator = self._group_of(process, _EMULATOR)
        return [emulator, *(
            group for group in self._groups_near(emulator)
            if posixpath.basename(group).startswith(_IOTHREAD))]

    def _vcpus(self, process: int, numbers: Collection[int]) -> list[str]:
        """Returns the cpusets of these vCPUs of a guest."""
        names = {f'{_VCPU}{number}' for number in numbers}
        return [group for group in (self._groups_near(
            self._group_of(process, _EMULATOR)) if names else ())
            if posixpath.basename(group) in names]

    def _groups_near(self, emulator: str) -> list[str]:
        return list(self._tasks.groups_below(
            posixpath.dirname(emulator), self._tasks.cpuset))

    def _group_of(self, thread: int, kind: str) -> str:
        """Returns the cpuset of a thread, if libvirt made it for the thread.

        :raises LookupError: when the thread is in another cpuset
        """
        group = self._tasks.cpuset_group_of(thread)
        if not posixpath.basename(group).startswith(kind):
            raise LookupError(
                f'the thread is in the cpuset {group}, not in a cpuset of '
                f'libvirt for {kind}; let libvirt manage cpusets '
                '(cgroup_controllers in qemu.conf)')
        return group


def _common(some: Collection[int], others: Collection[int]
            ) -> tuple[int, ...]:
    return tuple(sorted(set(some).intersection(others)))


def try_out(fs: cgroup.CgroupFS, mount: str, v1: bool, cpus: Sequence[int]
            ) -> bool:
    """Tests whether the cpuset of a SCHED_DEADLINE thread can shrink.

    :param mount: the mount point of the hierarchy with cpusets
    :param v1: whether that is cgroup v1
    :param cpus: the CPUs of the root domain, ascending
    :raises OSError: when the kernel refuses a step
    """
    group = posixpath.join(mount, survey.SCRATCH)
    with fs.locked(mount):
        if not v1:
            _hand_on(fs, mount)
        with contextlib.suppress(FileNotFoundError):
            fs.remove(group)  # A crash may have left the group.
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
    """Enables cpusets for the groups below the root of cgroup v2."""
    path = posixpath.join(mount, survey.SUBTREE)
    if 'cpuset' not in fs.read(path).split():
        fs.write(path, '+cpuset')
