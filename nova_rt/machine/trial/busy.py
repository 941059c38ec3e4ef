# SPDX-License-Identifier: Apache-2.0

"""Processes that use all CPU time they get, and measures of their time."""

import contextlib
import os
import subprocess
import sys
import time

#: A busy process ends by itself after this time, even if nothing ends it.
LIFETIME_SECONDS = 60
_PROGRAM = ('import sys, time\n'
            'print(flush=True)\n'
            'end = time.monotonic() + float(sys.argv[1])\n'
            'while time.monotonic() < end: pass\n')
#: From linux/posix-timers.h: CPUCLOCK_SCHED of a whole process.
_CLOCK_SCHED = 2


class Busy:
    """A busy process, which is ordinary at first.

    :param cpus: the pCPUs that the process may run on
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
        """Lets the process run on these pCPUs only."""
        os.sched_setaffinity(self.pid, cpus)

    def real_time(self, priority: int) -> None:
        """Makes the process SCHED_FIFO.

        :raises OSError: when the kernel refuses
        """
        os.sched_setscheduler(self.pid, os.SCHED_FIFO,
                              os.sched_param(priority))

    def ordinary(self) -> None:
        """Makes the process SCHED_OTHER, if it has not ended."""
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(self.pid, os.SCHED_OTHER,
                                  os.sched_param(0))

    def used_ns(self) -> int:
        """Returns the CPU time of the process since it started."""
        return used_ns(self.pid)

    def kill(self) -> None:
        """Kills the process, whatever its policy, and waits for its end."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Makes the process ordinary, so it needs no budget, and kills it."""
        self.ordinary()
        self.kill()


def used_ns(pid: int) -> int:
    """Returns the CPU time of all threads of a process since it started.

    :raises OSError: when there is no such process
    """
    # The id of the clock is made as in clock_getcpuclockid(3).
    return time.clock_gettime_ns(~pid << 3 | _CLOCK_SCHED)


def share(process: Busy, seconds: float) -> float:
    """Measures the part of a CPU that a process gets from now on.

    :param seconds: must be a multiple of the period of the process, or the
        result depends on where in a period the measurement begins
    """
    begin, used = time.monotonic_ns(), process.used_ns()
    time.sleep(seconds)
    return (process.used_ns() - used) / (time.monotonic_ns() - begin)
