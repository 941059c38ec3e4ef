# SPDX-License-Identifier: Apache-2.0

"""What the kernel tells of single threads: run time and waiting time."""

from collections.abc import Iterable, Mapping, Sequence
import contextlib
import os
import time
from typing import NamedTuple

from nova_rt.machine.host import sched
from rt_probe import counters

#: More of them would cost more than a probe may.
MOST = 64
#: Who ran and waited for less of the time has slept, or began to wait.
_PART = 0.5
REAL_TIME = (os.SCHED_FIFO, os.SCHED_RR)
_SWITCHES = b'\nvoluntary_ctxt_switches:'
_STATE = b'\nState:'


class Thread(NamedTuple):
    """One thread at one moment.

    :ivar run_ns: CPU time
    :ivar wait_ns: run_delay, runnable without a CPU; also while its group
        is throttled.  It grows when the waiting ends.
    :ivar slept: how often it gave up the CPU by itself; None: not looked at
    :ivar runnable: whether it wants to run now
    """

    run_ns: int
    wait_ns: int
    slept: int | None = None
    runnable: bool = False


class Threads:
    """The files of some threads, kept open.

    :param processes: all threads of these are followed
    :raises OSError: the kernel has no schedstat, or a process is gone
    """

    def __init__(self, processes: Iterable[int], root: str = '') -> None:
        self._root = root
        self._processes = tuple(processes)
        self._open: dict[int, tuple[counters.Counter, counters.Counter]] = {}
        self._followed: Sequence[int] = ()
        self._also: Sequence[int] = ()
        self._before: dict[int, Thread] = {}
        self._before_ns = 0
        for process in self._processes or (os.getpid(),):
            counters.Counter(f'{root}/proc/{process}/schedstat').close()

    def sample(self, also: Sequence[int] = ()) -> Mapping[int, Thread]:
        """All of them now.

        :param also: threads by their ids, which may have ended; the same
            object as the last time has the same ones
        :raises ProcessLookupError: a process is gone
        """
        if self._processes or also is not self._also:
            self._follow({*self._of_processes(), *also})
            self._also = also
        at_ns = time.monotonic_ns()
        found = {}
        for thread in self._followed:
            try:
                found[thread] = self._read(thread, at_ns - self._before_ns)
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended
        self._before, self._before_ns = found, at_ns
        return found

    def _follow(self, threads: set[int]) -> None:
        for gone in self._open.keys() - threads:
            self._close(gone)
        self._followed = sorted(threads)[:MOST]

    def _of_processes(self) -> Iterable[int]:
        for process in self._processes:
            try:
                yield from map(int, os.listdir(
                    f'{self._root}/proc/{process}/task'))
            except FileNotFoundError as error:
                raise ProcessLookupError(
                    0, f'process {process} is gone') from error

    def _read(self, thread: int, passed_ns: int) -> Thread:
        if thread not in self._open:
            self._open[thread] = (
                counters.Counter(f'{self._root}/proc/{thread}/schedstat'),
                counters.Counter(f'{self._root}/proc/{thread}/status'))
        times, status = self._open[thread]
        try:
            run, wait, _ = map(int, times.read().split())
            found = Thread(run, wait)
            if self._may_want_all(thread, found, passed_ns):
                text = status.read()
                found = Thread(run, wait, int(_field(text, _SWITCHES)),
                               _field(text, _STATE) == b'R')
        except OSError:
            self._close(thread)
            raise
        return found

    def _may_want_all(self, thread: int, now: Thread, passed_ns: int) -> bool:
        """Whether to read what costs most; one that has slept wants less."""
        before = self._before.get(thread)
        return before is None or _PART * passed_ns <= (
            now.run_ns + now.wait_ns - before.run_ns - before.wait_ns)

    def _close(self, thread: int) -> None:
        for file in self._open.pop(thread):
            file.close()


def _field(status: bytes, name: bytes) -> bytes:
    return status.partition(name)[2].split(None, 1)[0]


def policies(of: Iterable[int]) -> set[int]:
    """How threads are scheduled; those that have ended count not."""
    found = set()
    for thread in of:
        with contextlib.suppress(ProcessLookupError):
            found.add(os.sched_getscheduler(thread))
    return found


def deadline_period_ns(of: Iterable[int]) -> int | None:
    """The period of the first SCHED_DEADLINE thread."""
    for thread in of:
        with contextlib.suppress(OSError):
            policy = sched.get(thread)
            if policy.is_deadline:
                return policy.period
    return None
