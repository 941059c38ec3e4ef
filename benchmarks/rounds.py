# SPDX-License-Identifier: Apache-2.0

"""Times jobs in alternating rounds and checks goals, for the benchmarks.

The time is the CPU time of the thread, which other work on the machine hardly
lengthens.  The rounds of all candidates alternate, so that a disturbance
affects all alike.  RUNS in the environment is the number of rounds.
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
    """A function to time, and a function that makes new input for it."""

    prepare: Callable[[], Any]
    run: Callable[[Any], object]


def timed(job: Job) -> float:
    """Returns the CPU time of a job."""
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
    """The CPU seconds of each job in alternating rounds."""

    def __init__(self, jobs: dict[str, Job]) -> None:
        self._rounds = [{name: timed(job) for name, job in jobs.items()}
                        for _ in range(RUNS)]

    def median(self, name: str) -> float:
        """Returns the median CPU time of a job."""
        return statistics.median(one[name] for one in self._rounds)

    def ratio(self, name: str, to: str) -> float:
        """Returns the median of the ratios that single rounds have."""
        return statistics.median(one[name] / one[to] for one in self._rounds)


class Report:
    """A report of lines and goals."""

    def __init__(self) -> None:
        self.missed = 0

    def lines(self, found: Rounds, jobs: dict[str, Job], count: int) -> None:
        """Prints a line for each job."""
        for name in jobs:
            print(f'  {name:44} {found.median(name) / count * 1e6:9.2f} '
                  f'us/host')

    def goal(self, text: str, value: float, limit: float) -> None:
        """Prints a goal, and remembers if it is missed."""
        met = value <= limit
        self.missed += not met
        print(f'  {"met   " if met else "MISSED"} {text}: {value:.2f}, '
              f'at most {limit:.2f}', flush=True)
