# SPDX-License-Identifier: Apache-2.0

"""The counts of the programs about how a server is scheduled.

The sums of CPU time and waiting come from the kernel's own counters of each
task.  Budgets and switches are counted at the switches of tasks.
"""

from collections.abc import Iterator
import dataclasses
import functools
import struct

from rt_monitor import histogram

#: ``struct counts``, of which the rest is for the programs themselves.
_COUNTS = struct.Struct('=15Q')
_TOTALS = struct.Struct('=2Q')


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a lane on one CPU; times are in ns.

    A lane is a vCPU of a server, or a whole server whose vCPUs have no groups.

    :ivar ran: the CPU time of its tasks
    :ivar switches: switches to one of its tasks
    :ivar preempted: switches away from a task that was still runnable
    :ivar exhausted: periods in which the budget ran out
    :ivar starved: the time in which a task could have run, none did, and the
        lane had no budget
    :ivar lost: the time in which a task could have run, none did, and the lane
        had budget.  The time in which a task waits for another task of the
        same lane is not lost time.
    :ivar first: when a task was first seen, by the scheduler's clock
    :ivar last: when a task was last seen; 0: never
    """

    ran: int = 0
    switches: int = 0
    preempted: int = 0
    exhausted: int = 0
    starved: int = 0
    lost: int = 0
    first: int = 0
    last: int = 0

    def __add__(self, other: 'Counts') -> 'Counts':
        return Counts(
            self.ran + other.ran, self.switches + other.switches,
            self.preempted + other.preempted,
            self.exhausted + other.exhausted, self.starved + other.starved,
            self.lost + other.lost,
            min(filter(None, (self.first, other.first)), default=0),
            max(self.last, other.last))

    def since(self, before: 'Counts') -> 'Counts':
        """Returns the counts since an earlier reading."""
        return Counts(
            self.ran - before.ran, self.switches - before.switches,
            self.preempted - before.preempted,
            self.exhausted - before.exhausted,
            self.starved - before.starved, self.lost - before.lost,
            self.first, self.last)

    @property
    def lifetime_ns(self) -> int:
        """The time from *first* to *last*, the paper's execution time."""
        return self.last - self.first


def by_cpu(data: bytes) -> Iterator[Counts]:
    """Yields the counts of a lane on each CPU from the value of a map."""
    for values in _COUNTS.iter_unpack(data):
        yield Counts(*values[:8])


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """The sums over all tasks of a lane, including ended ones; in ns.

    :ivar ran: CPU time
    :ivar waited: the time for which tasks were runnable but did not run, for
        whatever reason
    """

    ran: int = 0
    waited: int = 0

    @classmethod
    def decode(cls, data: bytes) -> 'Totals':
        """Returns the sums from the value of a map."""
        return cls(*_TOTALS.unpack(data))

    def __add__(self, other: 'Totals') -> 'Totals':
        return Totals(self.ran + other.ran, self.waited + other.waited)

    def since(self, before: 'Totals') -> 'Totals':
        """Returns the sums since an earlier snapshot."""
        return Totals(self.ran - before.ran, self.waited - before.waited)


@dataclasses.dataclass(frozen=True)
class Usage:
    """The counts of a server, or of one of its vCPUs.

    :ivar totals: the sums over all tasks
    :ivar cpus: the counts on each CPU where a task ran
    :ivar waits: the times for which the server waited for a CPU: from the
        moment that a task could run with budget until one of its tasks ran
    :ivar uses: the CPU time of the budget that was used, for each period with
        any use
    """

    totals: Totals = Totals()
    cpus: dict[int, Counts] = dataclasses.field(default_factory=dict)
    waits: histogram.Histogram = histogram.Histogram()
    uses: histogram.Histogram = histogram.Histogram()

    @functools.cached_property
    def counts(self) -> Counts:
        """The counts on all CPUs together."""
        return sum(self.cpus.values(), Counts())

    @property
    def lost_ns(self) -> int:
        """The time for which the server had budget and others ran."""
        return self.counts.lost

    def __add__(self, other: 'Usage') -> 'Usage':
        cpus = {cpu: self.cpus.get(cpu, Counts())
                + other.cpus.get(cpu, Counts())
                for cpu in sorted({*self.cpus, *other.cpus})}
        return Usage(self.totals + other.totals, cpus,
                     self.waits + other.waits, self.uses + other.uses)

    def since(self, before: 'Usage') -> 'Usage':
        """Returns the counts since an earlier reading."""
        cpus = {cpu: counts.since(before.cpus.get(cpu, Counts()))
                for cpu, counts in self.cpus.items()}
        return Usage(self.totals.since(before.totals), cpus,
                     self.waits.since(before.waits),
                     self.uses.since(before.uses))
