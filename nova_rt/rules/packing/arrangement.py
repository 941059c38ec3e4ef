# SPDX-License-Identifier: Apache-2.0

"""Arrangements of vCPUs on pCPUs, and how far they are from a request.

The planner searches among arrangements.  ``rules.cpus`` decides which pCPUs
have room; this module adds only lower bounds.  With these bounds, the planner
leaves out arrangements that cannot lead to the request in time.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
import dataclasses
import functools
import heapq

from nova_rt.rules import cpus as rt_cpus
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation

#: The bound of an arrangement in which no number of moves helps.
NEVER = 1_000_000
#: The pCPU of each movable vCPU, in a fixed order.
Key = tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Placed:
    """A claim that may move: *wanted* on each of *cpus*.

    :ivar within: the pCPUs to which each vCPU may move, in the order of
        *cpus*; () if all vCPUs may move to all pCPUs
    """

    cpus: tuple[int, ...]
    wanted: reservation.Reservation
    within: tuple[frozenset[int], ...] = ()

    def after(self, move: 'Move') -> 'Placed':
        """Returns the claim as it is after a move."""
        return dataclasses.replace(self, cpus=tuple(
            move.target if cpu == move.source else cpu for cpu in self.cpus))


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Move:
    """A move of one vCPU from a pCPU to another one."""

    claim: str
    source: int
    target: int


@dataclasses.dataclass(frozen=True, slots=True)
class Goal:
    """A request for *wanted* on *vcpus* different pCPUs of *cpus*."""

    vcpus: int
    wanted: reservation.Reservation
    cpus: frozenset[int]


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """One vCPU that may move.

    :ivar ppm: the bandwidth of *wanted*
    :ivar siblings: the numbers of all vCPUs of the claim
    :ivar kind: equal for vCPUs that no plan needs to tell apart
    """

    claim: str
    wanted: reservation.Reservation
    ppm: int
    within: frozenset[int] | None
    siblings: range
    kind: Hashable


@dataclasses.dataclass(frozen=True, slots=True)
class Child:
    """One more move, and what is known of the arrangement after the move.

    The arrangement itself is made only when it is needed.

    :ivar bound: how many further moves the request needs at least
    :ivar lack: ppm that the best pCPUs for the request lack
    """

    parent: 'Arrangement'
    item: int
    move: Move
    bound: int
    lack: int

    @property
    def bandwidth(self) -> int:
        """The ppm that move."""
        return self.parent.items[self.item].ppm

    def arrangement(self) -> 'Arrangement':
        """Returns the arrangement after the move."""
        at, wanted = self.parent, self.parent.items[self.item].wanted
        state = at.state.claim((self.move.target,), wanted).release(
            (self.move.source,), wanted)
        return Arrangement(state, at.items, (
            *at.key[:self.item], self.move.target,
            *at.key[self.item + 1:]), at.goal)


@dataclasses.dataclass(frozen=True)
class Arrangement:
    """A host, and the pCPU of each vCPU that may move.

    :ivar key: the pCPU of each of *items*
    """

    state: rt_cpus.CpuBandwidth
    items: tuple[Item, ...]
    key: Key
    goal: Goal

    @classmethod
    def of(cls, state: rt_cpus.CpuBandwidth, claims: Mapping[str, Placed],
           goal: Goal) -> 'Arrangement':
        """Returns the arrangement of some claims."""
        items: list[Item] = []
        for name, placed in claims.items():
            siblings = range(len(items), len(items) + len(placed.cpus))
            alike = name if len(placed.cpus) > 1 else ''
            for within in placed.within or (None,) * len(placed.cpus):
                items.append(Item(
                    name, placed.wanted, placed.wanted.bandwidth, within,
                    siblings, (alike, placed.wanted.bandwidth,
                               placed.wanted.period_us, within)))
        return cls(state, tuple(items), tuple(
            cpu for placed in claims.values() for cpu in placed.cpus), goal)

    @functools.cached_property
    def fits(self) -> bool:
        """True if the request fits."""
        return rt_cpus.fit(self.state, self.goal.vcpus, self.goal.wanted,
                           policies.first_fit, self.goal.cpus) is not None

    @property
    def bound(self) -> int:
        """A lower bound of the moves that make the request fit."""
        return self._bound({}) if self._is_plain else int(not self.fits)

    @functools.cached_property
    def _is_plain(self) -> bool:
        """True if only the sum of each pCPU decides."""
        return self.state.rule is None and not self.state.counts_cores

    @functools.cached_property
    def _free(self) -> dict[int, int]:
        return {cpu: self.state.free(cpu) for cpu in self.goal.cpus}

    @functools.cached_property
    def _on(self) -> dict[int, list[int]]:
        """The ppm of each movable vCPU on each pCPU, the largest first."""
        by_cpu: dict[int, list[int]] = {cpu: [] for cpu in self.state.cpus}
        for item, cpu in zip(self.items, self.key, strict=True):
            if cpu in by_cpu:
                by_cpu[cpu].append(item.ppm)
        for own in by_cpu.values():
            own.sort(reverse=True)
        return by_cpu

    @functools.cached_property
    def _needs(self) -> dict[int, int]:
        """The number of vCPUs that must leave each pCPU to make room."""
        return {cpu: self._need(free, self._on.get(cpu, ()))
                for cpu, free in self._free.items()}

    def _need(self, free: int, movable: Iterable[int]) -> int:
        """Returns how many vCPUs must leave a pCPU, the largest first."""
        wanted = self.goal.wanted.bandwidth
        if free >= wanted:
            return 0
        for count, ppm in enumerate(movable, 1):
            free += ppm
            if free >= wanted:
                return count
        return NEVER

    def _bound(self, changed: Mapping[int, int]) -> int:
        """Returns how many moves these needs take at least."""
        needs = {**self._needs, **changed}.values()
        count = self.goal.vcpus
        if count == 1:
            return min(needs, default=NEVER)
        if count > len(needs):
            return NEVER
        return sum(heapq.nsmallest(count, needs))

    def children(self, left: int) -> Iterator[Child]:
        """Yields the arrangements to which one more move leads.

        :param left: the number of moves after that one; arrangements with a
            higher bound are left out
        """
        tried = set()
        useful = {cpu for cpu in self._on if self._is_useful(cpu, left)}
        for index, (item, source) in enumerate(
                zip(self.items, self.key, strict=True)):
            if source not in useful or (item.kind, source) in tried:
                continue
            tried.add((item.kind, source))
            leaving = self._without(item.ppm, source)
            if leaving is not None and self._bound(leaving) > left:
                continue
            for target in self._targets(index):
                child = self._child(index, source, target, leaving)
                if child.bound <= left:
                    yield child

    def _is_useful(self, source: int, left: int) -> bool:
        """Checks whether any vCPU that leaves a pCPU may be a part of a plan.

        The need of the pCPU becomes smaller by one at most.
        """
        if not self._is_plain:
            return True
        need = self._needs.get(source)
        return self._bound({} if need is None else {
            source: max(0, need - 1)}) <= left

    def _targets(self, index: int) -> list[int]:
        """Returns the pCPUs that a vCPU may move to while it counts here."""
        item = self.items[index]
        own = {self.key[other] for other in item.siblings}
        return [cpu for cpu, _ in self._room(item.wanted)
                if cpu not in own
                and (item.within is None or cpu in item.within)]

    @functools.cached_property
    def _rooms(self) -> dict[reservation.Reservation, list[tuple[int, int]]]:
        return {}

    def _room(self, wanted: reservation.Reservation
              ) -> list[tuple[int, int]]:
        if wanted not in self._rooms:
            self._rooms[wanted] = list(rt_cpus.room(self.state, wanted))
        return self._rooms[wanted]

    @functools.cached_property
    def _rests(self) -> dict[tuple[int, int], dict[int, int]]:
        return {}

    def _without(self, ppm: int, source: int) -> dict[int, int] | None:
        """Returns the need of a pCPU that a vCPU leaves.

        :returns: {} for a pCPU that the request cannot use; None if sums
            do not decide alone
        """
        if not self._is_plain:
            return None
        if source not in self._free:
            return {}
        if (source, ppm) not in self._rests:
            rest = list(self._on[source])
            rest.remove(ppm)
            self._rests[source, ppm] = {
                source: self._need(self._free[source] + ppm, rest)}
        return self._rests[source, ppm]

    def _child(self, index: int, source: int, target: int,
               leaving: dict[int, int] | None) -> Child:
        move = Move(self.items[index].claim, source, target)
        if leaving is None:
            return Child(self, index, move, 0, 0)
        ppm, changed = self.items[index].ppm, dict(leaving)
        if target in self._free:
            own = sorted((*self._on[target], ppm), reverse=True)
            changed[target] = self._need(self._free[target] - ppm, own)
        return Child(self, index, move, self._bound(changed),
                     self._lack(source, target, ppm))

    def _lack(self, source: int, target: int, ppm: int) -> int:
        """Returns the ppm that the best pCPUs lack after a move."""
        free = dict(self._free)
        for cpu, more in ((source, ppm), (target, -ppm)):
            if cpu in free:
                free[cpu] += more
        best = heapq.nlargest(self.goal.vcpus, free.values())
        return sum(max(0, self.goal.wanted.bandwidth - each)
                   for each in best)
