# SPDX-License-Identifier: Apache-2.0

"""Measurements beside busy tasks count only while these are busy.

Busy tasks wait, too: for a page of their program that the kernel reads from
the disk, or that khugepaged holds.  In the lab an idle CPU with a
deterministic clock does not wait, it sets the clock forward: everything then
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
#: Two of the ticks that the kernel counts by.
_ALLOWED_SECONDS = 0.02
_MOST_TRIES = 5


def seconds() -> float:
    """Returns how long all CPUs together have been idle since the boot."""
    text = pathlib.Path('/proc/stat').read_text()
    lines = [line.split() for line in text.splitlines()]
    ticks = sum(int(line[_IDLE]) + int(line[_IOWAIT]) for line in lines
                if line[0] == 'cpu')
    return ticks / os.sysconf('SC_CLK_TCK')


def never(measure: Callable[[], _T]) -> _T:
    """Return what *measure* finds while no CPU is idle; try again else.

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
