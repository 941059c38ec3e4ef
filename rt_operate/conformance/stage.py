# SPDX-License-Identifier: Apache-2.0

"""Groups of our own with budgets, and the busy processes in them."""

import abc
from collections.abc import Iterable, Mapping
import os
import pathlib
import time

from nova_rt.machine.host import sched
from nova_rt.machine.kernel import base
from nova_rt.machine.trial import busy
from nova_rt.machine.trial import temporary
from nova_rt.rules import exception

#: The top group, right below the root of the hierarchy.
TOP = 'nova-rt-conformance'
PRIORITY = 10
_PATIENCE_SECONDS = 10
_POLL_SECONDS = 0.01


_CAPS_ONLY = ('this interface only caps, real-time tasks of the host '
              'come first')


class Stage(abc.ABC):
    """What the cases act on; nothing of it is left when it is cleared.

    :param mount: where the hierarchy of its groups is
    :param cpus: the two pCPUs to use, which may be the same one
    :param ppm: what may be reserved of each pCPU
    :param known: why cases find what is not promised, by their names
    :param skipped: why cases are not for it
    """

    def __init__(self, mount: str, cpus: tuple[int, int], ppm: int,
                 known: Mapping[str, str], skipped: Mapping[str, str]
                 ) -> None:
        self.cpus = cpus
        self.ppm = ppm
        self.known = known
        self.skipped = skipped
        self._top = pathlib.Path(mount, TOP)
        self._busy: dict[str, list[busy.Busy]] = {}
        self._outside: list[busy.Busy] = []

    def process(self, cpus: Iterable[int] = (),
                seconds: float = busy.LIFETIME_SECONDS) -> busy.Busy:
        """A busy process outside of all our groups, on the first pCPU."""
        found = busy.Busy(set(cpus) or {self.cpus[0]}, seconds)
        self._outside.append(found)
        return found

    @abc.abstractmethod
    def group(self, name: str, runtime_us: int, period_us: int,
              cpus: Iterable[int] = ()) -> busy.Busy:
        """A new group with a budget and one process in it that has it.

        :raises KernelError, OSError: the kernel refuses; the group is there
            without a budget
        """

    @abc.abstractmethod
    def foreign(self, runtime_us: int, period_us: int) -> busy.Busy:
        """A process of others that is SCHED_DEADLINE, and reclaims.

        :raises KernelError, OSError: the kernel refuses
        """

    @abc.abstractmethod
    def reserve(self, name: str, runtime_us: int, period_us: int) -> None:
        """Give a group this budget, on both pCPUs where it has several.

        :raises KernelError: the kernel refuses
        """

    @abc.abstractmethod
    def held(self, name: str) -> tuple[int, int] | None:
        """(runtime, period) in us that the kernel has for a group."""

    @abc.abstractmethod
    def release(self, name: str) -> None:
        """Take the budget of a group whose process goes on as ordinary.

        :raises KernelError, OSError: the kernel refuses
        """

    def destroy(self, name: str) -> None:
        """Kill a group and remove it with its budget, as libvirt does."""
        for process in self._busy.pop(name):
            process.kill()
        self._remove(self._top / name)

    def clear(self) -> None:
        """End and remove everything.

        :raises KernelError, OSError: the kernel refuses
        """
        for process in (*self._outside, *(
                each for group in self._busy.values() for each in group)):
            process.end()
        self._outside.clear()
        self._busy.clear()
        if not self._top.exists():
            return
        names = [path.name for path in self._top.iterdir() if path.is_dir()]
        self._take(names)
        for name in names:
            self._remove(self._top / name)
        self._take([''])
        self._remove(self._top)

    def _take(self, names: Iterable[str]) -> None:
        """Take what groups without tasks hold, before they are removed.

        :param names: '' for the top group
        """

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


class GroupStage(Stage):
    """Budgets by a kernel interface of groups.

    :param interface: gives the budgets
    """

    def __init__(self, interface: base.KernelInterface, mount: str,
                 cpus: tuple[int, int], ppm: int) -> None:
        known = dict.fromkeys(('guarantee', 'reclaim'), _CAPS_ONLY)
        super().__init__(mount, cpus, ppm,
                         known if interface.fixed_priorities else {}, {})
        self._interface = interface
        self._controllers = (
            ('cpu', 'cpuset') if interface.binds_cpus else ('cpu',))

    @staticmethod
    def path(name: str) -> str:
        """A group as interfaces name it."""
        return f'/{TOP}/{name}'.rstrip('/')

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
        if self._interface.binds_cpus:
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
        self._interface.reserve({self.path(name): base.Budget(
            dict.fromkeys(self.cpus, runtime_us), period_us)})

    def held(self, name: str) -> tuple[int, int] | None:
        """(runtime, period) in us that the kernel has for a group."""
        found = self._interface.read(self.path(name))
        if found is None:
            return None
        return max(found.runtime_us.values()), found.period_us

    def release(self, name: str) -> None:
        """Take the budget of a group whose process goes on as ordinary.

        :raises KernelError: the kernel refuses
        """
        for process in self._busy.get(name, ()):
            process.ordinary()
        self._interface.release([self.path(name)])

    def foreign(self, runtime_us: int, period_us: int) -> busy.Busy:
        process = self.process(os.sched_getaffinity(0))
        sched.start(process.pid, runtime_us, period_us, reclaim=True)
        return process

    def _take(self, names: Iterable[str]) -> None:
        self._interface.release([self.path(name) for name in names])
