# SPDX-License-Identifier: Apache-2.0

"""The throughput of a host, and what one server more makes of it.

The throughput of a server, over that alone, is r = c * e.  c is the part of
the CPU time of the host that reservations leave to a shared server, and 1 for
a reserved one.  e is the product of the cells of its row over its neighbours:
the matrix of its own kind says how much each takes.  Paper 002 measured
pairs; the product over more than one neighbour is an assumption.
"""

import collections
from collections.abc import Iterable, Mapping, Sequence
import dataclasses
import functools
from typing import Self

from nova_rt.rules import neighbours as rt_neighbours
from rt_models.interference import matrix

#: How much of what the next server would add counts now.  In simulations 0
#: loses two points of the best placement, and 1 more where hosts stay free.
LOOK_AHEAD = 0.6
#: Forecasts that are kept; a host of five types has few hundred states.
_KEPT = 8192

Server = rt_neighbours.Server
Neighbours = rt_neighbours.Neighbours
#: How probable each sort of server is as the next one.
Mix = Mapping[Server, float]


@dataclasses.dataclass(frozen=True, slots=True)
class Throughput:
    """Sums of e over the servers of a host, in servers that run alone."""

    shared: float = 0.0
    reserved: float = 0.0

    def plus(self, server: Server, amount: float) -> 'Throughput':
        """This and what one or more servers of a sort have."""
        if server.kind is rt_neighbours.Kind.SHARED:
            return Throughput(self.shared + amount, self.reserved)
        return Throughput(self.shared, self.reserved + amount)

    def minus(self, other: 'Throughput') -> 'Throughput':
        return Throughput(self.shared - other.shared,
                          self.reserved - other.reserved)

    def at(self, left: float) -> float:
        """The sum of r.

        :param left: c, the part of the CPU time that is not reserved
        """
        return left * self.shared + self.reserved


@dataclasses.dataclass(frozen=True, slots=True)
class Score:
    """What speaks for a host, in servers that run alone.

    It is the same for all hosts with the same neighbours and room, except
    for the time that reservations leave: then * t + now * l + always.

    :ivar then: for all of t, the part of the CPU time left with the server
    :ivar now: for all of l, the part left without it
    :ivar always: whatever is left
    """

    then: float
    now: float
    always: float

    def at(self, left: float, then: float) -> float:
        """The score of one host.

        :param left: the part of the CPU time that is not reserved, before
        :param then: and with the server
        """
        return self.then * then + self.now * left + self.always


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """What one server more makes of a host.

    A model gives the same one again for the same host and server.

    :ivar before: without it
    :ivar after: with it
    :ivar next_before: what each sort of server would add without it
    :ivar next_change: how much more (less) each would add after it
    """

    before: Throughput
    after: Throughput
    next_before: Mapping[Server, Throughput]
    next_change: Mapping[Server, Throughput]

    def gain(self, left: float, then: float) -> float:
        """The change of the throughput of the host.

        :param left: the part of the CPU time that is not reserved, before
        :param then: and with the server
        """
        return self.after.at(then) - self.before.at(left)

    def ahead(self, mix: Mix, room: bool) -> Throughput:
        """What it means for the gain of the next server, in the mean.

        :param mix: what that is
        :param room: whether there is a place for it after this one, which
            else takes the last
        """
        if room:
            return _mean(mix, self.next_change, _UNCHANGED)
        return Throughput().minus(_mean(mix, self.next_before, _ALONE))

    def score(self, ahead: Throughput) -> Score:
        """The gain, with a part of what is *ahead*."""
        return Score(
            self.after.shared,
            LOOK_AHEAD * ahead.shared - self.before.shared,
            LOOK_AHEAD * ahead.reserved
            + self.after.reserved - self.before.reserved)


#: What a server adds of whose type nothing is known, and what that changes.
_ALONE = {rt_neighbours.Kind.SHARED: Throughput(shared=1.0),
          rt_neighbours.Kind.RESERVED: Throughput(reserved=1.0)}
_UNCHANGED = dict.fromkeys(rt_neighbours.Kind, Throughput())


def _mean(mix: Mix, known: Mapping[Server, Throughput],
          unknown: Mapping[rt_neighbours.Kind, Throughput]) -> Throughput:
    shared = reserved = 0.0
    for server, part in mix.items():
        one = known.get(server) or unknown[server.kind]
        shared += part * one.shared
        reserved += part * one.reserved
    return Throughput(shared, reserved)


class Model:
    """Forecasts from the matrices for shared and for reserved targets."""

    def __init__(self, matrices: Iterable[matrix.Matrix]) -> None:
        self._by_kind = {each.kind: each for each in matrices}
        self._types = sorted({name for each in self._by_kind.values()
                              for name in each.types})
        self.growth = functools.lru_cache(_KEPT)(self._growth)

    def cell(self, target: Server, competitor: str) -> float:
        """1 where nothing is known of one of the types, and at most.

        A competitor takes something or nothing: what a cell has above 1 is
        the noise of its measurement, and no reason to seek company.
        """
        found = self._by_kind.get(target.kind)
        return min(1.0, found.cell(target.type, competitor)
                   ) if found else 1.0

    def throughput(self, there: Neighbours) -> Throughput:
        """All servers of a host."""
        return _Host.of(self, there).throughput

    def _growth(self, there: Neighbours, server: Server) -> Growth:
        now = _Host.of(self, there)
        then = _Host.of(self, there.plus(server))
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
    """The e of each sort of server of a host.

    :ivar sums: e, times the number of servers
    """

    model: Model
    there: Neighbours
    sums: tuple[tuple[Server, float], ...]
    throughput: Throughput

    @classmethod
    def of(cls, model: Model, there: Neighbours) -> Self:
        sums, total = [], Throughput()
        for server, count in there.counts:
            # A server is no neighbour of itself.
            alone = (_product(model, server, there)
                     / model.cell(server, server.type))
            sums.append((server, count * alone))
            total = total.plus(server, count * alone)
        return cls(model, there, tuple(sums), total)

    def with_one(self, new: Server) -> Throughput:
        """The throughput with one server more."""
        total = Throughput().plus(
            new, _product(self.model, new, self.there))
        for server, amount in self.sums:
            total = total.plus(
                server, amount * self.model.cell(server, new.type))
        return total


def _product(model: Model, target: Server, there: Neighbours) -> float:
    """The cells of *target* over all of *there*, itself included."""
    product = 1.0
    for server, count in there.counts:
        product *= model.cell(target, server.type) ** count
    return product


def mix_of(hosts: Sequence[Neighbours | None], server: Server) -> Mix:
    """How probable each sort is as the next one: as often as it was seen.

    :param hosts: all hosts of a request; None: nothing is known of it
    :param server: that is being placed, which was seen, too
    """
    # What was decoded from one text is one object, as on many hosts.
    numbers = collections.Counter(map(id, hosts))
    seen = {server: 1}
    for there in {id(there): there for there in hosts}.values():
        if there is not None:
            for each, count in there.counts:
                seen[each] = seen.get(each, 0) + count * numbers[id(there)]
    total = sum(seen.values())
    return {each: count / total for each, count in seen.items()}


def weight(score: float) -> float:
    """A score as a weight in (0, 1]: the greater the one, the other too.

    It is the score itself from 1/2 on, so that a hundredth of a server is a
    hundredth of the multiplier.  Below it bends, without a kink, so that
    crowded hosts, where the neighbours lose more than the server has, are
    told apart and none is below 0, where Nova would cut it off.
    """
    if score >= 0.5:
        return min(score, 1.0)
    return 0.25 / (1.0 - score)
