# SPDX-License-Identifier: Apache-2.0

"""Records what else the machine did during a measurement."""

from collections.abc import Iterator
import contextlib
import dataclasses
import os
import pathlib
import time

_STAT = pathlib.Path('/proc/stat')
#: The fields of the first line of /proc/stat, in 1/USER_HZ.
_IDLE, _IOWAIT, _STEAL = 3, 4, 7


@dataclasses.dataclass
class Conditions:
    """The conditions of one run, which are filled in when the run ends.

    :ivar steal: the part of all CPU time that the hypervisor gave to others
    :ivar busy: the part of all CPU time that this machine used, including the
        programs that were measured
    """

    load_average: float = 0.0
    steal: float = 0.0
    busy: float = 0.0
    seconds: float = 0.0


@contextlib.contextmanager
def recorded() -> Iterator[Conditions]:
    """Yields conditions, and fills them in at the end of the block."""
    result = Conditions()
    before, start = _ticks(), time.monotonic()
    yield result
    used = [now - then for now, then in zip(_ticks(), before, strict=True)]
    total = max(1, sum(used))
    result.load_average = os.getloadavg()[0]
    result.steal = used[_STEAL] / total
    result.busy = 1 - (used[_IDLE] + used[_IOWAIT] + used[_STEAL]) / total
    result.seconds = time.monotonic() - start


def _ticks() -> list[int]:
    with _STAT.open(encoding='ascii') as file:
        # The last two fields, of guests, are a part of the first two.
        return [int(word) for word in file.readline().split()[1:9]]
