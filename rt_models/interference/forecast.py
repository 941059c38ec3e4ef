# SPDX-License-Identifier: Apache-2.0

"""Forecasts the throughput of a host, with and without one more server.

The throughput of a server relative to its throughput alone is r = c * e.  For
a shared server, c is the part of the CPU time of the host that reservations
leave; for a reserved server, c is 1.  e is the product of the cells of the
server's row over all its neighbours, in the matrix of the server's kind.
Paper 002 measured only pairs.  The module assumes that the effects of several
neighbours multiply.
"""

import collections
from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import functools
from typing import Self

from nova_rt.rules import neighbours as rt_neighbours
from rt_models.interference import matrix

#: The part of the gain of the next server that counts now.  In simulations 0
#: loses two percentage points against the best placement, and 1 loses more
#: where hosts stay free.
LOOK_AHEAD = 0.6
#: The number of forecasts that are kept.  A host with servers of five types
#: has a few hundred states.
_KEPT = 8192

Server = rt_neighbours.Typed
Neighbours = rt_neighbours.Neighbours
#: The probability that the next server is of a sort, by sort.
Mix = Mapping[Server, float]


@dataclasses.dataclass(frozen=True, slots=True)
class Throughput:
    """The sums of e over the servers of a host.

    The unit is one server that runs alone.
    """

    shared: float = 0.0
    reserved: float = 0.0

    def plus(self, server: Server, amount: float) -> 'Throughput':
        """Returns the sum of this throughput and that of further servers."""
        if server.kind is rt_neighbours.Kind.SHARED:
            return Throughput(self.shared + amount, self.reserved)
        return Throughput(self.shared, self.reserved + amount)

    def minus(self, other: 'Throughput') -> 'Throughput':
        """Returns the difference from another throughput."""
        return Throughput(self.shared - other.shared,
                          self.reserved - other.reserved)

    def at(self, left: float) -> float:
        """Returns the sum of r over the servers.

        :param left: c, the part of the CPU time that is not reserved
        """
        return left * self.shared + self.reserved


@dataclasses.dataclass(frozen=True, slots=True)
class Score:
    """The score of a host; the unit is one server that runs alone.

    The score is then * t + now * l + always, where l is the part of the CPU
    time that reservations leave without the server, and t the part that they
    leave with the server.  All hosts with the same neighbours and the same
    room have the same three coefficients.

    :ivar then: the coefficient of t
    :ivar now: the coefficient of l
    :ivar always: the constant term
    """

    then: float
    now: float
    always: float

    def at(self, left: float, then: float) -> float:
        """Returns the score of one host.

        :param left: the part of the CPU time that is unreserved if the server
            does not come
        :param then: the part that is unreserved if the server comes
        """
        return self.then * then + self.now * left + self.always


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """The effect of one more server on a host.

    A model returns the same object for the same host and server.

    :ivar before: the throughput without the server
    :ivar after: the throughput with the server
    :ivar next_before: the throughput that a next server of each sort would add
        without the server
    :ivar next_change: how much more a next server of each sort would add with
        the server; negative if it would add less
    """

    before: Throughput
    after: Throughput
    next_before: Mapping[Server, Throughput]
    next_change: Mapping[Server, Throughput]

    def gain(self, left: float, then: float) -> float:
        """Returns the change of the throughput of the host.

        :param left: the part of the CPU time that is unreserved if the server
            does not come
        :param then: the part that is unreserved if the server comes
        """
        return self.after.at(then) - self.before.at(left)

    def ahead(self, mix: Mix, room: bool) -> Throughput:
        """Returns the mean effect on the gain of the next server.

        :param mix: the probable sorts of the next server
        :param room: whether the host has room for a next server after this
            one
        """
        if room:
            return _mean(mix, self.next_change, _UNCHANGED)
        return Throughput().minus(_mean(mix, self.next_before, _ALONE))

    def score(self, ahead: Throughput) -> Score:
        """Returns the score: the gain, and a part of the gain *ahead*."""
        return Score(
            self.after.shared,
            LOOK_AHEAD * ahead.shared - self.before.shared,
            LOOK_AHEAD * ahead.reserved
            + self.after.reserved - self.before.reserved)


#: What a server of an unknown type adds, and how that changes.
_ALONE = {rt_neighbours.Kind.SHARED: Throughput(shared=1.0),
          rt_neighbours.Kind.RESERVED: Throughput(reserved=1.0)}
