# SPDX-License-Identifier: Apache-2.0

"""Counts the bandwidth of pCPUs, and decides whether a request fits.

The project has no other accounting and no other fit function: the scheduler
filter, the claim on the compute node and the command line all call :func:`fit`
or its first half, :func:`fits`.  Amounts are integers in ppm of one pCPU
(``reservation.PPM``), so that sums are exact.  Under EDF the sum decides.  If
the kernel runs servers by fixed priorities, the kernel must also be able to
give each server on a pCPU its runtime in each period.  On such a host the
amounts and the servers of a state are those that the kernel has: claims count
with their divided reservations (see ``rules.division``), and a request may be
divided to fit.
"""

import collections
from collections.abc import (
    Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence)
import dataclasses
import enum
import itertools
from typing import Self

from nova_rt.rules import division
from nova_rt.rules import reservation
from nova_rt.rules import schedulability

#: Why a request does not fit if :func:`is_late`, for the operator.
LATE = ('its kernel runs servers by fixed priorities and could not give all '
        'of them their runtime in each of their periods')

#: choose(room, count) returns *count* pCPU ids out of *room*, which lists the
#: pCPUs with room for the request as (id, ppm used), ascending by id.
Policy = Callable[[Sequence[tuple[int, int]], int], tuple[int, ...]]


class Smt(enum.StrEnum):
    """The effect that reservations on a sibling of a pCPU have on the pCPU.

    Siblings are the hardware threads of one core.
    """

    IGNORE = 'ignore'
    PREFER = 'prefer'
    CORE = 'core'


#: (pCPU ids, the reservation on each of them)
Claim = tuple[Sequence[int], reservation.Reservation]


