# SPDX-License-Identifier: Apache-2.0

"""Groups of our own with budgets, and the busy processes in them."""

from collections.abc import Iterable
import os
import pathlib
import time

from nova_rt.conformance import busy
from nova_rt import exception
from nova_rt.kernel import base
from nova_rt.kernel import temporary

#: The top group, right below the root of the hierarchy.
TOP = 'nova-rt-conformance'
PRIORITY = 10
_PATIENCE_SECONDS = 10
_POLL_SECONDS = 0.01


class Stage:
    """What the cases act on; nothing of it is left when it is cleared.

    :param interface: gives the budgets
    :param mount: where the hierarchy of the cpu controller is
    :param cpus: the two pCPUs to use, which may be the same one
    """

    def __init__(self, interface: base.KernelInterface, mount: str,
                 cpus: tuple[int, int]) -> None:
        self.interface = interface
        self.cpus = cpus
        self._top = pathlib.Path(mount, TOP)
        self._controllers = (
            ('cpu', 'cpuset') if interface.binds_cpus else ('cpu',))
        self._busy: dict[str, list[busy.Busy]] = {}
        self._outside: list[busy.Busy] = []

    def path(self, name: str) -> str:
        """A group as interfaces name it."""
        return f'/{TOP}/{name}'

    def process(self, cpus: Iterable[int] = (),
                seconds: float = busy.LIFETIME_SECONDS) -> busy.Busy:
        """A busy process outside of all our groups, on the first pCPU."""
        found = busy.Busy(set(cpus) or {self.cpus[0]}, seconds)
        self._outside.append(found)
        return found

    def group(self, name: str, runtime_us: int, period_us: int,
              cpus: Iterable[int] = ()) -> busy.Busy:
        """A new group with a budget and one real-time process in it.

        :raises KernelError, OSError: the kernel refuses; the group is there
            without a budget
        """
        pinned = set(cpus) or {self.cpus[0]}
        process = busy.Busy(pinned)
        self._busy[name] = [process]
        temporary.make(self._top, self._controllers)
        if self.interface.binds_cpus:
            temporary.confine(self._top / name, self.cpus)
        else:
            temporary.make(self._top / name, self._controllers)
        (self._top / name / 'cgroup.procs').write_text(f'{process.pid}\n')
        # Where the group has a cpuset, it came with that one's.
        process.pin(pinned)
        self.reserve(name, runtime_us, period_us)
        process.real_time(PRIORITY)
        return process

    def reserve(self, name: str, runtime_us: int, period_us: int) -> None:
        """Give a group this budget on both pCPUs.

        :raises KernelError: the kernel refuses
        """
        self.interface.reserve({self.path(name): base.Budget(
            dict.fromkeys(self.cpus, runtime_us), period_us)})

    def held(self, name: str) -> tuple[int, int] | None:
        """(runtime, period) in us that the kernel has for a group."""
        found = self.interface.read(self.path(name))
        if found is None:
            return None
        return max(found.runtime_us.values()), found.period_us

    def release(self, name: str) -> None:
        """Take the budget of a group whose process goes on as ordinary.

        :raises KernelError: the kernel refuses
        """
        for process in self._busy.get(name, ()):
            process.ordinary()
        self.interface.release([self.path(name)])

    def destroy(self, name: str) -> None:
        """Kill a group and remove it with its budget, as libvirt does."""
        for process in self._busy.pop(name):
            process.kill()
        self._remove(self._top / name)

    def clear(self) -> None:
        """End and remove everything.

        :raises KernelError, OSError: the kernel refuses
        """
        for process in self._outside:
            process.end()
        self._outside.clear()
        for processes in self._busy.values():
            for process in processes:
                process.end()
        self._busy.clear()
        if not self._top.exists():
            return
        names = [path.name for path in self._top.iterdir() if path.is_dir()]
        self.interface.release([self.path(name) for name in names])
        for name in names:
            self._remove(self._top / name)
        self.interface.release([f'/{TOP}'])
        self._remove(self._top)

    @staticmethod
    def _remove(group: pathlib.Path) -> None:
        """Remove a group, which is busy until its last task is gone."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while group.exists():
            try:
                os.rmdir(group)
            except OSError as error:
                if time.monotonic() > end:
                    raise exception.KernelError(
                        interface='conformance', group=f'/{group.name}',
                        reason=f'it cannot be removed: {error}') from error
                time.sleep(_POLL_SECONDS)
