# SPDX-License-Identifier: Apache-2.0

"""The stage for kernels that give no budgets to groups.

Each process of the stage is SCHED_DEADLINE on one pCPU, as a vCPU is.  The
groups have cpusets only, and no budgets.  A process may run on all CPUs of the
root domain while it becomes SCHED_DEADLINE; afterwards it is confined to its
pCPU.
"""

from collections.abc import Iterable
import errno
import pathlib
import time

from nova_rt.machine.host import files
from nova_rt.machine.host import proc
from nova_rt.machine.host import sched
from nova_rt.machine.kernel import deadline
from nova_rt.machine import sched_setattr
from nova_rt.machine.trial import busy
from nova_rt.machine.trial import temporary
from nova_rt.rules import cpulist
from nova_rt.rules import exception
from rt_operate.conformance import stage

#: A thread that ends gives its bandwidth back up to a period later.
_RETURN_SECONDS = 1.5
_POLL_SECONDS = 0.02
_ONE_SUM = ('the kernel keeps one sum for all CPUs; nova-compute keeps the '
            'sum of each pCPU')
_RECLAIMED = ('beside such a thread a host with this kernel offers nothing, '
              'as nova-rt doctor says')
_BOUND = 'only the cpuset of its group moves a vCPU to another pCPU'


class DeadlineStage(stage.Stage):
    """A :class:`stage.Stage` whose processes are SCHED_DEADLINE.

    :param mount: the mount point of the hierarchy with cpusets
    :param cpus: the two pCPUs to use, which may be the same pCPU
    :param ppm: the bandwidth of each pCPU that may be reserved
    :param domain: the CPUs of the root domain
    """

    def __init__(self, mount: str, cpus: tuple[int, int], ppm: int,
                 domain: tuple[int, ...]) -> None:
        known = {'reclaim': _RECLAIMED}
        if len(domain) > 1:
            known['overfull'] = _ONE_SUM
        super().__init__(mount, cpus, ppm, known, {'migration': _BOUND})
        self._domain = domain
        self._pinned: dict[str, tuple[int, ...]] = {}

    def group(self, name: str, runtime_us: int, period_us: int,
              cpus: Iterable[int] = ()) -> busy.Busy:
        return self._group(name, runtime_us, period_us, cpus, False)

    def foreign(self, runtime_us: int, period_us: int) -> busy.Busy:
        """Starts the process on the first pCPU; the cases also run there.

        :raises KernelError: when the kernel refuses
        """
        return self._group('foreign', runtime_us, period_us, (), True)

    def reserve(self, name: str, runtime_us: int, period_us: int) -> None:
        self._start(name, runtime_us, period_us, False)

    def budget(self, name: str) -> tuple[int, int] | None:
        for process in self._busy.get(name, ()):
            policy = sched.get(process.pid)
            if policy.is_deadline:
                return policy.runtime // 1000, policy.period // 1000
        return None

    def release(self, name: str) -> None:
        self._confine(name, self._domain)
        for process in self._busy.get(name, ()):
            sched_setattr.stop(process.pid)

    def _group(self, name: str, runtime_us: int, period_us: int,
               cpus: Iterable[int], reclaim: bool) -> busy.Busy:
        process = busy.Busy(set(self._domain))
        self._busy[name] = [process]
        self._pinned[name] = tuple(sorted(cpus)) or self.cpus[:1]
        self._make(name)
        (self._top / name / 'cgroup.procs').write_text(f'{process.pid}\n')
        self._start(name, runtime_us, period_us, reclaim)
        return process

    def _start(self, name: str, runtime_us: int, period_us: int,
               reclaim: bool) -> None:
        """Gives a process its runtime as nova-compute does.

        The process may run on all CPUs, gets its runtime, and is then
        confined.  While the kernel has no room, the method tries again for a
        while.

        :raises KernelError: when the kernel refuses
        """
        self._confine(name, self._domain)
        end = time.monotonic() + _RETURN_SECONDS
        process, = self._busy[name]
        while True:
            try:
                sched_setattr.start(process.pid, runtime_us, period_us,
                                    reclaim)
                break
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > end:
                    raise exception.KernelError(
                        interface=deadline.NAME, group=f'/{name}',
                        reason=f'sched_setattr: {error}') from error
            time.sleep(_POLL_SECONDS)
        self._confine(name, self._pinned[name])

    def _make(self, name: str) -> None:
        """Makes a group and fills its cpuset, which cgroup v1 makes empty."""
        for group in (self._top, self._top / name):
            temporary.make(group, ('cpuset',))
            mems = group / 'cpuset.mems'
            if (group / 'tasks').exists() and not mems.read_text().strip():
                mems.write_text((group.parent / mems.name).read_text())
            self._write_cpus(group, self._domain)

    def _confine(self, name: str, cpus: tuple[int, ...]) -> None:
        self._write_cpus(self._top / name, cpus)

    @staticmethod
    def _write_cpus(group: pathlib.Path, cpus: tuple[int, ...]) -> None:
        (group / 'cpuset.cpus').write_text(f'{cpulist.format_ids(cpus)}\n')


def check_spare(needed_ppm: int, ppm: int) -> None:
    """Checks that the host has no guests and enough free bandwidth.

    :raises KernelError: when the host is not spare or cannot be tried
    """
    threads = [str(task) for task in proc.by_deadline(files.Host())
               if not task.kernel]
    if threads:
        raise exception.KernelError(
            interface=deadline.NAME, group='/',
            reason=f'threads are SCHED_DEADLINE ({", ".join(threads[:3])}), '
                   'so this host has guests; use a spare host, or end the '
                   'guests')
    if ppm < needed_ppm:
        raise exception.KernelError(
            interface=deadline.NAME, group='/',
            reason=f'{ppm} ppm of each pCPU are free, but the cases need '
                   f'{needed_ppm}; nova-rt doctor shows what holds the rest')
