# SPDX-License-Identifier: Apache-2.0

"""Jobs timed in alternating rounds, and goals, for the benchmarks.

What is timed is the CPU time of the thread, which other work on the machine
hardly lengthens.  The rounds of all candidates alternate, so that what does
hits all alike.  RUNS in the environment says how many there are.
"""

from collections.abc import Callable
import dataclasses
import gc
import os
import statistics
import time
from typing import Any

RUNS = int(os.environ.get('RUNS', 7))


@dataclasses.dataclass(frozen=True)
class Job:
    """What is timed, and what gives it fresh input before."""

    prepare: Callable[[], Any]
    run: Callable[[Any], object]


def timed(job: Job) -> float:
    given = job.prepare()
    gc.collect()
    gc.disable()
    try:
        start = time.thread_time()
        job.run(given)
        return time.thread_time() - start
    finally:
        gc.enable()


class Rounds:
    """CPU seconds of each job in alternating rounds."""

    def __init__(self, jobs: dict[str, Job]) -> None:
        self._rounds = [{name: timed(job) for name, job in jobs.items()}
                        for _ in range(RUNS)]

    def median(self, name: str) -> float:
        return statistics.median(one[name] for one in self._rounds)

    def ratio(self, name: str, to: str) -> float:
        """The median over the rounds: what slows a round slows both."""
        return statistics.median(one[name] / one[to] for one in self._rounds)


class Report:
    """Lines and goals."""

    def __init__(self) -> None:
        self.missed = 0

    def lines(self, found: Rounds, jobs: dict[str, Job], count: int) -> None:
        for name in jobs:
            print(f'  {name:44} {found.median(name) / count * 1e6:9.2f} '
                  f'us/host')

    def goal(self, text: str, value: float, limit: float) -> None:
        met = value <= limit
        self.missed += not met
        print(f'  {"met   " if met else "MISSED"} {text}: {value:.2f}, '
              f'at most {limit:.2f}', flush=True)
