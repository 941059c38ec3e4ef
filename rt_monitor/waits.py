# SPDX-License-Identifier: Apache-2.0

"""What happened to a server at the scheduler, as the programs count it.

Sums of CPU time and waiting are the kernel's own, from the counters of each
task; budgets and switches are from the switches themselves.
"""

from collections.abc import Iterator
import dataclasses
import functools
import struct

from rt_monitor import histogram

_COUNTS = struct.Struct('=13Q')
_TOTALS = struct.Struct('=3Q')


@dataclasses.dataclass(frozen=True, slots=True)
class Counts:
    """What was seen of a lane on one CPU; times in ns.

    A lane is a vCPU of a server, or a server without groups for them.

    :ivar ran: on the CPU
    :ivar switches: to one of its tasks
    :ivar preempted: switches from a task that would have run on
    :ivar exhausted: periods in which the budget ran out
    :ivar starved: without budget, while it would have run
    :ivar apart: what of the time that its tasks waited was without budget
    :ivar first: when it was first seen, on the scheduler's clock
    :ivar last: when it was last seen; 0 if it never was
    """

    ran: int = 0
    switches: int = 0
    preempted: int = 0
    exhausted: int = 0
    starved: int = 0
    apart: int = 0
    first: int = 0
    last: int = 0

    def __add__(self, other: 'Counts') -> 'Counts':
        return Counts(
            self.ran + other.ran, self.switches + other.switches,
            self.preempted + other.preempted,
            self.exhausted + other.exhausted, self.starved + other.starved,
            self.apart + other.apart,
            min(filter(None, (self.first, other.first)), default=0),
            max(self.last, other.last))

    def since(self, before: 'Counts') -> 'Counts':
        """What came after an earlier look."""
        return Counts(
            self.ran - before.ran, self.switches - before.switches,
            self.preempted - before.preempted,
            self.exhausted - before.exhausted,
            self.starved - before.starved, self.apart - before.apart,
            self.first, self.last)

    @property
    def seen_ns(self) -> int:
        """From the first time to the last; the paper's execution time."""
        return self.last - self.first


def by_cpu(data: bytes) -> Iterator[Counts]:
    """The counts of a lane on each CPU, as the kernel has them."""
    for values in _COUNTS.iter_unpack(data):
        yield Counts(*values[:8])


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """What the tasks of a lane used, those that ended included; in ns.

    :ivar ran: CPU time
    :ivar waited: runnable and not running, for whatever reason
    :ivar slices: how often they were given a CPU
    """

    ran: int = 0
    waited: int = 0
    slices: int = 0

    @classmethod
    def decode(cls, data: bytes) -> 'Totals':
        return cls(*_TOTALS.unpack(data))

    def __add__(self, other: 'Totals') -> 'Totals':
        return Totals(self.ran + other.ran, self.waited + other.waited,
                      self.slices + other.slices)

    def since(self, before: 'Totals') -> 'Totals':
        """What came after an earlier look."""
        return Totals(self.ran - before.ran, self.waited - before.waited,
                      self.slices - before.slices)


@dataclasses.dataclass(frozen=True)
class Usage:
    """A server, or one of its vCPUs, at the scheduler.

    :ivar cpus: what was seen on each CPU where it ran
    :ivar waits: from being runnable with budget to running
    :ivar uses: of the budget, in each period with any use
    """

    totals: Totals = Totals()
    cpus: dict[int, Counts] = dataclasses.field(default_factory=dict)
    waits: histogram.Histogram = histogram.Histogram()
    uses: histogram.Histogram = histogram.Histogram()

    @functools.cached_property
    def counts(self) -> Counts:
        """On all CPUs together."""
        return sum(self.cpus.values(), Counts())

    @property
    def lost_ns(self) -> int:
        """It had budget and would have run, and others did."""
        return max(0, self.totals.waited - self.counts.apart)

    def __add__(self, other: 'Usage') -> 'Usage':
        cpus = {cpu: self.cpus.get(cpu, Counts())
                + other.cpus.get(cpu, Counts())
                for cpu in sorted({*self.cpus, *other.cpus})}
        return Usage(self.totals + other.totals, cpus,
                     self.waits + other.waits, self.uses + other.uses)

    def since(self, before: 'Usage') -> 'Usage':
        """What came after an earlier look."""
        cpus = {cpu: found.since(before.cpus.get(cpu, Counts()))
                for cpu, found in self.cpus.items()}
        return Usage(self.totals.since(before.totals), cpus,
                     self.waits.since(before.waits),
                     self.uses.since(before.uses))
