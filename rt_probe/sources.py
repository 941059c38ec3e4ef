# SPDX-License-Identifier: Apache-2.0

"""The sources that can be read on this machine, and a reading of them."""

from collections.abc import Iterable, Mapping, Sequence, Set
import contextlib
import os
import time
import types
from typing import NamedTuple

from rt_probe import counters
from rt_probe import group as rt_group
from rt_probe import limits
from rt_probe import machine as rt_machine
from rt_probe import place
from rt_probe import threads as rt_threads
from rt_probe import whole

#: Names of the sources, best first.
THROTTLING, SCHEDSTAT, STEAL, PRESSURE = (
    'cpu.stat', 'schedstat', 'steal', 'psi')
#: A list of the group's threads is used for this many readings, because
#: making the list is the most expensive step.
_LISTED = 10
_PART_OF_IT = ('steal is known only for the whole machine, and the probe '
               'measures a part of the machine')
#: A reading that took longer than this is repeated, up to this many times in
#: all.
_SLOW_NS, _TRIES = 1_000_000, 3


class Sample(NamedTuple):
    """One reading; the value of an absent source is None or empty.

    :ivar at_ns: the time by the monotonic clock
    :ivar wall_ns: the time by the wall clock, to detect jumps of this clock
    :ivar cpus: the CPUs that this process may use
    :ivar used_ns: CPU time of the group, the threads or the machine
    :ivar accounted: whether *used_ns* is known
    :ivar limit: the lowest limit that can be seen, in CPUs; None: none
    :ivar throttling: the number of periods, and of throttled periods
    :ivar full_ns: how long all tasks that wanted a CPU had none
    """

    at_ns: int
    wall_ns: int
    cpus: Set[int]
    used_ns: int
    throttling: tuple[int, int] | None = None
    threads: Mapping[int, rt_threads.Thread] = types.MappingProxyType({})
    machine: rt_machine.Machine | None = None
    full_ns: int | None = None
    accounted: bool = True
    limit: float | None = None


