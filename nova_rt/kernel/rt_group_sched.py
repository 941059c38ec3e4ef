# SPDX-License-Identifier: Apache-2.0

"""F1: mainline CONFIG_RT_GROUP_SCHED on cgroup v1.

The kernel caps the SCHED_FIFO and SCHED_RR tasks of a group at *runtime* in
every *period* on each CPU, charged at ticks.  Its admission knows no CPUs:
the ratios of siblings must fit their parent, so the interface is replicated.
"""

from collections.abc import Callable, Iterator
import contextlib
import dataclasses
import errno
import functools
import os
import posixpath
import time
from typing import Self

from nova_rt import cpus
from nova_rt import exception
from nova_rt.kernel import base
from nova_rt import reservation

RUNTIME = 'cpu.rt_runtime_us'
PERIOD = 'cpu.rt_period_us'
SYSCTL = '/proc/sys/kernel/sched_rt_{}_us'
CPUS = '/sys/devices/system/cpu/possible'

#: Parents keep the kernel's default: with children no order of writes can
#: change a period safely.
PARENT_PERIOD_US = 1_000_000
#: The kernel compares ratios with 20 fractional bits (BW_SHIFT).
BW_UNIT = 1 << 20

#: A removed group gives its budget back about 20 ms later (RCU).
_RETRIES = 10
_RETRY_SECONDS = 0.02
#: Fallback where the tick cannot be told: CONFIG_HZ=100.
_TICK_US = 10_000


@dataclasses.dataclass(frozen=True, slots=True)
class _Level:
    """An ancestor and the runtime it must hold, in us.

    :ivar slack_us: what it holds beyond its children: the kernel still
        counts a group there that was removed a moment ago
    """

    path: str
    old_us: int
    new_us: int
    slack_us: int = 0


