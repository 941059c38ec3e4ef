# SPDX-License-Identifier: Apache-2.0

"""The control group with the limit that binds a process.

A limit is only known as far as it says how long its periods are, and whether
there is one: how much the group gets is measured, never read.
"""

from collections.abc import Callable
import os

from rt_probe import counters
from rt_probe import place

_NS_PER_US = 1000


class Group:
    """One control group.

    :param path: its directory in the tree of the cpu controller
    :param accounting: that in the tree of cpuacct; the same for cgroup v2
    :raises OSError: it has no files of CPU time
    """

    def __init__(self, path: str, accounting: str) -> None:
        self.path = path
        self._stat = counters.Counter(f'{path}/cpu.stat')
        try:
            self._usage = counters.Counter(f'{accounting}/cpuacct.usage')
            self._parse: Callable[[bytes], int] = int
        except FileNotFoundError:
            self._usage, self._parse = self._stat, _usage_ns
            self._parse(self._usage.read())
        self._files = {each.path: each for each in (self._stat, self._usage)}

    def used_ns(self) -> int:
        """CPU time of all its tasks, ever.

        :raises OSError: it is gone
        """
        return self._parse(self._usage.read())

    def throttling(self) -> tuple[int, int] | None:
        """Periods of the quota of ordinary tasks, and throttled ones.

        :returns: None where the file has no such counters
        """
        text = self._stat.read()
        periods = counters.number(text, b'nr_periods')
        if periods is None:
            return None
        return periods, counters.number(text, b'nr_throttled') or 0

    def threads(self) -> list[int]:
        """Those right in it, by the ids of this PID namespace.

        :raises OSError: it is gone
        """
        name = 'tasks' if os.path.exists(f'{self.path}/tasks') else (
            'cgroup.threads')
        with open(f'{self.path}/{name}', encoding='ascii') as file:
            # Those of other namespaces are 0.
            return [int(word) for word in file.read().split() if word != '0']

    def pressure(self) -> counters.Counter:
        """:raises OSError: the kernel has no PSI for groups"""
        return counters.Counter(f'{self.path}/cpu.pressure')

    def quota_period_ns(self) -> int | None:
        """The period of a limit for ordinary tasks; None: no limit."""
        words = _words(f'{self.path}/cpu.max')
        if len(words) == 2 and words[0] != 'max':
            return int(words[1]) * _NS_PER_US
        return self._period_ns('cpu.cfs_quota_us', 'cpu.cfs_period_us')

    def rt_period_ns(self) -> int | None:
        """The same for real-time tasks."""
        words = _words(f'{self.path}/cpu.rt.max')
        if len(words) == 2 and words[0] != 'max':
            return int(words[1]) * _NS_PER_US
        return self._period_ns('cpu.rt_runtime_us', 'cpu.rt_period_us')

    def _period_ns(self, budget: str, period: str) -> int | None:
        words = _words(f'{self.path}/{budget}')
        if not words or int(words[0]) <= 0:
            return None
        return int(_words(f'{self.path}/{period}')[0]) * _NS_PER_US

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def _usage_ns(stat: bytes) -> int:
    found = counters.number(stat, b'usage_usec')
    if found is None:
        raise FileNotFoundError(
            0, 'neither cpuacct.usage nor usage_usec of cpu.stat is there')
    return found * _NS_PER_US


def _words(path: str) -> list[str]:
    """The words of a file; none where it is not there."""
    try:
        with open(path, encoding='ascii') as file:
            return file.read().split()
    except OSError:
        return []


def limited(directories: dict[str, str], real_time: bool) -> Group | None:
    """The nearest group with a limit for such tasks, from ours upwards.

    :param directories: as of place.directories
    :param real_time: a limit for real-time tasks, or else for ordinary ones
    """
    path = directories.get('cpu', directories.get(place.UNIFIED, ''))
    accounting = directories.get('cpuacct', path)
    for level, beside in zip(place.upwards(path),
                             place.upwards(accounting), strict=False):
        if place.is_top(level):
            break
        try:
            group = Group(level, beside)
        except OSError:
            continue
        if group.rt_period_ns() if real_time else group.quota_period_ns():
            return group
        group.close()
    return None
