# SPDX-License-Identifier: Apache-2.0

"""Requests and answers of servers over TCP, as in Figure 4 of the paper.

A transaction is a request and its answer.  In the paper, the transaction of a
server begins when the server reads the request.  Here it begins when the
request arrives, because the reservation decides about the time in between.
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
    """The end of a connection that a server is; values as in the programs."""

    SERVER = 1
    CLIENT = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Peer:
    """The other end of connections of a server.

    :ivar role: the role of the server itself
    :ivar address: the address of the peer; None for all peers beyond the
        bounds
    :ivar port: the port of the service, at whichever end the service is
    """

    role: Role
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
    port: int


@dataclasses.dataclass(frozen=True)
class Edge:
    """The transactions of a server with a peer.

    :ivar received: bytes that the server has read
    :ivar sent: bytes that the server has given to the kernel
    :ivar took: the times that transactions took
    :ivar unclear: exchanges on connections that cannot be read as one
        request after another, for example with TLS; they are not in *took*.
        Where this is not 0, the rate and the times are not those of all
        requests.
    """

    received: int = 0
    sent: int = 0
    took: histogram.Histogram = histogram.Histogram()
    unclear: int = 0

    def __add__(self, other: 'Edge') -> 'Edge':
        return Edge(self.received + other.received, self.sent + other.sent,
                    self.took + other.took, self.unclear + other.unclear)

    def since(self, before: 'Edge') -> 'Edge':
        """Returns the counts since an earlier look."""
        return Edge(self.received - before.received, self.sent - before.sent,
                    self.took.since(before.took),
                    self.unclear - before.unclear)


@dataclasses.dataclass(frozen=True)
class ServerTransactions:
    """The transactions of a server.

    :ivar edges: the transactions by peer
    :ivar waiting: the times from the arrival of a request to its first read,
        in the role of the server
    :ivar first: the times from the arrival of a request to the first byte of
        its answer, in the role of the server
    """

    edges: Mapping[Peer, Edge] = dataclasses.field(default_factory=dict)
    waiting: histogram.Histogram = histogram.Histogram()
    first: histogram.Histogram = histogram.Histogram()

    def total(self, role: Role) -> Edge:
        """Returns the transactions with all peers together, in this role."""
        return sum((edge for peer, edge in self.edges.items()
                    if peer.role is role), Edge())

    def __add__(self, other: 'ServerTransactions') -> 'ServerTransactions':
        return ServerTransactions({peer: self.edges.get(peer, Edge())
                                   + other.edges.get(peer, Edge())
                                   for peer in {**self.edges, **other.edges}},
                                  self.waiting + other.waiting,
                                  self.first + other.first)

    def since(self, before: 'ServerTransactions') -> 'ServerTransactions':
        """Returns the counts since an earlier look."""
        return ServerTransactions(
            {peer: edge.since(before.edges.get(peer, Edge()))
             for peer, edge in self.edges.items()},
            self.waiting.since(before.waiting),
            self.first.since(before.first))


@dataclasses.dataclass(frozen=True, slots=True)
class TransactionStats:
    """How many transactions are missing or not told apart.

    :ivar late: connections that were open before their server was watched
    :ivar beyond: transactions with peers beyond the bounds
    :ivar full: transactions that are missing, because the map is full
    """

    late: int = 0
    beyond: int = 0
    full: int = 0

    def __add__(self, other: 'TransactionStats') -> 'TransactionStats':
        return TransactionStats(self.late + other.late,
                                self.beyond + other.beyond,
                                self.full + other.full)


class Edges(objects.ProgramSource):
    """A source of transactions: reads them from the maps of its programs."""

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

    def read(self, register: monitor_servers.Register
             ) -> dict[str, ServerTransactions]:
        """Returns the transactions of all servers by UUID.

        The servers beyond the bounds have the name ``other``.
        """
        edges: dict[int, dict[Peer, Edge]] = {}
        for server, peer, edge in self._all_edges():
            edges.setdefault(server, {})[peer] = edge
        parts = objects.by_number(self._parts)
        return {uuid: _seen(edges.get(place.index, {}), parts[place.index])
                for uuid, place in self.concerned(register).items()}

    def concerned(self, register: monitor_servers.Register
                  ) -> Mapping[str, monitor_servers.Place]:
        """Returns the places of the servers that the source counts for."""
        return register.shown

    def stats(self) -> TransactionStats:
        """Returns how many transactions are missing or not told apart."""
        data = self._stats.get(objects.key(0))
        return TransactionStats(*(_STATS.unpack(data) if data else ()))

    def _all_edges(self) -> Iterator[tuple[int, Peer, Edge]]:
        for key, data in self._edges.items():
            server, role, port, peer = _KEY.unpack(key)
            if role:
                received, sent = _BYTES.unpack_from(data)
                yield server, Peer(Role(role), _address(peer), port), Edge(
                    received, sent,
                    histogram.Histogram.decode(data[_BYTES.size:]))


class Transactions(Edges):
    """The transactions of servers whose sockets are in this kernel."""

    name = 'tcp'

    def begin(self) -> None:
        # The first walk finds the listening sockets, by which the second one
        # tells the roles of open connections.
        for _ in range(2):
            self.object.walk('iter/task_file')


def _seen(edges: Mapping[Peer, Edge], parts: bytes) -> ServerTransactions:
    """Returns a server from its edges and the bytes of ``struct parts``."""
    return ServerTransactions(
        edges, histogram.Histogram.decode(parts[:histogram.SIZE]),
        histogram.Histogram.decode(parts[histogram.SIZE:]))


def _address(data: bytes
             ) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Returns the address of a peer; IPv4 comes mapped into IPv6."""
    if not any(data):
        return None
    address = ipaddress.IPv6Address(data)
    return address.ipv4_mapped or address
