# SPDX-License-Identifier: Apache-2.0

"""A guest as the host sees it: its threads, and the CPU time that they use."""

import abc
import os
import pathlib
import re

#: A thread that KVM makes for itself, beside the vCPU that ran first.
WORKER = 'kvm-nx-lpage-re'
_VCPU = re.compile(r'CPU ([0-9]+)/(?:KVM|TCG)')
#: The size of the huge pages of the lab.
PAGE_KIB = 2048
_HUGE = re.compile(rf'\bkernelpagesize_kB={PAGE_KIB}\b')
_ON_CELL = re.compile(r'\bN([0-9]+)=([0-9]+)')
_STATISTICS = pathlib.Path('/sys/kernel/debug/kvm')


class Guest(abc.ABC):
    """A QEMU process, in groups as libvirt makes them.

    :ivar pid: the pid of QEMU
    :ivar groups: the groups of the whole guest, one in each hierarchy of
        cgroups
    """

    pid: int
    groups: tuple[pathlib.Path, ...]

    @abc.abstractmethod
    def resume(self) -> None:
        """Lets the guest run; a guest starts paused."""

    @abc.abstractmethod
    def end(self) -> None:
        """Kills the guest, so that nothing is left of it."""

    @property
    def is_alive(self) -> bool:
        """Returns whether its vCPUs are there."""
        return bool(self.vcpus)

    @property
    def vcpus(self) -> list[int]:
        """Returns the threads of its vCPUs, in their order."""
        found = {int(match[1]): thread
                 for thread, name in self.own_threads().items()
                 if (match := _VCPU.fullmatch(name))}
        return [found[number] for number in sorted(found)]

    def own_threads(self) -> dict[int, str]:
        """Returns the names of the threads of QEMU."""
        return {int(path.name): _name(int(path.name)) for path
                in pathlib.Path(f'/proc/{self.pid}/task').iterdir()}

    def threads(self) -> dict[int, str]:
        """Returns the threads in its groups, also those of the kernel."""
        found = self.own_threads()
        for top in self.groups:
            for file in ('tasks', 'cgroup.threads'):
                for path in top.glob(f'**/{file}'):
                    found |= {thread: _name(thread) for thread
                              in map(int, _threads(path))}
        return found

    def used_ns(self, vcpu: int = 0) -> int:
        """Returns the CPU time of a vCPU, up to the last tick or switch."""
        return used_ns(self.vcpus[vcpu])

    def huge_pages(self) -> dict[int, int]:
        """Returns its huge pages on each cell, as the kernel counts them."""
        text = pathlib.Path(f'/proc/{self.pid}/numa_maps').read_text()
        found: dict[int, int] = {}
        for line in text.splitlines():
            if _HUGE.search(line):
                for cell, count in _ON_CELL.findall(line):
                    found[int(cell)] = found.get(int(cell), 0) + int(count)
        return found

    def count(self, name: str) -> int:
        """Returns a counter of KVM, the sum over all vCPUs of the guest."""
        directory, = _STATISTICS.glob(f'{self.pid}-*')
        return int((directory / name).read_text())


def used_ns(thread: int) -> int:
    """Returns the CPU time of any thread."""
    text = pathlib.Path(f'/proc/{thread}/schedstat').read_text()
    return int(text.split()[0])


def groups_of(pid: int) -> tuple[pathlib.Path, ...]:
    """Returns the group above a guest's emulator, in each hierarchy."""
    text = pathlib.Path(f'/proc/{pid}/cgroup').read_text()
    found = []
    for line in text.splitlines():
        _, controllers, path = line.split(':', 2)
        top = pathlib.Path('/sys/fs/cgroup', controllers)
        if path.endswith('/emulator') and top.is_dir():
            found.append((top / path.lstrip('/')).parent)
    return tuple(found)


def affinity(thread: int) -> set[int]:
    """Returns the CPUs of a thread; none if the thread has ended."""
    try:
        return os.sched_getaffinity(thread)
    except ProcessLookupError:
        return set()


def _name(thread: int) -> str:
    try:
        return pathlib.Path(f'/proc/{thread}/comm').read_text().strip()
    except OSError:
        return ''  # it has ended


def _threads(path: pathlib.Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []  # v2: the group passes its tasks on
