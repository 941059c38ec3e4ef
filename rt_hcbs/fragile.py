# SPDX-License-Identifier: Apache-2.0

"""Takes budgets on kernels that the timer of a throttled server can kill."""

from collections.abc import Iterable, Sequence
import contextlib
import posixpath
import time
from typing import Any

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import ticks
from nova_rt.machine.kernel import journal as rt_journal
from nova_rt.machine.kernel import throttle
from nova_rt.machine.kernel import two_files
from rt_hcbs import timers

_SECOND_US = 1_000_000


class FragileFiles(two_files.TwoFiles):
    """An interface that waits before a write takes a whole runtime.

    See TreeInterface and ``rt_hcbs.timers``.
    """

    drains = True
    deadline_servers = True
    fragile = True

    def __init__(self, fs: cgroup.CgroupFS, hierarchy: cgroup.Hierarchy
                 ) -> None:
        super().__init__(fs, hierarchy)
        self._timers = timers.Timers(time.monotonic())

    def least_runtime_us(self) -> int:
        """Returns the shortest runtime, which depends on HRTICK."""
        return max(self.min_runtime_us, timers.least_runtime_us(
            ticks.tick_us(), ticks.high_resolution(self._fs)))

    def _watch(self, leaves: Sequence[str], since: float | None
               ) -> rt_journal.Watch:
        """Returns a function that waits before a write takes a runtime.

        After the wait no timer of the group can be pending.  Parents have no
        tasks.
        """
        def watch(cell: rt_journal.Cell, old: Any, new: Any) -> None:
            group, now = posixpath.dirname(cell.path), time.monotonic()
            removes = _removes_runtime(old, new)
            if group not in leaves and not (removes
                                            and self._has_tasks(group)):
                return
            state = self._get(group)
            stands = max(throttle.standing_us(
                runtime, state.period_us, ticks.tick_us())
                for runtime in state.runtimes)
            if not removes:
                self._timers.note(group, stands, now)
                return
            end = (now if since is None else since) + stands / _SECOND_US
            time.sleep(max(0.0, max(end, self._timers.until(group)) - now))
            self._outlast_timers()

        return watch

    def _outlast_ends(self, leaves: Iterable[str]) -> None:
        """Does nothing: the wait for timers takes longer."""

    def _outlast_timers(self) -> None:
        """Waits for each replenishment that is due, whatever delayed it.

        If run time was charged very late, because a hypervisor took the CPU
        away, a server may have a debt of many periods.
        """
        # The kernel may not show its timers.
        with contextlib.suppress(OSError):
            last = max(self._fs.timers(), default=0.0)
            while (now := time.monotonic()) < last or any(
                    due <= last for due in self._fs.timers()):
                time.sleep(max(0.0, last - now) + throttle.MARGIN_SECONDS)

    def _has_tasks(self, group: str) -> bool:
        name = 'tasks' if self.controller else 'cgroup.threads'
        return bool(self._fs.read(posixpath.join(group, name)))


def _removes_runtime(old: Any, new: Any) -> bool:
    """Checks whether a lane loses its whole runtime; a period is an int."""
    return isinstance(old, tuple) and any(
        before and not after for before, after in zip(old, new, strict=True))