class RtGroupSched(base.KernelInterface):
    """See :class:`nova_rt.kernel.base.KernelInterface`."""

    name = 'rt_group_sched'
    replicated = True
    controller = 'cpu'

    def __init__(self, fs: base.CgroupFS, root: str) -> None:
        self._fs = fs
        self._root = root

    @classmethod
    def detect(cls, fs: base.CgroupFS) -> Self | None:
        for point, kind, options in fs.mounts():
            if kind != 'cgroup' or 'cpu' not in options.split(','):
                continue
            if 'hcbs' in os.uname().release:
                return None  # same names, other rules
            try:
                fs.read(posixpath.join(point, RUNTIME))
            except OSError:
                return None  # RT_GROUP_SCHED is off
            return cls(fs, point)
        return None

    def capacity(self, ours: str) -> base.Capacity:
        with self._explained(self._root):
            limit = min(self._ratio(self._root), self._sysctl_ratio())
            top = '/' + ours.strip('/').split('/')[0]
            others = sum(self._ratio(child)
                         for child in self._fs.children(self._root)
                         if child != self._path(top))
        # The largest ppm whose truncated ratio fits, so that whatever we
        # admit in ppm the kernel admits too.
        ppm = ((limit - others + 1) * reservation.PPM - 1) // BW_UNIT
        return base.Capacity(max(0, ppm), _tick_us())

    def reserve(self, group: str, budget: base.Budget) -> None:
        runtime = max(budget.runtime_us.values())
        with (self._explained(group), self._fs.locked(self._root),
              base.journal(self._fs) as journal):
            self._set(journal, group, runtime, budget.period_us)

    def read(self, group: str) -> base.Budget | None:
        leaf = self._path(group)
        try:
            runtime = self._value(leaf, RUNTIME)
            period = self._value(leaf, PERIOD)
        except OSError as error:
            if _gone(error):
                return None
            raise self._refusal(group, error) from error
        if runtime == 0:
            return None
        return base.Budget(dict.fromkeys(self._cpus(), runtime), period)

    def release(self, group: str) -> None:
        with (self._explained(group), self._fs.locked(self._root),
              base.journal(self._fs) as journal):
            with _tolerate_gone():
                journal.write(posixpath.join(self._path(group), RUNTIME), 0)
            self._settle(journal, posixpath.dirname(group))

    def settle(self, group: str) -> None:
        with (self._explained(group), self._fs.locked(self._root),
              base.journal(self._fs) as journal):
            self._settle(journal, group)

    def _set(self, journal: base.Journal, group: str, runtime: int,
             period: int) -> None:
        leaf = self._path(group)
        levels = self._levels(group, _ratio(runtime, period))
        for level in levels:  # top down: a child must fit its parent
            if level.new_us + level.slack_us > level.old_us:
                self._grow(journal, level)
        self._write_leaf(journal, leaf, runtime, period)
        for level in reversed(levels):
            if level.new_us + level.slack_us < level.old_us:
                self._write(journal, level.path,
                            level.new_us + level.slack_us)

    def _settle(self, journal: base.Journal, group: str) -> None:
        for path in self._chain(group)[::-1]:
            with _tolerate_gone():
                wanted = _parent_us(sum(
                    map(self._ratio, self._fs.children(path))))
                if wanted != self._parent_old_us(path):
                    self._write(journal, path, wanted)

    def _levels(self, group: str, ratio: int) -> list[_Level]:
        """The ancestors of *group*, top down, once it has *ratio*."""
        levels = []
        child = self._path(group)
        for path in self._chain(posixpath.dirname(group))[::-1]:
            others = sum(self._ratio(sibling)
                         for sibling in self._fs.children(path)
                         if sibling != child)
            old = self._parent_old_us(path)
            level = _Level(
                path, old, _parent_us(others + ratio),
                max(0, old - _parent_us(others + self._ratio(child))))
            levels.append(level)
            child, ratio = path, _ratio(level.new_us, PARENT_PERIOD_US)
        return levels[::-1]

    def _parent_old_us(self, path: str) -> int:
        period = self._value(path, PERIOD)
        if period != PARENT_PERIOD_US:
            raise OSError(
                f'{path} has a period of {period} us, which somebody else '
                f'must have set; set it back to {PARENT_PERIOD_US}')
        return self._value(path, RUNTIME)

    def _grow(self, journal: base.Journal, level: _Level) -> None:
        path = posixpath.join(level.path, RUNTIME)
        try:
            journal.write(path, level.new_us + level.slack_us)
        except OSError as error:
            if error.errno != errno.EINVAL or not level.slack_us:
                raise
            # No room for both: wait until the removed group is forgotten.
            self._write(journal, level.path, level.new_us)

    def _write(self, journal: base.Journal, path: str, runtime: int) -> None:
        _retry(functools.partial(
            journal.write, posixpath.join(path, RUNTIME), runtime))

    def _write_leaf(self, journal: base.Journal, leaf: str, runtime: int,
                    period: int) -> None:
        # Each write is admitted alone, with the other value as it stands.
        steps = [(RUNTIME, runtime), (PERIOD, period)]
        if (runtime > self._value(leaf, RUNTIME)
                and period > self._value(leaf, PERIOD)):
            steps.reverse()
        for name, value in steps:
            _retry(functools.partial(
                journal.write, posixpath.join(leaf, name), value))

    def _chain(self, group: str) -> list[str]:
        """Paths of *group* and its ancestors below the root, top down."""
        parts = group.strip('/').split('/')
        return [posixpath.join(self._root, *parts[:depth + 1])
                for depth in range(len(parts)) if parts[depth]]

    def _path(self, group: str) -> str:
        return posixpath.join(self._root, group.strip('/'))

    def _cpus(self) -> tuple[int, ...]:
        # Not os.cpu_count(): the ids of what is online may have gaps.
        return cpus.parse_ids(self._fs.read(CPUS))

    def _value(self, path: str, name: str) -> int:
        return int(self._fs.read(posixpath.join(path, name)))

    def _ratio(self, path: str) -> int:
        """Of a group, in BW_UNIT; 0 for one that is gone."""
        try:
            runtime = self._value(path, RUNTIME)
            return BW_UNIT if runtime < 0 else _ratio(
                runtime, self._value(path, PERIOD))
        except OSError as error:
            if _gone(error):
                return 0
            raise

    def _sysctl_ratio(self) -> int:
        runtime = int(self._fs.read(SYSCTL.format('runtime')))
        return BW_UNIT if runtime < 0 else _ratio(
            runtime, int(self._fs.read(SYSCTL.format('period'))))

    @contextlib.contextmanager
    def _explained(self, group: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._refusal(group, error) from error

    def _refusal(self, group: str, error: OSError) -> exception.KernelError:
        reason = {
            errno.EINVAL: 'no room in a parent group (EINVAL)',
            errno.EBUSY: 'it still has real-time tasks (EBUSY)',
            errno.EPERM: 'no permission (EPERM)',
            errno.EACCES: 'no permission (EACCES)',
        }.get(error.errno or 0, str(error))
        return exception.KernelError(interface=self.name, group=group,
                                     reason=reason)


def _parent_us(ratio: int) -> int:
    """The least runtime of a parent whose ratio covers *ratio*."""
    return -(-ratio * PARENT_PERIOD_US // BW_UNIT)


def _ratio(runtime: int, period: int) -> int:
    """The kernel's to_ratio(): truncated, in BW_UNIT."""
    return runtime * BW_UNIT // period


def _tick_us() -> int:
    # CLK_TCK is USER_HZ, not HZ.  The coarse clock advances once a tick.
    resolution = time.clock_getres(6)  # CLOCK_MONOTONIC_COARSE
    return round(resolution * 1_000_000) or _TICK_US


def _gone(error: OSError) -> bool:
    return error.errno in (errno.ENOENT, errno.ENODEV)


@contextlib.contextmanager
def _tolerate_gone() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not _gone(error):
            raise


def _retry(write: Callable[[], None]) -> None:
    """Outlast the late return of a removed group's budget."""
    for _ in range(_RETRIES):
        try:
            return write()
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
        time.sleep(_RETRY_SECONDS)
    write()
