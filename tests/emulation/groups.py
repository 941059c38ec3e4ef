# SPDX-License-Identifier: Apache-2.0

"""Tasks, groups and their budgets, on any emulated kernel."""

from collections.abc import Iterator, Sequence
import dataclasses
import os

#: os.SCHED_DEADLINE is not in all Pythons.
DEADLINE = 6
REAL_TIME = frozenset((os.SCHED_FIFO, os.SCHED_RR))

_SHIFT = 20
UNIT = 1 << _SHIFT


def ratio(runtime: int, period: int) -> int:
    """Does what to_ratio() does: 20 bits after the point, truncated."""
    if runtime < 0:
        return UNIT
    return (runtime << _SHIFT) // period if period else 0


@dataclasses.dataclass(eq=False)
class Task:
    """A thread; *process* is the id of the first thread of its process.

    :ivar groups: its groups by hierarchy: 'cpu', 'cpuset', or '' for cgroup v2
    :ivar deadline: the ratio that it holds while it is SCHED_DEADLINE
    :ivar affinity: the CPUs of its affinity, None for all
    :ivar ending: the group of its last steps, when no list shows it any more
    """

    thread: int
    process: int
    policy: int = os.SCHED_OTHER
    priority: int = 0
    groups: dict[str, str] = dataclasses.field(default_factory=dict)
    deadline: int = 0
    affinity: frozenset[int] | None = None
    ending: 'Group | None' = None


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """Runtimes and periods in us, a column for each CPU.

    A replicated interface has one column.  A runtime of -1 is unlimited, or
    ``max`` if the interface has that word.
    """

    runtimes: tuple[int, ...]
    periods: tuple[int, ...]

    @classmethod
    def even(cls, columns: int, runtime: int, period: int) -> 'Budget':
        """Returns a budget with the same values in all columns."""
        return cls((runtime,) * columns, (period,) * columns)

    @property
    def has_runtime(self) -> bool:
        """Returns whether any column has a runtime."""
        return any(self.runtimes)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yields (runtime, period) of each column."""
        return zip(self.runtimes, self.periods, strict=True)

    def ratios(self) -> list[int]:
        """Returns the ratio of each column."""
        return [ratio(*pair) for pair in self.pairs()]

    def with_runtimes(self, runtimes: Sequence[int]) -> 'Budget':
        """Returns this budget with other runtimes."""
        return dataclasses.replace(self, runtimes=tuple(runtimes))

    def with_periods(self, periods: Sequence[int]) -> 'Budget':
        """Returns this budget with other periods."""
        return dataclasses.replace(self, periods=tuple(periods))


@dataclasses.dataclass(eq=False)
class Group:
    """A group of one hierarchy.

    :ivar children: its groups, including those that were just removed
    :ivar dead_since: when it was removed; its budget stays for a while
    :ivar budget: None if the group does not have the cpu controller
    :ivar cpus: the text that was written to cpuset.cpus
    :ivar subtree: the controllers that a v2 group passes to its children
    :ivar quiet_at: by column: when its server is surely not throttled any more
    :ivar ending: number of tasks that no list shows and that must still end
    :ivar local_us: what cpu.rt.max left its own tasks at the last change
    """

    name: str
    parent: 'Group | None' = None
    budget: Budget | None = None
    cpus: frozenset[int] = frozenset()
    children: list['Group'] = dataclasses.field(default_factory=list)
    dead_since: float | None = None
    subtree: set[str] = dataclasses.field(default_factory=set)
    threaded: bool = False
    quiet_at: dict[int, float] = dataclasses.field(default_factory=dict)
    ending: int = 0
    local_us: int = 0

    @property
    def alive(self) -> list['Group']:
        """Returns the children that were not removed."""
        return [child for child in self.children if child.dead_since is None]

    def walk(self) -> Iterator['Group']:
        """Yields this group and all groups below it that live."""
        yield self
        for child in self.alive:
            yield from child.walk()

    def up(self) -> Iterator['Group']:
        """Yields this group and its ancestors, up to the root."""
        group: Group | None = self
        while group is not None:
            yield group
            group = group.parent

    @property
    def dying(self) -> int:
        """Returns how many removed groups below it still count."""
        return sum((child.dead_since is not None) + child.dying
                   for child in self.children)

    def bury(self, now: float, late_seconds: float) -> None:
        """Forgets removed groups whose time has come, leaves first."""
        for child in self.children:
            child.bury(now, late_seconds)
        self.children = [
            child for child in self.children
            if child.dead_since is None or child.children or child.ending
            or now - child.dead_since < late_seconds]
