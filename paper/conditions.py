# SPDX-License-Identifier: Apache-2.0

"""What else the machine did while something was measured."""

from collections.abc import Iterator
import contextlib
import dataclasses
import os
import pathlib
import time

_STAT = pathlib.Path('/proc/stat')
#: Fields of the first line of /proc/stat, in 1/USER_HZ.
_IDLE, _IOWAIT, _STEAL = 3, 4, 7


@dataclasses.dataclass
class Conditions:
    """The conditions of one run; filled in when it ends.

    :ivar steal: part of all CPU time that the hypervisor gave to others
    :ivar busy: part of all CPU time that anything here used, also what was
        measured
    """

    load_average: float = 0.0
    steal: float = 0.0
    busy: float = 0.0
    seconds: float = 0.0


@contextlib.contextmanager
def watched() -> Iterator[Conditions]:
    """Fills in what it yields at the end of the block."""
    found = Conditions()
    before, start = _ticks(), time.monotonic()
    yield found
    used = [now - then for now, then in zip(_ticks(), before, strict=True)]
    total = max(1, sum(used))
    found.load_average = os.getloadavg()[0]
    found.steal = used[_STEAL] / total
    found.busy = 1 - (used[_IDLE] + used[_IOWAIT] + used[_STEAL]) / total
    found.seconds = time.monotonic() - start


def _ticks() -> list[int]:
    with _STAT.open(encoding='ascii') as file:
        # The last two, of guests, are part of the first two.
        return [int(word) for word in file.readline().split()[1:9]]
