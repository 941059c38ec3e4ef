# SPDX-License-Identifier: Apache-2.0

"""The stage of the cases: groups with budgets, and processes in them."""

import abc
from collections.abc import Iterable, Mapping
import os
import pathlib
import time

from nova_rt.machine.kernel import base
from nova_rt.machine import sched_setattr
from nova_rt.machine.trial import busy
from nova_rt.machine.trial import temporary
from nova_rt.rules import exception

#: The top group, right below the root of the hierarchy.
TOP = 'nova-rt-conformance'
PRIORITY = 10
_PATIENCE_SECONDS = 10
_POLL_SECONDS = 0.01


_CAPS_ONLY = ('this interface only caps, and real-time tasks of the host '
              'run first')


class Stage(abc.ABC):
    """The groups and processes on which the cases act.

    ``clear`` removes all of them.

    :param mount: the mount point of the hierarchy of the groups
    :param cpus: the two pCPUs to use, which may be the same pCPU
    :param ppm: the bandwidth of each pCPU that may be reserved
    :param known: why the interface does not make a promise, by the name of
        the case
    :param skipped: why a case cannot be tried, by its name
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
        """Starts a busy process outside of all groups of the stage.

        :param cpus: the pCPUs that the process may run on; the first pCPU if
            empty
        """
        started = busy.Busy(set(cpus) or {self.cpus[0]}, seconds)
        self._outside.append(started)
        return started

    @abc.abstractmethod
    def group(self, name: str, runtime_us: int, period_us: int,
              cpus: Iterable[int] = ()) -> busy.Busy:
        """Makes a group with a budget, and one process that uses it.

        :raises KernelError, OSError: when the kernel refuses; the group then
            exists without a budget
        """

    @abc.abstractmethod
    def foreign(self, runtime_us: int, period_us: int) -> busy.Busy:
        """Starts a SCHED_DEADLINE process that reclaims unused bandwidth.

        The process stands for one that does not belong to any server.

        :raises KernelError, OSError: when the kernel refuses
        """

    @abc.abstractmethod
    def reserve(self, name: str, runtime_us: int, period_us: int) -> None:
        """Gives a group this budget, on both pCPUs if there are two.

        :raises KernelError: when the kernel refuses
        """

    @abc.abstractmethod
    def budget(self, name: str) -> tuple[int, int] | None:
        """Returns the runtime and period in us of a group in the kernel."""

    @abc.abstractmethod
    def release(self, name: str) -> None:
        """Takes the budget of a group back; its process becomes ordinary.

        :raises KernelError, OSError: when the kernel refuses
        """

    def destroy(self, name: str) -> None:
        """Kills a group and removes it with its budget, as libvirt does."""
        for process in self._busy.pop(name):
            process.kill()
        self._remove(self._top / name)

    def clear(self) -> None:
        """Ends all processes and removes all groups of the stage.

        :raises KernelError, OSError: when the kernel refuses
        """
        for process in (*self._outside, *(
                member for group in self._busy.values()
                for member in group)):
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
        """Takes back the budgets of groups that will be removed.

        :param names: the groups; '' is the top group
        """

    @staticmethod
    def _remove(group: pathlib.Path) -> None:
        """Removes a group, which is busy until its last task is gone."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while group.exists():
            try:
                os.rmdir(group)
            except OSError as error:
                if time.monotonic() > end:
                    raise exception.KernelError(
                        interface='conformance', group=f'/{group.name}',
                        reason=f'the group cannot be removed: {error}'
                    ) from error
                time.sleep(_POLL_SECONDS)


class GroupStage(Stage):
    """A stage on which a kernel interface gives budgets to groups.

    :param interface: the kernel interface
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
        """Returns the path of a group as kernel interfaces take it."""
        return f'/{TOP}/{name}'.rstrip('/')

    def group(self, name: str, runtime_us: int, period_us: int,
              cpus: Iterable[int] = ()) -> busy.Busy:
        """Makes a group with a budget and one real-time process in it.

        :raises KernelError, OSError: when the kernel refuses; the group then
            exists without a budget
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
        # A group with a cpuset changed the affinity of the process.
        process.pin(pinned)
        self.reserve(name, runtime_us, period_us)
        process.real_time(PRIORITY)
        return process

    def reserve(self, name: str, runtime_us: int, period_us: int) -> None:
        """Gives a group this budget on both pCPUs.

        :raises KernelError: when the kernel refuses
        """
        self._interface.reserve({self.path(name): base.Budget(
            dict.fromkeys(self.cpus, runtime_us), period_us)})

    def budget(self, name: str) -> tuple[int, int] | None:
        """Returns the runtime and period in us of a group in the kernel."""
        budget = self._interface.read(self.path(name))
        if budget is None:
            return None
        return max(budget.runtime_us.values()), budget.period_us

    def release(self, name: str) -> None:
        """Takes the budget of a group back; its process becomes ordinary.

        :raises KernelError: when the kernel refuses
        """
        for process in self._busy.get(name, ()):
            process.ordinary()
        self._interface.release([self.path(name)])

    def foreign(self, runtime_us: int, period_us: int) -> busy.Busy:
        process = self.process(os.sched_getaffinity(0))
        sched_setattr.start(process.pid, runtime_us, period_us, reclaim=True)
        return process

    def _take(self, names: Iterable[str]) -> None:
        self._interface.release([self.path(name) for name in names])
