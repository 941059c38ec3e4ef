# SPDX-License-Identifier: Apache-2.0

"""Requests and answers of servers over TCP, as Figure 4 of the paper.

A transaction is a request and its answer.  Unlike the paper's, that of a
server begins when the request arrives and not when it is read: what a
reservation decides is the time between.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import enum
import ipaddress
import struct

from rt_monitor import histogram
from rt_monitor import objects
from rt_monitor import servers as monitor_servers

_KEY = struct.Struct('=IHH16s')
_BYTES = struct.Struct('=QQ')
_STATS = struct.Struct('=QQQ')


class Role(enum.Enum):
    """Which end of its connections a server is; as the programs have it."""

    SERVER = 1
    CLIENT = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Peer:
    """Who is at the other end.

    :ivar address: None for all beyond the bounds
    :ivar port: of the service, at whichever end that is
    """

    role: Role
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
    port: int


@dataclasses.dataclass(frozen=True)
class Edge:
    """What a server and a peer said to each other.

    :ivar received: bytes that the server has read
    :ivar sent: bytes that it has given to the kernel
    :ivar took: how long transactions took
    """

    received: int = 0
    sent: int = 0
    took: histogram.Histogram = histogram.Histogram()

    def __add__(self, other: 'Edge') -> 'Edge':
        return Edge(self.received + other.received, self.sent + other.sent,
                    self.took + other.took)

    def since(self, before: 'Edge') -> 'Edge':
        """What came after an earlier look."""
        return Edge(self.received - before.received, self.sent - before.sent,
                    self.took.since(before.took))


@dataclasses.dataclass(frozen=True)
class Seen:
    """The transactions of a server.

    :ivar waiting: from the arrival of a request to its first read, as server
    :ivar first: from its arrival to the first of the answer, as server
    """

    edges: Mapping[Peer, Edge] = dataclasses.field(default_factory=dict)
    waiting: histogram.Histogram = histogram.Histogram()
    first: histogram.Histogram = histogram.Histogram()

    def total(self, role: Role) -> Edge:
        """With all peers together."""
        return sum((edge for peer, edge in self.edges.items()
                    if peer.role is role), Edge())

    def __add__(self, other: 'Seen') -> 'Seen':
        return Seen({peer: self.edges.get(peer, Edge())
                     + other.edges.get(peer, Edge())
                     for peer in {**self.edges, **other.edges}},
                    self.waiting + other.waiting, self.first + other.first)

    def since(self, before: 'Seen') -> 'Seen':
        """What came after an earlier look."""
        return Seen({peer: edge.since(before.edges.get(peer, Edge()))
                     for peer, edge in self.edges.items()},
                    self.waiting.since(before.waiting),
                    self.first.since(before.first))


@dataclasses.dataclass(frozen=True, slots=True)
class Stats:
    """What is not exact.

    :ivar late: connections that were older than the programs
    :ivar beyond: transactions with peers beyond the bounds
    :ivar full: transactions that are missing
    """

    late: int = 0
    beyond: int = 0
    full: int = 0

    def __add__(self, other: 'Stats') -> 'Stats':
        return Stats(self.late + other.late, self.beyond + other.beyond,
                     self.full + other.full)


class Edges(objects.Source):
    """Programs that count transactions of servers with their peers."""

    def __init__(self) -> None:
        super().__init__()
        self._edges = self.object.map('edges')
        self._parts = self.object.map('parts')
        self._peers = self.object.map('peers')
        self._stats = self.object.map('stats')

    def forget(self, change: monitor_servers.Change) -> None:
        started = {*change.servers}
        for key in [*self._edges.keys()] if started else []:
            if _KEY.unpack(key)[0] in started:
                self._edges.remove(key)
        for server in started:
            self._parts.clear(objects.key(server))
            self._peers.clear(objects.key(server))

    def read(self, register: monitor_servers.Register) -> dict[str, Seen]:
        """All servers by their UUID, and ``other`` where there is any."""
        edges: dict[int, dict[Peer, Edge]] = {}
        for server, peer, edge in self._all_edges():
            edges.setdefault(server, {})[peer] = edge
        parts = objects.by_number(self._parts)
        return {uuid: _seen(edges.get(place.index, {}), parts[place.index])
                for uuid, place in self.concerned(register).items()}

    def concerned(self, register: monitor_servers.Register
                  ) -> Mapping[str, monitor_servers.Place]:
        """The servers that it knows something of."""
        return register.shown

    def stats(self) -> Stats:
        data = self._stats.get(objects.key(0))
        return Stats(*_STATS.unpack(data)) if data else Stats()

    def _all_edges(self) -> Iterator[tuple[int, Peer, Edge]]:
        for key, data in self._edges.items():
            server, role, port, peer = _KEY.unpack(key)
            if role:
                received, sent = _BYTES.unpack_from(data)
                yield server, Peer(Role(role), _address(peer), port), Edge(
                    received, sent,
                    histogram.Histogram.decode(data[_BYTES.size:]))


class Transactions(Edges):
    """What servers answer and ask for by sockets of this host."""

    name = 'tcp'

    def begin(self) -> None:
        # Who listens, and then who is connected to whom.
        for _ in range(2):
            self.object.walk('iter/task_file')


def _seen(edges: Mapping[Peer, Edge], parts: bytes) -> Seen:
    """A server, from its edges and ``struct parts``."""
    return Seen(edges, histogram.Histogram.decode(parts[:histogram.SIZE]),
                histogram.Histogram.decode(parts[histogram.SIZE:]))


def _address(data: bytes
             ) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address of a peer; IPv4 comes mapped into IPv6."""
    if not any(data):
        return None
    found = ipaddress.IPv6Address(data)
    return found.ipv4_mapped or found
