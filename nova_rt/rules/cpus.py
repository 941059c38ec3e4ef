# SPDX-License-Identifier: Apache-2.0

"""Which pCPU has how much bandwidth left, and does a request fit.

The one accounting and the one fit function: the scheduler filter, the claim
on the compute node and the command line all end in :func:`fit` or in its
first half, :func:`fits`.  Amounts are integers in ppm of one pCPU
(``reservation.PPM``), so sums are exact.  Under EDF the sum decides; where
the kernel runs servers by fixed priorities, it must also be able to give
each server of a pCPU its runtime in each period.
"""

from collections.abc import (
    Callable, Iterable, Iterator, Mapping, Sequence)
import dataclasses
import itertools
from typing import Self

from nova_rt.rules import reservation
from nova_rt.rules import schedulability

#: Of a request that :func:`is_late`, for the operator.
LATE = ('its kernel runs servers by fixed priorities and could not give all '
        'of them their runtime in each of their periods')

#: choose(room, count): *count* pCPU ids out of *room*, which lists the pCPUs
#: with room for the request as (id, ppm used), ascending by id.
Policy = Callable[[Sequence[tuple[int, int]], int], tuple[int, ...]]

#: (pCPU ids, what is reserved on each of them)
Claim = tuple[Sequence[int], reservation.Reservation]


@dataclasses.dataclass(frozen=True, slots=True)
class CpuBandwidth:
    """Bandwidth claimed on the pCPUs of one host.

    :ivar cpus: ids of the pCPUs that may be claimed, ascending
    :ivar cap: ppm of each pCPU that claims may use
    :ivar used: ppm claimed on each of *cpus*, in their order; may exceed
        *cap* (an operator lowered it while servers run)
    :ivar charged: sum of the bandwidth of all claims, each counted once
    :ivar replicated: the kernel grants a runtime on every pCPU, whatever the
        pinning, so that each claim is charged on all of them
    :ivar rule: how the kernel runs servers by fixed priorities; None under
        EDF
    :ivar servers: with a rule, what is reserved on each pCPU, sorted; only
        for pCPUs with servers
    :ivar min_runtime_us: the shortest runtime that the kernel may be given
    """

    cpus: tuple[int, ...]
    cap: int
    used: tuple[int, ...]
    charged: int = 0
    replicated: bool = False
    rule: schedulability.FixedPriorities | None = None
    servers: Mapping[int, tuple[reservation.Reservation, ...]] = (
        dataclasses.field(default_factory=dict))
    min_runtime_us: int = 1

    @classmethod
    def empty(cls, cpus: Iterable[int], cap: int, replicated: bool = False,
              rule: schedulability.FixedPriorities | None = None,
              min_runtime_us: int = 1) -> Self:
        """A host without claims."""
        ids = tuple(sorted(cpus))
        return cls(ids, cap, (0,) * len(ids), replicated=replicated,
                   rule=rule, min_runtime_us=min_runtime_us)

    def fold(self, claims: Iterable[Claim]) -> Self:
        """The state with all *claims* added.

        Does not ask whether they fit: a fold over existing claims must
        always succeed.  :func:`fit` is the admission.  A pCPU outside of
        *cpus* (an operator took it out while servers run) is passed over.
        """
        used = dict(zip(self.cpus, self.used, strict=True))
        servers = dict(self.servers)
        charged = self.charged
        for cpus, wanted in claims:
            charged += wanted.bandwidth
            for cpu in used.keys() & cpus:
                used[cpu] += wanted.bandwidth
                if self.rule is not None:
                    servers[cpu] = tuple(sorted(
                        (*servers.get(cpu, ()), wanted)))
        return dataclasses.replace(
            self, used=tuple(used.values()), charged=charged,
            servers=servers)

    def claim(self, cpus: Sequence[int], wanted: reservation.Reservation
              ) -> Self:
        """The state with *wanted* more on each of *cpus*."""
        return self.fold([(cpus, wanted)])

    def release(self, cpus: Sequence[int], wanted: reservation.Reservation
                ) -> Self:
        """The inverse of :meth:`claim`.

        :raises ValueError: it is not reserved there
        """
        used = dict(zip(self.cpus, self.used, strict=True))
        servers = dict(self.servers)
        for cpu in used.keys() & cpus:
            used[cpu] -= wanted.bandwidth
            if self.rule is not None:
                rest = list(servers.pop(cpu, ()))
                rest.remove(wanted)
                servers |= {cpu: tuple(rest)} if rest else {}
        return dataclasses.replace(
            self, used=tuple(used.values()),
            charged=self.charged - wanted.bandwidth, servers=servers)

    def used_on(self, cpu: int) -> int:
        """ppm claimed on one of *cpus*."""
        return self.used[self.cpus.index(cpu)]

    def free(self, cpu: int) -> int:
        """ppm left on one of *cpus*; negative where the cap was lowered."""
        taken = self.charged if self.replicated else self.used_on(cpu)
        return self.cap - taken

    @property
    def total(self) -> int:
        """ppm that claims may use on all pCPUs together."""
        return self.cap * len(self.cpus)

    @property
    def total_used(self) -> int:
        """ppm out of *total* that is gone."""
        if self.replicated:
            return self.charged * len(self.cpus)
        return sum(self.used)


def _limit(state: CpuBandwidth, wanted: reservation.Reservation) -> int:
    """The largest ppm used on a pCPU that leaves room for *wanted*."""
    if wanted.runtime_us < state.min_runtime_us:
        return -1
    if not state.replicated:
        return state.cap - wanted.bandwidth
    if state.charged + wanted.bandwidth > state.cap:
        return -1
    return state.cap


def room(state: CpuBandwidth, wanted: reservation.Reservation
         ) -> Iterator[tuple[int, int]]:
    """The pCPUs with room for *wanted* as (id, ppm used)."""
    limit = _limit(state, wanted)
    pairs = zip(state.cpus, state.used, strict=True)
    found = (pair for pair in pairs if pair[1] <= limit)
    if state.rule is None:
        return found
    holds, servers = state.rule.holds, state.servers
    return (pair for pair in found
            if holds((*servers.get(pair[0], ()), wanted)))


def fits(state: CpuBandwidth, vcpus: int, wanted: reservation.Reservation
         ) -> bool:
    """Whether :func:`fit` finds pCPUs, whatever the policy."""
    limit = _limit(state, wanted)
    if state.rule is None:
        return len([ppm for ppm in state.used if ppm <= limit]) >= vcpus
    idle = len(state.cpus) - len(state.servers)
    if idle >= vcpus:  # and no analysis is needed
        return limit >= 0 and state.rule.holds((wanted,))
    found = itertools.islice(room(state, wanted), vcpus)
    return sum(1 for _ in found) == vcpus


def is_late(state: CpuBandwidth, vcpus: int,
            wanted: reservation.Reservation) -> bool:
    """Whether the bandwidth is there, and would come too late.

    That is, whether :func:`fit` finds no pCPUs because of the rule alone.
    """
    return state.rule is not None and not fits(state, vcpus, wanted) and fits(
        dataclasses.replace(state, rule=None), vcpus, wanted)


def fit(state: CpuBandwidth, vcpus: int, wanted: reservation.Reservation,
        policy: Policy) -> tuple[int, ...] | None:
    """Choose a distinct pCPU for each vCPU (paper section 5.2).

    :param vcpus: number of vCPUs
    :param wanted: what each of them reserves
    :param policy: picks among the pCPUs that have room
    :returns: pCPU ids in the order chosen, or None where it does not fit
    """
    found = list(room(state, wanted))
    return policy(found, vcpus) if len(found) >= vcpus else None