_UNCHANGED = dict.fromkeys(rt_neighbours.Kind, Throughput())


def _mean(mix: Mix, known: Mapping[Server, Throughput],
          unknown: Mapping[rt_neighbours.Kind, Throughput]) -> Throughput:
    shared = reserved = 0.0
    for server, part in mix.items():
        added = known.get(server) or unknown[server.kind]
        shared += part * added.shared
        reserved += part * added.reserved
    return Throughput(shared, reserved)


class Model:
    """Forecasts from a matrix for shared and one for reserved targets."""

    def __init__(self, matrices: Iterable[matrix.Matrix]) -> None:
        self._by_kind = {of_kind.kind: of_kind for of_kind in matrices}
        self._types = sorted({name for of_kind in self._by_kind.values()
                              for name in of_kind.types})
        self.growth = functools.lru_cache(_KEPT)(self._growth)

    def cell(self, target: Server, competitor: str) -> float:
        """Returns the cell of a pair, at most 1; 1 for an unknown type.

        A competitor never makes a target faster.  A cell above 1 shows only
        the noise of its measurement, and noise is not a reason to prefer a
        host.
        """
        of_kind = self._by_kind.get(target.kind)
        return min(1.0, of_kind.cell(target.type, competitor)
                   ) if of_kind else 1.0

    def throughput(self, there: Neighbours) -> Throughput:
        """Returns the throughput of all servers of a host."""
        return _Host.from_neighbours(self, there).throughput

    def _growth(self, there: Neighbours, server: Server) -> Growth:
        now = _Host.from_neighbours(self, there)
        then = _Host.from_neighbours(self, there.plus(server))
        before, change = {}, {}
        for kind in rt_neighbours.Kind:
            for name in self._types:
                following = Server(kind, name)
                added = now.with_one(following).minus(now.throughput)
                before[following] = added
                change[following] = then.with_one(following).minus(
                    then.throughput).minus(added)
        return Growth(now.throughput, then.throughput, before, change)


@dataclasses.dataclass(frozen=True, slots=True)
class _Host:
    """The e of each sort of server on a host.

    :ivar sums: e of each sort, times the number of its servers
    """

    model: Model
    there: Neighbours
    sums: tuple[tuple[Server, float], ...]
    throughput: Throughput

    @classmethod
    def from_neighbours(cls, model: Model, there: Neighbours) -> Self:
        """Computes e for each sort of servers on the host."""
        sums, total = [], Throughput()
        for server, count in there.counts:
            # A server is not a neighbour of itself.
            alone = (_product(model, server, there)
                     / model.cell(server, server.type))
            sums.append((server, count * alone))
            total = total.plus(server, count * alone)
        return cls(model, there, tuple(sums), total)

    def with_one(self, new: Server) -> Throughput:
        """Returns the throughput with one more server."""
        total = Throughput().plus(
            new, _product(self.model, new, self.there))
        for server, amount in self.sums:
            total = total.plus(
                server, amount * self.model.cell(server, new.type))
        return total


def _product(model: Model, target: Server, there: Neighbours) -> float:
    """Returns the product of the cells of *target* over all servers."""
    product = 1.0
    for server, count in there.counts:
        product *= model.cell(target, server.type) ** count
    return product


def mix_of(hosts: Sequence[Neighbours | None], server: Server) -> Mix:
    """Returns the probability of each sort of server as the next one.

    The probability is the part of the sort in all servers that were seen.

    :param hosts: the neighbours on each host of a request; None: unknown
    :param server: the server that is being placed, which counts as well
    """
    # Hosts with the same text share one decoded object, so that each object
    # needs to be read only once.
    numbers = collections.Counter(map(id, hosts))
    counts = {server: 1}
    for there in {id(there): there for there in hosts}.values():
        if there is not None:
            for sort, count in there.counts:
                counts[sort] = (counts.get(sort, 0)
                                + count * numbers[id(there)])
    total = sum(counts.values())
    return {sort: count / total for sort, count in counts.items()}


def weight(score: float) -> float:
    """Returns a weight in (0, 1] that grows with the score.

    If the score is 1/2 or more, the weight is the score, so that a hundredth
    of a server is a hundredth of the multiplier.  Below 1/2 the weight
    approaches 0 smoothly.  On a crowded host the neighbours lose more than the
    server gains.  The weights of crowded hosts still differ, and no weight is
    below 0.
    """
    if score >= 0.5:
        return min(score, 1.0)
    return 0.25 / (1.0 - score)
