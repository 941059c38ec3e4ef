# SPDX-License-Identifier: Apache-2.0

"""Runs ``rt-probe`` as a user does, and reads its reports."""

from collections.abc import Iterator, Sequence
import contextlib
import json
import os
import select
import subprocess
import sys
import time
from typing import Any

from paper.probe import stage as rt_stage

COMMAND = (sys.executable, '-S', '-W', 'ignore', '-m', 'rt_probe')
Said = dict[str, Any]


def once(stage: rt_stage.Stage, options: Sequence[str], period_us: int,
         seconds: float) -> tuple[Said, float]:
    """Returns one report, and the CPU time that the group used before."""
    period_ns = period_us * 1000
    readings: list[tuple[int, int]] = []
    process = subprocess.Popen([*stage.inside, *COMMAND, 'once', *options],
                               stdout=subprocess.PIPE, text=True)
    at = time.monotonic_ns()
    while process.poll() is None:
        readings.append((time.monotonic_ns(), stage.used_ns()))
        at += period_ns
        time.sleep(max(0, at - time.monotonic_ns()) / 1e9)
    text, _ = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, 'rt-probe')
    report = json.loads(text)
    told_ns = 1e9 * report['at'] - time.time_ns() + time.monotonic_ns()
    return report, _used(readings, told_ns - 1e9 * seconds, told_ns)


def _used(readings: Sequence[tuple[int, int]], since_ns: float, until_ns: float
          ) -> float:
    """Returns CPU time divided by wall time, from the nearest readings."""
    (begin, first), (end, last) = (
        min(readings, key=lambda one: abs(one[0] - wanted))
        for wanted in (since_ns, until_ns))
    return (last - first) / max(1, end - begin)


class Running:
    """A running ``rt-probe run``."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def reports(self, until: float) -> Iterator[Said]:
        """Yields the reports up to a time of the monotonic clock."""
        assert self._process.stdout is not None  # noqa: S101
        while (remaining := until - time.monotonic()) > 0:
            if select.select([self._process.stdout], [], [], remaining)[0]:
                yield json.loads(self._process.stdout.readline())


@contextlib.contextmanager
def running(stage: rt_stage.Stage, options: Sequence[str] = ()
            ) -> Iterator[Running]:
    """Runs a probe that reports until the end of the block."""
    process = subprocess.Popen([*stage.inside, *COMMAND, 'run', *options],
                               stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        yield Running(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.sched_setscheduler(process.pid, os.SCHED_OTHER,
                                  os.sched_param(0))
        process.terminate()
        process.communicate()
