# SPDX-License-Identifier: Apache-2.0

"""Reads the run time and the waiting time of single threads."""

from collections.abc import Iterable, Mapping, Sequence
import contextlib
import os
import time
from typing import NamedTuple

from nova_rt.machine.host import sched
from rt_probe import counters

#: The most threads that are followed; more would cost more than a probe may.
MOST = 64
#: A thread that ran and waited for less than this part of the time has slept,
#: or has just begun to wait.
_PART = 0.5
REAL_TIME = (os.SCHED_FIFO, os.SCHED_RR)
_SWITCHES = b'\nvoluntary_ctxt_switches:'
_STATE = b'\nState:'


class Thread(NamedTuple):
    """One thread at one moment.

    :ivar run_ns: CPU time of the thread
    :ivar wait_ns: how long the thread was runnable without a CPU
        (run_delay), also while its group was throttled.  The kernel adds a
        wait when the wait ends.
    :ivar slept: how often the thread gave up the CPU by itself; None: not
        read
    :ivar runnable: whether the thread wants to run now
    """

    run_ns: int
    wait_ns: int
    slept: int | None = None
    runnable: bool = False


class Threads:
    """The files of some threads, kept open.

    :param processes: the processes whose threads are followed
    :raises OSError: when the kernel has no schedstat, or a process is gone
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
        """Reads all threads and returns them by their IDs.

        :param also: IDs of further threads, some of which may have ended.  If
            the object is the same as in the last call, the threads are the
            same.
        :raises ProcessLookupError: when a process is gone
        """
        if self._processes or also is not self._also:
            self._follow({*self._process_threads(), *also})
            self._also = also
        at_ns = time.monotonic_ns()
        samples = {}
        for thread in self._followed:
            try:
                samples[thread] = self._read(thread, at_ns - self._before_ns)
            except (FileNotFoundError, ProcessLookupError):
                continue  # the thread has ended
        self._before, self._before_ns = samples, at_ns
        return samples

    def _follow(self, threads: set[int]) -> None:
        for gone in self._open.keys() - threads:
            self._close(gone)
        self._followed = sorted(threads)[:MOST]

    def _process_threads(self) -> Iterable[int]:
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
            sample = Thread(run, wait)
            if self._may_want_all(thread, sample, passed_ns):
                text = status.read()
                sample = Thread(run, wait, int(_field(text, _SWITCHES)),
                                _field(text, _STATE) == b'R')
        except OSError:
            self._close(thread)
            raise
        return sample

    def _may_want_all(self, thread: int, now: Thread, passed_ns: int) -> bool:
        """Returns whether the thread may want all CPU time.

        The status of a thread is the most expensive file, so it is read only
        if the thread may want all CPU time.  A thread that has slept does not
        want all CPU time.
        """
        before = self._before.get(thread)
        return before is None or _PART * passed_ns <= (
            now.run_ns + now.wait_ns - before.run_ns - before.wait_ns)

    def _close(self, thread: int) -> None:
        for file in self._open.pop(thread):
            file.close()


def _field(status: bytes, name: bytes) -> bytes:
    return status.partition(name)[2].split(None, 1)[0]


def policies(threads: Iterable[int]) -> set[int]:
    """Returns the scheduling policies of those threads that still exist."""
    numbers = set()
    for thread in threads:
        with contextlib.suppress(ProcessLookupError):
            # musl has no sched_getscheduler(3).
            numbers.add(sched.get(thread).number)
    return numbers


def deadline_period_ns(threads: Iterable[int]) -> int | None:
    """Returns the period of the first SCHED_DEADLINE thread; None: none."""
    for thread in threads:
        with contextlib.suppress(OSError):
            policy = sched.get(thread)
            if policy.is_deadline:
                return policy.period
    return None
