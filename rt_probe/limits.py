# SPDX-License-Identifier: Apache-2.0

"""Reads the limits of a group and of the groups above it.

How much CPU time a group gets is measured, and never taken from a limit.  A
limit only bounds what the probe may say.
"""

from collections.abc import Iterable

from rt_probe import counters
from rt_probe import place

#: The files with a runtime and a period: cgroup v2 has one file for both.
_ORDINARY = (('cpu.max',), ('cpu.cfs_quota_us', 'cpu.cfs_period_us'))
_REAL_TIME = (('cpu.rt.max',), ('cpu.rt_runtime_us', 'cpu.rt_period_us'))


class Limits:
    """The limits that can be seen, kept open.

    :param path: the directory of the group; '' if it cannot be seen
    :param real_time: whether the limits hold for real-time tasks, on each CPU;
        otherwise, the limits hold for ordinary tasks
    """

    def __init__(self, path: str, real_time: bool) -> None:
        self._real_time = real_time
        names = _REAL_TIME if real_time else _ORDINARY
        self._levels = [files for level in place.upwards(path)
                        if not place.is_top(level)
                        for files in _opened(level, names)]

    def cpus(self, count: int) -> float | None:
        """Returns the lowest limit in CPUs; None if there is no limit.

        :param count: the number of CPUs that the VNF may use
        """
        shares = [share for share in map(_share, self._levels)
                  if share is not None]
        if not shares:
            return None
        return min(shares) * (count if self._real_time else 1)


def _opened(level: str, names: Iterable[tuple[str, ...]]
            ) -> list[list[counters.Counter]]:
    opened = []
    for files in names:
        try:
            opened.append([counters.Counter(f'{level}/{name}')
                           for name in files])
        except OSError:
            continue
    return opened


def _share(files: Iterable[counters.Counter]) -> float | None:
    """Returns runtime / period; None if there is no limit."""
    try:
        words = [word for file in files for word in file.read().split()]
        runtime, period = map(int, words)
    except (OSError, ValueError):
        return None  # "max", or the group is gone
    return runtime / period if runtime > 0 else None
