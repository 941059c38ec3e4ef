# SPDX-License-Identifier: Apache-2.0

"""Processes that use all the CPU time they get, and what they got."""

import contextlib
import os
import subprocess
import sys
import time

#: Nobody's mistake lets one run for longer: it ends by itself.
LIFETIME_SECONDS = 60
_PROGRAM = ('import sys, time\n'
            'print(flush=True)\n'
            'end = time.monotonic() + float(sys.argv[1])\n'
            'while time.monotonic() < end: pass\n')
#: From linux/posix-timers.h: CPUCLOCK_SCHED of a whole process.
_CLOCK_SCHED = 2


class Busy:
    """One such process; ordinary until told otherwise.

    :param cpus: the pCPUs it may run on
    """

    def __init__(self, cpus: set[int],
                 seconds: float = LIFETIME_SECONDS) -> None:
        self._process = subprocess.Popen(
            [sys.executable, '-S', '-c', _PROGRAM, str(seconds)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.pid = self._process.pid
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdout.readline()
        self._process.stdout.close()
        self.pin(cpus)

    def pin(self, cpus: set[int]) -> None:
        os.sched_setaffinity(self.pid, cpus)

    def real_time(self, priority: int) -> None:
        """Make it SCHED_FIFO.

        :raises OSError: the kernel refuses
        """
        os.sched_setscheduler(self.pid, os.SCHED_FIFO,
                              os.sched_param(priority))

    def ordinary(self) -> None:
        """Make it SCHED_OTHER, if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(self.pid, os.SCHED_OTHER,
                                  os.sched_param(0))

    def used_ns(self) -> int:
        """CPU time since it began."""
        return used_ns(self.pid)

    def kill(self) -> None:
        """SIGKILL, whatever its policy; it is gone afterwards."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Kill it as an ordinary process, which needs no budget to die."""
        self.ordinary()
        self.kill()


def used_ns(pid: int) -> int:
    """CPU time of all threads of a process since it began.

    :raises OSError: there is no such process
    """
    # As clock_getcpuclockid(3) does it.
    return time.clock_gettime_ns(~pid << 3 | _CLOCK_SCHED)


def share(process: Busy, seconds: float) -> float:
    """The part of a CPU that a process gets from now on.

    :param seconds: a multiple of its period, or the result depends on where
        in a period it begins
    """
    begin, used = time.monotonic_ns(), process.used_ns()
    time.sleep(seconds)
    return (process.used_ns() - used) / (time.monotonic_ns() - begin)
