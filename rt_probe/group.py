# SPDX-License-Identifier: Apache-2.0

"""Finds the control group whose limit binds a process.

The probe reads from a limit only whether there is one and how long its
periods are.  How much CPU time the group gets is measured, never read.
"""

import collections
from collections.abc import Callable, Iterator
import contextlib
import os

from rt_probe import counters
from rt_probe import place

_NS_PER_US = 1000
_TRIES = 3


class Group:
    """One control group.

    :param path: the group's directory in the tree of the cpu controller
    :param accounting: the group's directory in the tree of cpuacct; for
        cgroup v2 the same directory
    :ivar accounted: whether the CPU time of *accounting* is that of the tasks
        in *path*
    :raises OSError: when the group has no file of its CPU time
    """

    def __init__(self, path: str, accounting: str) -> None:
        self.path = path
        self.accounted = path == accounting or _same_tasks(path, accounting)
        self._stat = counters.Counter(f'{path}/cpu.stat')
        try:
            self._usage = counters.Counter(f'{accounting}/cpuacct.usage')
            self._parse: Callable[[bytes], int] = int
        except FileNotFoundError:
            self._usage, self._parse = self._stat, _usage_ns
            self._parse(self._usage.read())
        self._files = {file.path: file for file in (self._stat, self._usage)}

    def used_ns(self) -> int:
        """Returns the CPU time that all tasks of the group ever used.

        :raises OSError: when the group is gone
        """
        return self._parse(self._usage.read())

    def throttling(self) -> tuple[int, int] | None:
        """Returns the number of periods, and of periods with throttling.

        The counters count ordinary tasks only.

        :returns: None if cpu.stat has no such counters
        """
        text = self._stat.read()
        periods = counters.number(text, b'nr_periods')
        if periods is None:
            return None
        return periods, counters.number(text, b'nr_throttled') or 0

    def threads(self) -> list[int]:
        """Returns the threads of this group itself, as IDs in our namespace.

        :raises OSError: when the group is gone
        """
        name = 'tasks' if os.path.exists(f'{self.path}/tasks') else (
            'cgroup.threads')
        with open(f'{self.path}/{name}', encoding='ascii') as file:
            # The kernel shows 0 for a thread of another PID namespace.
            return [int(word) for word in file.read().split() if word != '0']

    def pressure(self) -> counters.Counter:
        """Returns the group's file of pressure stall information (PSI).

        :raises OSError: when the kernel has no PSI for groups
        """
        return counters.Counter(f'{self.path}/cpu.pressure')

    def quota_period_ns(self) -> int | None:
        """Returns the period of the quota for ordinary tasks; None: none."""
        words = _words(f'{self.path}/cpu.max')
        if len(words) == 2 and words[0] != 'max':
            return int(words[1]) * _NS_PER_US
        return self._period_ns('cpu.cfs_quota_us', 'cpu.cfs_period_us')

    def rt_period_ns(self) -> int | None:
        """Returns the period of the real-time budget; None: none."""
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
        """Closes the files of the group."""
        for file in self._files.values():
            file.close()


def _same_tasks(path: str, accounting: str) -> bool:
    """Returns whether two hierarchies have the same tasks in a group."""
    apart = None
    for _ in range(_TRIES):  # a task may begin or end between the readings
        one, other = _tasks(path), _tasks(accounting)
        now = (one - other) + (other - one)
        apart = now if apart is None else apart & now
        if not apart:
            return True
    return False


def _tasks(path: str) -> collections.Counter[str]:
    """Returns the tasks of a group and of all groups in it.

    The kernel shows 0 for each task of another PID namespace.
    """
    return collections.Counter(
        word for folder, _, names in os.walk(path) if 'tasks' in names
        for word in _words(f'{folder}/tasks'))


def _usage_ns(stat: bytes) -> int:
    usage_us = counters.number(stat, b'usage_usec')
    if usage_us is None:
        raise FileNotFoundError(
            0, 'the control group has neither a file cpuacct.usage nor a '
            'line usage_usec in cpu.stat')
    return usage_us * _NS_PER_US


def _words(path: str) -> list[str]:
    """Returns the words of a file, or no words if it cannot be read."""
    try:
        with open(path, encoding='ascii') as file:
            return file.read().split()
    except OSError:
        return []


def limited(directories: dict[str, str], real_time: bool) -> Group | None:
    """Returns the nearest group with a limit, from our own group upwards.

    :param directories: as :func:`place.directories` returns them
    :param real_time: whether to search for a limit of real-time tasks; if
        not, for a limit of ordinary tasks
    :returns: None if no group with such a limit can be seen
    """
    for group in _groups(directories):
        if group.rt_period_ns() if real_time else group.quota_period_ns():
            return group
        group.close()
    return None


def own(directories: dict[str, str]) -> Group | None:
    """Returns our own group; None if only the top group can be seen."""
    return next(_groups(directories), None)


def _groups(directories: dict[str, str]) -> Iterator[Group]:
    """Yields our own group and the groups above it, without the top."""
    path = cpu_directory(directories)
    accounting = directories.get('cpuacct', path)
    for level, beside in zip(place.upwards(path),
                             place.upwards(accounting), strict=False):
        if place.is_top(level):
            break
        with contextlib.suppress(OSError):
            yield Group(level, beside)


def cpu_directory(directories: dict[str, str]) -> str:
    """Returns our group's directory in the tree of cpu; '' if unseen."""
    return directories.get('cpu', directories.get(place.UNIFIED, ''))
