# SPDX-License-Identifier: Apache-2.0

"""Makes a group with a limit and tasks in it, and cleans up after a kill."""

from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import os
import pathlib
import subprocess
import sys
import time

from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import detect
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import survey
from nova_rt.machine import privsep
from nova_rt.machine import sched_setattr
from nova_rt.machine.trial import temporary
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from paper import room

NAME = 'nova-rt-probe'
#: Two kinds may be measured at the same time.
_CPUS = {'quota': 0, 'rt-group': 1}
#: A reservation is a quota, a budget for real-time tasks, or a thread.  Or
#: nothing is reserved, and groups compete by their weights.
QUOTA, BUDGET, THREAD = 'quota', 'rt-group', 'deadline'
SHARES = 'shares'
#: This weight replaces a guarantee: others on the CPU hardly count.
_SHARES = 100_000
#: The priority of SCHED_RR that nova-compute gives to containers.
_PRIORITY = 10
_BEFORE_OTHERS = -20
_LIFETIME = 400.0
_MOUNT = pathlib.Path('/sys/fs/cgroup')
_TREES = ('cpu', 'cpuacct')
_NS = 1_000_000_000

#: A busy loop, or a loop that wants a part of the CPU every 10 ms, and catches
#: up later if it did not get that part.
_LOAD = '''\
import sys, time
print(flush=True)
end, part = time.monotonic() + float(sys.argv[1]), float(sys.argv[2])
turn = time.monotonic()
while time.monotonic() < end:
    if part < 1:
        used = time.thread_time()
        while time.thread_time() - used < 0.01 * part: pass
        turn += 0.01
        time.sleep(max(0, turn - time.monotonic()))
'''


class Task:
    """A process that ends after a time, if nobody ends it before."""

    def __init__(self, part: float, cpus: set[int] | None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, '-S', '-c', _LOAD, str(_LIFETIME), str(part)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdout.readline()
        self._process.stdout.close()
        self.pid = self._process.pid
        if cpus:
            os.sched_setaffinity(self.pid, cpus)

    def end(self) -> None:
        """Ends the process."""
        with contextlib.suppress(ProcessLookupError):
            # Without a budget the process could not die.
            os.sched_setscheduler(self.pid, os.SCHED_OTHER,
                                  os.sched_param(0))
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def task(part: float = 1.0, cpus: set[int] | None = None) -> Iterator[Task]:
    """Starts a load of this part of a CPU; 1: all it gets; 0: no load."""
    if not part:
        yield Task(0.0, cpus)
        return
    process = Task(part, cpus)
    try:
        yield process
    finally:
        process.end()


@dataclasses.dataclass
class Stage:
    """A group in the hierarchies of cpu and cpuacct."""

    kind: str
    name: str = ''

    def __post_init__(self) -> None:
        self.name = self.name or f'{NAME}-{self.kind}-{os.getpid()}'
        self._paths = [_MOUNT / tree / self.name for tree in _TREES]
        self._interface: base.KernelInterface | None = None
        if self.kind == BUDGET:
            privsep.cgroup_pctxt.set_client_mode(False)
            privsep.TOPS = frozenset((self.name,))
            files = fs.RealFS()
            self._interface = detect.detect(files)
            if (self._interface is None
                    or survey.hierarchy_of(files) is None):
                raise exception.KernelError(
                    interface='any', group=self.name,
                    reason='this kernel has no interface for groups')

    def reserve(self, share: float, period_us: int) -> None:
        """Gives the group this reservation, in place of any other one."""
        runtime_us = round(share * period_us)
        if self._interface is not None:
            room.check(self._interface.capacity(self.name), [
                rt_reservation.Reservation(runtime_us, period_us)])
            self._interface.reserve({f'/{self.name}': base.Budget(
                {self.cpu: runtime_us}, period_us)})
        elif self.kind == QUOTA:
            path = self._paths[0]
            (path / 'cpu.shares').write_text(str(_SHARES))
            (path / 'cpu.cfs_period_us').write_text(str(period_us))
            (path / 'cpu.cfs_quota_us').write_text(str(runtime_us))

    def weigh(self, shares: int) -> None:
        """Lets the group compete with others by this weight."""
        (self._paths[0] / 'cpu.shares').write_text(str(shares))

    def enter(self, task: Task, share: float, period_us: int) -> None:
        """Puts a task in, with the policy that the reservation needs."""
        if self.kind == THREAD:
            (self._paths[1] / 'cgroup.procs').write_text(str(task.pid))
            sched_setattr.start(task.pid, round(share * period_us), period_us)
            return
        for path in self._paths:
            (path / 'cgroup.procs').write_text(str(task.pid))
        if self.kind == BUDGET:
            os.sched_setscheduler(task.pid, os.SCHED_RR,
                                  os.sched_param(_PRIORITY))

    @property
    def inside(self) -> Sequence[str]:
        """Returns the prefix that starts a command like a child of the VNF."""
        if self.kind == THREAD:
            return ()
        enter = '; '.join(f'echo $$ > {path}/cgroup.procs'
                          for path in self._paths)
        prefix = f'chrt --rr {_PRIORITY} ' if self.kind == BUDGET else ''
        if self.cpus:
            prefix += f'taskset -c {self.cpu} '
        return ('sh', '-c', f'{enter}; exec {prefix}"$@"', 'sh')

    @property
    def cpu(self) -> int:
        """Returns the CPU on which the group is measured."""
        return _CPUS.get(self.kind, 1)

    @property
    def cpus(self) -> set[int] | None:
        """Returns the CPUs of the tasks; deadline threads cannot be bound."""
        return {self.cpu} if self.kind in _CPUS else None

    def used_ns(self) -> int:
        """Returns the CPU time of the group, as seen from outside."""
        for pid in (self._paths[1] / 'cgroup.procs').read_text().split():
            # This makes the kernel charge the task that runs now.
            with contextlib.suppress(OSError):
                time.clock_gettime_ns(~int(pid) << 3 | 2)
        return int((self._paths[1] / 'cpuacct.usage').read_text())

    def release(self) -> None:
        """Takes the reservation away from the group."""
        if self._interface is not None:
            self._interface.release([f'/{self.name}'])

    @contextlib.contextmanager
    def up(self) -> Iterator['Stage']:
        """Yields the group, which is removed afterwards, also after a kill."""
        with temporary.reaped(self._paths):
            for path in self._paths:
                path.mkdir(exist_ok=True)
            yield self
            self.release()


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """Lets this process, not its children, run before ordinary tasks.

    This process runs on a CPU without real-time tasks of the experiment.
    """
    affinity = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {_CPUS[QUOTA]})
    os.sched_setscheduler(0, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK,
                          os.sched_param(0))
    os.setpriority(os.PRIO_PROCESS, 0, _BEFORE_OTHERS)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, 0)
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, affinity)


def truth(stage: Stage, seconds: float, period_us: int) -> float:
    """Returns the group's CPU time from now on, over whole periods."""
    period = period_us / 1e6
    wall = max(1, round(seconds / period)) * period
    begin, used = time.monotonic_ns(), stage.used_ns()
    time.sleep(wall)
    return (stage.used_ns() - used) / (time.monotonic_ns() - begin)