class Sources:
    """The sources for some processes, or for our whole group or machine.

    :param processes: the processes of the VNF; without any, the probe reads
        the whole control group, or the whole machine
    :param machine: whether to read the whole machine in any case
    :ivar absent: why a source is absent, by the name of the source
    :ivar real_time: whether the VNF runs under SCHED_FIFO or SCHED_RR
    :ivar period_ns: the period of the limit; None: unknown
    :raises ProcessLookupError: when a process is gone
    :raises OSError: when the whole machine cannot be read
    """

    def __init__(self, processes: Sequence[int] = (), root: str = '',
                 machine: bool = False) -> None:
        self.absent: dict[str, str] = {}
        self.processes = tuple(processes)
        self._root = root
        directories = {} if machine else self._directories()
        candidates = self._candidates(directories)
        # A probe that the VNF started has the VNF's scheduling class.
        policies = rt_threads.policies([*candidates, 0])
        self.real_time = not policies.isdisjoint(rt_threads.REAL_TIME)
        self.group = rt_group.limited(directories, self.real_time)
        if self.group is None and not self.real_time and not candidates:
            # No thread is visible whose class could be read.  A limit of
            # real-time tasks then shows the class.
            self.group = rt_group.limited(directories, True)
            self.real_time = self.group is not None
        self.period_ns = self._period(candidates)
        if self.group is None and not self.processes:
            self.group = rt_group.own(directories)
        self._limits = limits.Limits(rt_group.cpu_directory(directories),
                                     self.real_time)
        self._list: list[int] = []
        self._age = 0
        self._throttles = self._has_throttling()
        self._threads = self._open_threads()
        self._steal = self._open_steal(machine)
        self._pressure = self._open_pressure()

    def _directories(self) -> dict[str, str]:
        who = str(self.processes[0]) if self.processes else 'self'
        try:
            return place.directories(who, self._root)
        except FileNotFoundError as error:
            if self.processes:
                raise ProcessLookupError(0, f'process {who} is gone'
                                         ) from error
            return {}

    def _candidates(self, directories: dict[str, str]) -> list[int]:
        """Returns the threads of the VNF, as far as they are known."""
        if self.processes:
            return [int(name) for process in self.processes
                    for name in self._tasks(process)]
        path = directories.get('cpu', directories.get(place.UNIFIED))
        if path is None or place.is_top(path):
            return []
        with contextlib.suppress(OSError):
            group = rt_group.Group(path, directories.get('cpuacct', path))
            threads = self._other_threads(group)
            group.close()
            return threads
        return []

    def _tasks(self, process: int) -> list[str]:
        try:
            return os.listdir(f'{self._root}/proc/{process}/task')
        except FileNotFoundError as error:
            raise ProcessLookupError(0, f'process {process} is gone'
                                     ) from error

    @staticmethod
    def _other_threads(group: rt_group.Group) -> list[int]:
        return [thread for thread in group.threads() if thread != os.getpid()]

    def _period(self, candidates: Iterable[int]) -> int | None:
        if self.group is None:
            return rt_threads.deadline_period_ns(candidates)
        if self.real_time:
            return self.group.rt_period_ns()
        return self.group.quota_period_ns()

    def _has_throttling(self) -> bool:
        if self.group is None or self.period_ns is None:
            self.absent[THROTTLING] = ('no control group with a limit can be '
                                       'seen')
        elif self.real_time:
            self.absent[THROTTLING] = ('cpu.stat does not count the '
                                       'throttling of real-time tasks')
        elif self.group.throttling() is None:
            self.absent[THROTTLING] = 'cpu.stat has no line nr_periods'
        return THROTTLING not in self.absent

    def _open_threads(self) -> rt_threads.Threads | None:
        if self.group is None and not self.processes:
            self.absent[SCHEDSTAT] = ('no threads are known; name the '
                                      'processes of the VNF with --pid')
            return None
        try:
            return rt_threads.Threads(self.processes, self._root)
        except FileNotFoundError:
            self.absent[SCHEDSTAT] = 'the kernel has no /proc/PID/schedstat'
            return None

    def _open_steal(self, asked: bool) -> rt_machine.Steal | None:
        """Opens /proc/stat, if the probe measures the whole machine.

        :raises OSError: when the user asked for the whole machine, but
            /proc/stat cannot be used
        """
        if self.processes:
            self.absent[STEAL] = _PART_OF_IT
            return None
        try:
            why = whole.refusal('self', asked, self._root)
            if not why and self.group is None:
                return rt_machine.Steal(self._root)
        except (OSError, ValueError) as error:
            why = str(error)
        if asked:
            raise OSError(0, f'--machine: {why}')
        limited = self.group is not None and self.period_ns is not None
        self.absent[STEAL] = _PART_OF_IT if limited or not why else why
        return None

    def _open_pressure(self) -> counters.Counter | None:
        if self.group is None:
            self.absent[PRESSURE] = ('there is no control group to read the '
                                     'pressure of')
            return None
        try:
            pressure = self.group.pressure()
            if b'full' in pressure.read():
                return pressure
            self.absent[PRESSURE] = 'cpu.pressure has no line "full"'
        except OSError:
            self.absent[PRESSURE] = ('the control group has no file '
                                     'cpu.pressure')
        return None

    def needed(self, cpus: int) -> int:
        """Returns how many threads must want to run to use all *cpus*.

        :raises ProcessLookupError: when a process is gone
        """
        if self.processes:
            return min(cpus, sum(len(self._tasks(process))
                                 for process in self.processes))
        return cpus

    @property
    def unit_ns(self) -> int:
        """The unit in which the source counts CPU time; 0: ns."""
        return self._steal.unit_ns if self._steal else 0

    @property
    def accounted(self) -> bool:
        """True if the CPU time of the group, or the machine, is known."""
        if self.group is not None and self.group.accounted:
            return True
        return (self._steal is not None
                or bool(self.processes) and self._threads is not None)

    @property
    def unaccounted(self) -> str:
        """The reason why the CPU time is not known."""
        if self.group is not None:
            return ('cpu and cpuacct are different hierarchies here, and '
                    'their groups have different tasks; name the '
                    'processes of the VNF with --pid')
        return ('the probe cannot read the CPU time of a group or of '
                f'processes ({self.absent[STEAL]})')

    def used_ns(self) -> int:
        """Returns the CPU time of the group, the processes or the machine.

        :returns: 0 where that is not accounted
        :raises OSError: when the group or a process is gone
        """
        if self.group is not None and self.group.accounted:
            # Makes the kernel charge what this thread has used so far.
            time.thread_time_ns()
            return self.group.used_ns()
        if self.processes and self._threads is not None:
            return sum(thread.run_ns
                       for thread in self._threads.sample().values())
        if self._steal is not None:
            return self._steal.sample().busy_ns
        return 0

    def stolen_ns(self) -> int:
        """Returns the steal of the machine; 0 where steal is not reported.

        :raises OSError: when the file cannot be read
        """
        return self._steal.sample().stolen_ns if self._steal else 0

    def sample(self) -> Sample:
        """Reads all sources.

        :raises ProcessLookupError: when a process is gone
        :raises OSError: when the group is gone
        """
        for _ in range(_TRIES):
            before = time.monotonic_ns()
            used, wall = self.used_ns(), time.time_ns()
            after = time.monotonic_ns()
            if after - before < _SLOW_NS:
                break
        steal = self._steal.sample() if self._steal else None
        cpus = os.sched_getaffinity(0)
        return Sample(
            after, wall, cpus, steal.busy_ns if steal else used,
            self._throttling(), self._thread_samples(), steal, self._full(),
            self.accounted, self._limit(len(cpus)))

    def _limit(self, cpus: int) -> float | None:
        # The processes of the VNF may use other CPUs than the probe.
        return self._limits.cpus(
            os.cpu_count() or cpus if self.processes else cpus)

    def _throttling(self) -> tuple[int, int] | None:
        if self.group is None or not self._throttles:
            return None
        return self.group.throttling()

    def _thread_samples(self) -> Mapping[int, rt_threads.Thread]:
        if self._threads is None:
            return {}
        return self._threads.sample(self._listed())

    def _listed(self) -> list[int]:
        """Returns the threads of the group, if no processes are named."""
        if self.processes or self.group is None:
            return []
        if not self._age:
            self._list = self._other_threads(self.group)
        self._age = (self._age + 1) % _LISTED
        return self._list

    def _full(self) -> int | None:
        if self._pressure is None:
            return None
        text = self._pressure.read().partition(b'full ')[2]
        return int(text.partition(b'total=')[2].split()[0]) * 1000