@dataclasses.dataclass(frozen=True, slots=True)
class CpuBandwidth:
    """The bandwidth that is claimed on the pCPUs of one host.

    :ivar cpus: the ids of the pCPUs that may be claimed, ascending
    :ivar cap: the ppm of each pCPU that claims may use
    :ivar used: the ppm claimed on each of *cpus*, in their order; may exceed
        *cap* if an operator lowered the cap while servers run
    :ivar charged: the sum of the bandwidth of all claims, each counted once
    :ivar replicated: True if the kernel grants a runtime on every pCPU,
        whatever the pinning, so that each claim is charged on all pCPUs
    :ivar rule: how the kernel runs servers by fixed priorities; None under
        EDF
    :ivar servers: with a rule, the reservations on each pCPU, sorted; only
        for pCPUs with reservations
    :ivar min_runtime_us: the shortest runtime that the kernel may be given
    :ivar cores: an arbitrary number for the core of each of *cpus*, in their
        order; () if each of *cpus* has a core of its own
    :ivar smt: PREFER takes cores without a claim first; CORE keeps the sum
        over the pCPUs of each core within *cap*, too
    :ivar min_divided_us: the shortest runtime that a division for the kernel
        may make; 0 if requests are not divided
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
    cores: tuple[int, ...] = ()
    smt: Smt = Smt.IGNORE
    min_divided_us: int = 0

    @classmethod
    def empty(cls, cpus: Iterable[int], cap: int, replicated: bool = False,
              rule: schedulability.FixedPriorities | None = None,
              min_runtime_us: int = 1) -> Self:
        """Returns the state of a host without claims."""
        ids = tuple(sorted(cpus))
        return cls(ids, cap, (0,) * len(ids), replicated=replicated,
                   rule=rule, min_runtime_us=min_runtime_us)

    @property
    def pools(self) -> int:
        """The number of pCPUs, or of cores if their threads count together."""
        return (len(set(self.cores)) if self.counts_cores
                else len(self.cpus))

    @property
    def counts_cores(self) -> bool:
        """True if the bandwidth of the threads of a core counts together."""
        return self.smt is Smt.CORE and bool(self.cores)

    def fold(self, claims: Iterable[Claim]) -> Self:
        """Returns the state with all *claims* added.

        The method does not check whether the claims fit, because a fold over
        existing claims must always succeed; :func:`fit` decides on admission.
        The method ignores a pCPU outside of *cpus*: an operator may have
        removed this pCPU from the option while servers run.
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
        """Returns the state with *wanted* added on each of *cpus*."""
        return self.fold([(cpus, wanted)])

    def release(self, cpus: Sequence[int], wanted: reservation.Reservation
                ) -> Self:
        """Returns the state without a claim; the inverse of :meth:`claim`.

        :raises ValueError: when, with a rule, *wanted* is not reserved there
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
        """Returns the ppm claimed on one of *cpus*."""
        return self.used[self.cpus.index(cpu)]

    def free(self, cpu: int) -> int:
        """Returns the ppm left on one of *cpus*.

        The result is negative if more is claimed than the cap.
        """
        taken = self.charged if self.replicated else self.used_on(cpu)
        return self.cap - taken

    @property
    def total(self) -> int:
        """The ppm that claims may use on all pCPUs together."""
        return self.cap * self.pools

    @property
    def total_used(self) -> int:
        """The ppm of *total* that claims use."""
        if self.replicated:
            return self.charged * self.pools
        return sum(self.used)


def _limit(state: CpuBandwidth, wanted: reservation.Reservation) -> int:
    """Returns how many ppm of a pCPU may be used so that *wanted* still fits.

    :returns: -1 if no pCPU can have room
    """
    if wanted.runtime_us < state.min_runtime_us:
        return -1
    if not state.replicated:
        return state.cap - wanted.bandwidth
    if state.charged + wanted.bandwidth > state.cap:
        return -1
    return state.cap


def divisions(state: CpuBandwidth, wanted: reservation.Reservation
              ) -> Iterator[tuple[int, reservation.Reservation]]:
    """Yields each divisor, and what the kernel gets instead of *wanted*.

    The first divisor is 1, with *wanted* itself.
    """
    least_us = state.min_divided_us and max(state.min_divided_us,
                                            state.min_runtime_us)
    for number in division.divisors(state.rule, wanted, least_us):
        yield number, division.divided(wanted, number)


def divisor(state: CpuBandwidth, chosen: Collection[int],
            wanted: reservation.Reservation) -> int:
    """Returns the divisor of a claim on *chosen*, which :func:`fit` returned.

    :param state: as for :func:`fit`
    """
    if state.rule is None:
        return 1
    fitting = [number for number, part in divisions(state, wanted)
               if len([cpu for cpu, _ in room(state, part)
                       if cpu in chosen]) == len(chosen)]
    return division.best(state.rule, wanted, fitting, [
        state.servers.get(cpu, ()) for cpu in chosen])


def room(state: CpuBandwidth, wanted: reservation.Reservation
         ) -> Iterator[tuple[int, int]]:
    """Returns the pCPUs with room for *wanted*, as (id, ppm used).

    *wanted* is not divided.

    If the threads of a core count together, any choice among the returned
    pCPUs stays within the cap of each core.  The result has only as many pCPUs
    of a core as the core has room for.  In this case, the ppm of a pCPU are
    those of its core, as if the pCPUs of the core that come before in the
    result were also taken.
    """
    limit = _limit(state, wanted)
    pairs = zip(state.cpus, state.used, strict=True)
    by_sum = (pair for pair in pairs if pair[1] <= limit)
    if state.rule is not None:
        holds, servers = state.rule.holds, state.servers
        by_sum = (pair for pair in by_sum
                  if holds((*servers.get(pair[0], ()), wanted)))
    if not state.counts_cores:
        return by_sum
    return iter(sorted(_by_core(state, wanted, by_sum)))


def _by_core(state: CpuBandwidth, wanted: reservation.Reservation,
             pairs: Iterable[tuple[int, int]]
             ) -> Iterator[tuple[int, int]]:
    """Yields at most as many *pairs* of each core as the core has room for."""
    core_of = dict(zip(state.cpus, state.cores, strict=True))
    sums = _sums(state)
    for cpu, _ in sorted(pairs, key=lambda pair: (pair[1], pair[0])):
        used = sums[core_of[cpu]]
        if used + wanted.bandwidth <= state.cap:
            yield cpu, used
            sums[core_of[cpu]] += wanted.bandwidth


def _sums(state: CpuBandwidth) -> dict[int, int]:
    """Returns the ppm used on the pCPUs of each core."""
    sums: dict[int, int] = dict.fromkeys(state.cores, 0)
    for core, used in zip(state.cores, state.used, strict=True):
        sums[core] += used
    return sums


def _count_on_cores(state: CpuBandwidth, wanted: reservation.Reservation
                    ) -> int:
    """Returns how many vCPUs have room if threads of a core count as one."""
    threads = collections.Counter(state.cores)
    return sum(
        min(threads[core], (state.cap - used) // wanted.bandwidth)
        for core, used in _sums(state).items() if used <= state.cap)


def fits(state: CpuBandwidth, vcpus: int, wanted: reservation.Reservation
         ) -> bool:
    """Checks whether :func:`fit` finds pCPUs, whatever the policy."""
    return any(_fits(state, vcpus, part)
               for _, part in divisions(state, wanted))


def _fits(state: CpuBandwidth, vcpus: int, wanted: reservation.Reservation
          ) -> bool:
    limit = _limit(state, wanted)
    if state.counts_cores:
        return limit >= 0 and vcpus <= (
            _count_on_cores(state, wanted) if state.rule is None
            else sum(1 for _ in room(state, wanted)))
    if state.rule is None:
        return len([ppm for ppm in state.used if ppm <= limit]) >= vcpus
    idle = len(state.cpus) - len(state.servers)
    if idle >= vcpus:  # Idle pCPUs need no analysis beside other servers.
        return limit >= 0 and state.rule.holds((wanted,))
    with_room = itertools.islice(room(state, wanted), vcpus)
    return sum(1 for _ in with_room) == vcpus


def is_late(state: CpuBandwidth, vcpus: int,
            wanted: reservation.Reservation) -> bool:
    """Checks whether only the rule keeps a request from fitting.

    The pCPUs then have enough bandwidth, but a server would get its runtime
    too late.
    """
    return state.rule is not None and not fits(state, vcpus, wanted) and fits(
        dataclasses.replace(state, rule=None), vcpus, wanted)


def in_kernel(state: CpuBandwidth, wanted: Iterable[reservation.Reservation],
              policy: Policy) -> list[reservation.Reservation] | None:
    """Returns what the kernel gets for servers of one vCPU each.

    The servers are claimed one after the other.

    :returns: None if a server does not fit
    """
    parts = []
    for one in wanted:
        chosen = fit(state, 1, one, policy)
        if chosen is None:
            return None
        parts.append(division.divided(one, divisor(state, chosen, one)))
        state = state.claim(chosen, parts[-1])
    return parts


def fit(state: CpuBandwidth, vcpus: int, wanted: reservation.Reservation,
        policy: Policy, within: Container[int] | None = None
        ) -> tuple[int, ...] | None:
    """Chooses a pCPU of its own for each vCPU (paper section 5.2).

    The kernel may have to get a divided reservation there; see
    :func:`divisor`.

    :param vcpus: the number of vCPUs
    :param wanted: the reservation of each vCPU
    :param policy: chooses among the pCPUs with room, and first among those
        of cores without a claim if these are preferred
    :param within: the pCPUs that may be chosen; None for all
    :returns: the pCPU ids in the order chosen; None if the request does not
        fit
    """
    for _, part in divisions(state, wanted):
        chosen = fit_undivided(state, vcpus, part, policy, within)
        if chosen is not None:
            return chosen
    return None


def fit_undivided(state: CpuBandwidth, vcpus: int,
                  wanted: reservation.Reservation, policy: Policy,
                  within: Container[int] | None = None
                  ) -> tuple[int, ...] | None:
    """Does the same as :func:`fit`, but does not divide the reservation.

    A claim that moves keeps the reservation that the kernel has.
    """
    with_room = [pair for pair in room(state, wanted)
                 if within is None or pair[0] in within]
    if len(with_room) < vcpus:
        return None
    if state.smt is not Smt.PREFER or not state.cores:
        return policy(with_room, vcpus)
    idle = _on_idle_cores(state, with_room)
    first = policy(idle, min(vcpus, len(idle)))
    rest = [pair for pair in with_room if pair[0] not in first]
    return (*first, *policy(rest, vcpus - len(first)))


def _on_idle_cores(state: CpuBandwidth, pairs: Iterable[tuple[int, int]]
                   ) -> list[tuple[int, int]]:
    """Returns one of *pairs* for each core without a claim."""
    core_of = dict(zip(state.cpus, state.cores, strict=True))
    taken = {core_of[cpu] for cpu, used in zip(
        state.cpus, state.used, strict=True) if used}
    idle: dict[int, tuple[int, int]] = {}
    for pair in pairs:
        if core_of[pair[0]] not in taken:
            idle.setdefault(core_of[pair[0]], pair)
    return list(idle.values())
