# SPDX-License-Identifier: Apache-2.0

"""Repeats measurements beside busy tasks in which these tasks waited.

Busy tasks wait, too: for a page of their program that the kernel reads from
the disk, or that khugepaged holds.  In the lab, an idle CPU with a
deterministic clock does not wait but sets the clock forward.  Then everything
seems to have got too little, by the same factor.
"""

from collections.abc import Callable
import os
import pathlib
import sys
from typing import TypeVar

_T = TypeVar('_T')

#: Fields of a CPU's line in /proc/stat.
_IDLE, _IOWAIT = 4, 5
#: Two of the ticks in which the kernel counts.
_ALLOWED_SECONDS = 0.02
_MOST_TRIES = 5


def seconds() -> float:
    """Returns how long all CPUs together were idle since the boot."""
    text = pathlib.Path('/proc/stat').read_text()
    lines = [line.split() for line in text.splitlines()]
    ticks = sum(int(line[_IDLE]) + int(line[_IOWAIT]) for line in lines
                if line[0] == 'cpu')
    return ticks / os.sysconf('SC_CLK_TCK')


def never(measure: Callable[[], _T]) -> _T:
    """Returns the result of *measure* while no CPU is idle; repeats it else.

    :raises TimeoutError: CPUs are idle each time
    """
    for _ in range(_MOST_TRIES):
        before = seconds()
        found = measure()
        idle = seconds() - before
        if idle <= _ALLOWED_SECONDS:
            return found
        print(f'CPUs were idle for {idle:.2f} s beside busy tasks: this '
              f'measurement does not count: {found}', file=sys.stderr,
              flush=True)
    raise TimeoutError('CPUs are idle beside busy tasks, time and again')
