# SPDX-License-Identifier: Apache-2.0

"""Virtual machines of busy processes as libvirt lays them out.

Each vCPU is a process. libvirt has a thread in the place of the process, which
makes no difference to groups and scheduling.
"""

import contextlib
import itertools
import os
import pathlib
import time

from nova_rt.machine.trial import busy
from tests.full.kernel import guests

_PATIENCE_SECONDS = 60
_POLL_SECONDS = 0.005


class Machine:
    """A virtual machine that runs, on the pCPUs of a claim.

    :ivar vcpus: the vCPUs, in their order
    :ivar cpus: the pCPU of each vCPU, where libvirt pinned it at the start
    """

    def __init__(self, paths: dict[str, tuple[pathlib.Path, ...]],
                 domains: tuple[pathlib.Path, ...], v2: bool,
                 cpus: tuple[int, ...], seconds: float) -> None:
        self.cpus = cpus
        everywhere = os.sched_getaffinity(0)
        self._paths = [*itertools.chain(*paths.values()), *domains]
        self.emulator = busy.Busy(everywhere, seconds)
        self.vcpus = [busy.Busy({cpu}, seconds) for cpu in cpus]
        for each, own in zip((self.emulator, *self.vcpus), paths.values(),
                             strict=True):
            for domain, path in zip(domains, own, strict=True):
                if v2:  # A thread moves only within its domain.
                    (domain / 'cgroup.procs').write_text(str(each.pid))
                name = 'cgroup.threads' if v2 else 'tasks'
                (path / name).write_text(str(each.pid))
        for cpu, own in zip(cpus, list(paths.values())[1:], strict=True):
            for path in own:
                if (path / 'cpuset.cpus').exists():
                    (path / 'cpuset.cpus').write_text(str(cpu))

    @property
    def pid(self) -> int:
        return self.emulator.pid

    def cpuset(self, number: int) -> str:
        """Returns the CPUs that the group of a vCPU is kept on."""
        for path in self._paths:
            file = path / 'cpuset.cpus'
            if path.name == f'vcpu{number}' and file.exists():
                return file.read_text().strip()
        raise LookupError(f'vcpu{number} has no cpuset')

    def end(self) -> None:
        """Kills all processes, and removes the groups."""
        for each in (*self.vcpus, self.emulator):
            each.kill()
        for path in self._paths:
            remove(path)


class Machines(guests.Guests):
    """Starts virtual machines on the kernel of this machine."""

    def machine(self, cpus: tuple[int, ...], seconds: float = 3600
                ) -> Machine:
        """Starts one with a vCPU for each of *cpus*, pinned as by libvirt."""
        name = f'qemu-{next(self._numbers)}-pinned.libvirt-qemu'
        domains = tuple(self._make(top, name) for top in self.tops)
        groups = ['emulator', *(f'vcpu{number}' for number
                                in range(len(cpus)))]
        return Machine({group: tuple(self._below(domain, group)
                                     for domain in domains)
                        for group in groups}, domains, self.v2, cpus,
                       seconds)

    def _below(self, domain: pathlib.Path, name: str) -> pathlib.Path:
        if not self.v2:
            return self._make(domain, name)
        path = domain / name
        path.mkdir()
        (path / 'cgroup.type').write_text('threaded')
        (domain / 'cgroup.subtree_control').write_text('+cpu +cpuset')
        return path


def remove(path: pathlib.Path) -> None:
    """Removes a group as soon as its last task is gone.

    :raises TimeoutError: it does not go
    """
    end = time.monotonic() + _PATIENCE_SECONDS
    while path.exists():
        with contextlib.suppress(OSError):
            path.rmdir()
            return
        if time.monotonic() > end:
            raise TimeoutError(f'{path} keeps tasks')
        time.sleep(_POLL_SECONDS)
