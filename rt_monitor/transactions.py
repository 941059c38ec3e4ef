# SPDX-License-Identifier: Apache-2.0

"""Requests and answers of servers over TCP, as in Figure 4 of the paper.

A transaction is a request and its answer.  In the paper, the transaction of a
server begins when the server reads the request.  In this module, the
transaction begins when the request arrives, because the time until the server
reads the request depends on the reservation.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import enum
import ipaddress
import struct
import types
from typing import TypeVar

from rt_monitor import histogram
from rt_monitor import objects
from rt_monitor import servers as monitor_servers

_Key = TypeVar('_Key')
#: ``struct edge_key``: server, role, port, peer.
_KEY = struct.Struct('=IHH16s')
#: ``struct edge`` before its traffic: begun, place, used.
_EDGE = struct.Struct('=QQQ')
#: ``struct traffic`` before its times: in, out, unclear.
_TRAFFIC = struct.Struct('=QQQ')
#: The end of ``struct sums``: late, beyond, answers.
_STATS = struct.Struct('=QQQ')
_TRAFFIC_SIZE = _TRAFFIC.size + histogram.SIZE
#: Of a hundred requests, the events of one may be missing.
_MISSED_PART = 0.01


def too_many(missed: int, requests: int) -> bool:
    """Checks whether events are missing in more than a hundredth of requests.

    :param missed: the events of connections that the programs did not get
    """
    return missed > _MISSED_PART * requests


class Role(enum.Enum):
    """The role of a server in a connection; values as in the programs."""

    SERVER = 1
    CLIENT = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Peer:
    """The other end of connections of a server.

    :ivar role: the role of the server itself
    :ivar address: the address of the peer; None for all peers beyond the
        bounds
    :ivar port: the port of the service, at whichever end the service is;
        None for all peers beyond the bounds
    """

    role: Role
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
    port: int | None


@dataclasses.dataclass(frozen=True)
class Edge:
    """The transactions of a server with a peer.

    :ivar received: bytes that the server has read
    :ivar sent: bytes that the server has given to the kernel
    :ivar took: the times that transactions took
    :ivar unclear: exchanges on connections that cannot be read as one request
        after another, for example with TLS; they are not in *took*. If this
        number is not 0, the rate and the times do not cover all requests.
    :ivar begun: a number that changes whenever the counts start again
    """

    received: int = 0
    sent: int = 0
    took: histogram.Histogram = histogram.Histogram()
    unclear: int = 0
    begun: int = dataclasses.field(default=0, compare=False)

    def __add__(self, other: 'Edge') -> 'Edge':
        return Edge(self.received + other.received, self.sent + other.sent,
                    self.took + other.took, self.unclear + other.unclear)

    def since(self, before: 'Edge') -> 'Edge':
        """Returns the counts since an earlier reading."""
        if self.begun != before.begun:
            return self
        return Edge(self.received - before.received, self.sent - before.sent,
                    self.took.since(before.took),
                    self.unclear - before.unclear, self.begun)


@dataclasses.dataclass(frozen=True, slots=True)
class TransactionStats:
    """Numbers of connections and transactions of a server.

    :ivar late: connections that were open before their server was watched
    :ivar beyond: transactions with peers beyond the bounds
    :ivar answers: answers that the server has begun.  A transaction counts
        only when the next request of its connection arrives, or when the
        connection ends.
    """

    late: int = 0
    beyond: int = 0
    answers: int = 0

    def __add__(self, other: 'TransactionStats') -> 'TransactionStats':
        return TransactionStats(self.late + other.late,
                                self.beyond + other.beyond,
                                self.answers + other.answers)

    def since(self, before: 'TransactionStats') -> 'TransactionStats':
        """Returns the counts since an earlier reading."""
        return TransactionStats(self.late - before.late,
                                self.beyond - before.beyond,
                                self.answers - before.answers)


@dataclasses.dataclass(frozen=True)
class ServerTransactions:
    """The transactions of a server.

    :ivar edges: the transactions by peer, as far as the server has places
        for its peers
    :ivar waiting: the times from the arrival of a request to its first read,
        in the role of the server
    :ivar first: the times from the arrival of a request to the first byte of
        its answer, in the role of the server
    :ivar sums: all transactions by role, with and without an edge; empty if
        all transactions have an edge
    """

    edges: Mapping[Peer, Edge] = dataclasses.field(default_factory=dict)
    waiting: histogram.Histogram = histogram.Histogram()
    first: histogram.Histogram = histogram.Histogram()
    sums: Mapping[Role, Edge] = dataclasses.field(default_factory=dict)
    stats: TransactionStats = TransactionStats()

    def total(self, role: Role) -> Edge:
        """Returns the transactions with all peers together, in this role."""
        if self.sums:
            return self.sums.get(role, Edge())
        return sum((edge for peer, edge in self.edges.items()
                    if peer.role is role), Edge())

    @property
    def peers(self) -> Mapping[Peer, Edge]:
        """The edges, and one peer for all transactions without an edge."""
        peers = dict(self.edges)
        for role, whole in self.sums.items() if self.stats.beyond else ():
            known = sum((edge for peer, edge in self.edges.items()
                         if peer.role is role), Edge())
            rest = Edge(whole.received - known.received,
                        whole.sent - known.sent,
                        whole.took.without(known.took),
                        whole.unclear - known.unclear)
            if rest.took.count or rest.unclear:
                peers[Peer(role, None, None)] = rest
        return peers

    def __add__(self, other: 'ServerTransactions') -> 'ServerTransactions':
        return ServerTransactions(
            _joined(self.edges, other.edges), self.waiting + other.waiting,
            self.first + other.first, _joined(self.sums, other.sums),
            self.stats + other.stats)

    def since(self, before: 'ServerTransactions') -> 'ServerTransactions':
        """Returns the counts since an earlier reading."""
        return ServerTransactions(
            _after(self.edges, before.edges),
            self.waiting.since(before.waiting),
            self.first.since(before.first), _after(self.sums, before.sums),
            self.stats.since(before.stats))


def _joined(one: Mapping[_Key, Edge], other: Mapping[_Key, Edge]
            ) -> dict[_Key, Edge]:
    return {key: one.get(key, Edge()) + other.get(key, Edge())
            for key in {**one, **other}}


def _after(now: Mapping[_Key, Edge], before: Mapping[_Key, Edge]
           ) -> dict[_Key, Edge]:
    return {key: edge.since(before[key]) if key in before else edge
            for key, edge in now.items()}


class Edges(objects.ProgramSource):
    """A source of transactions: reads them from the maps of its programs."""

    def __init__(self) -> None:
        super().__init__()
        self._edges = self.object.map('edges')
        self._sums = self.object.map('sums')
        self._peers = self.object.map('peers')

    def forget(self, change: monitor_servers.Change) -> None:
        started = {*change.servers}
        for key in [*self._edges.keys()] if started else []:
            if _KEY.unpack(key)[0] in started:
                self._edges.remove(key)
        for server in started:
            self._sums.clear(objects.key(server))
            self._peers.clear(objects.key(server))

    def read(self, register: monitor_servers.Register,
             with_edges: bool = True) -> dict[str, ServerTransactions]:
        """Returns the transactions of all servers by UUID.

        The servers beyond the bounds have the name ``other``.

        :param with_edges: whether to read the edges, too, which are many
        """
        edges: dict[int, dict[Peer, Edge]] = {}
        # Before the sums, so that no edge has more than the sums.
        for server, peer, edge in self._all_edges() if with_edges else ():
            edges.setdefault(server, {})[peer] = edge
        return {uuid: _transactions(edges.get(place.index, {}), data)
                for uuid, place in self.concerned(register).items()
                if (data := self._sums.get(objects.key(place.index)))}

    def concerned(self, register: monitor_servers.Register
                  ) -> Mapping[str, monitor_servers.Place]:
        """Returns the places of the servers that the source counts for."""
        return register.shown

    def _all_edges(self) -> Iterator[tuple[int, Peer, Edge]]:
        for key, data in self._edges.items():
            server, role, port, peer = _KEY.unpack(key)
            if role:
                begun, *_ = _EDGE.unpack_from(data)
                yield server, Peer(Role(role), _address(peer), port), _edge(
                    data[_EDGE.size:], begun)


class Transactions(Edges):
    """The transactions of servers whose sockets are in this kernel."""

    name = 'tcp'
    instead = types.MappingProxyType({'on_send': 'on_send_call'})

    def begin(self) -> None:
        # The first walk finds the listening sockets.  The second walk needs
        # them to tell the roles of open connections.
        for _ in range(2):
            self.object.walk('iter/task_file')


def _transactions(edges: Mapping[Peer, Edge], sums: bytes
                  ) -> ServerTransactions:
    """Returns a server from its edges and the bytes of ``struct sums``."""
    both = 2 * _TRAFFIC_SIZE
    waiting, first = (
        histogram.Histogram.decode(sums[begin:begin + histogram.SIZE])
        for begin in (both, both + histogram.SIZE))
    return ServerTransactions(edges, waiting, first, {
        Role.SERVER: _edge(sums[:_TRAFFIC_SIZE]),
        Role.CLIENT: _edge(sums[_TRAFFIC_SIZE:both])},
        TransactionStats(*_STATS.unpack_from(sums, both + 2 * histogram.SIZE)))


def _edge(data: bytes, begun: int = 0) -> Edge:
    """Returns the traffic in the bytes of ``struct traffic``."""
    received, sent, unclear = _TRAFFIC.unpack_from(data)
    return Edge(received, sent, histogram.Histogram.decode(
        data[_TRAFFIC.size:_TRAFFIC_SIZE]), unclear, begun)


def _address(data: bytes) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Returns the address of a peer; IPv4 comes mapped into IPv6."""
    address = ipaddress.IPv6Address(data)
    return address.ipv4_mapped or address
