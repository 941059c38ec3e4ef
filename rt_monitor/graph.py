# SPDX-License-Identifier: Apache-2.0

"""Computes which servers talk to each other, and which one saturates first.

The vertices are servers, and the addresses of other peers.  An edge leads from
the client to the server of a connection, on a port, and has the transactions
as each end saw them.  The graph also has the critical path.
"""

from collections.abc import Mapping
import dataclasses
import itertools

import networkx

from rt_monitor import operational
from rt_monitor import servers
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions

#: The vertex of all peers beyond the bounds.
OTHERS = 'others'


@dataclasses.dataclass(frozen=True, slots=True)
class Vertex:
    """A server of the graph.

    :ivar centre: the server as a service centre
    :ivar demand_s: D by its cores, for each request from outside; None if
        no request comes from outside
    :ivar own_s: CPU time for each request that the server answers; None if the
        server answers no request
    """

    name: str
    centre: operational.Centre
    demand_s: float | None
    own_s: float | None


@dataclasses.dataclass(frozen=True)
class Graph:
    """The transactions between servers of this host and their peers.

    :ivar edges: what each end saw, by (client, server, port); the port is
        None for peers beyond the bounds
    :ivar arrival_rate_hz: lambda, the requests per second from outside; None
        if some exchanges are unclear
    :ivar saturation: the rate at which the first server saturates, and the
        UUID of this server, in four ways: by the cores that servers can use,
        by the reservation if it is the tighter limit, with the time that
        servers lose to their present neighbours, and at worst; None if no
        server saturates, and where some exchanges are unclear
    :ivar unclear: the exchanges of servers that cannot be told apart as
        requests, by UUID; if there are any, the numbers that need all requests
        are not computed
    :ivar missed: the events of connections that are missing, if they are more
        than a hundredth of the requests; then these numbers are not computed
    """

    vertices: Mapping[str, Vertex]
    edges: Mapping[tuple[str, str, int | None],
                   Mapping[transactions.Role, transactions.Edge]]
    arrival_rate_hz: float | None
    saturation: Mapping[str, tuple[float, str] | None]
    unclear: Mapping[str, int] = dataclasses.field(default_factory=dict)
    missed: int = 0

    def directed(self, percentile: float) -> networkx.DiGraph:
        """Returns the slowest edge of each pair of vertices, in ns.

        The time is the time at the server of the connection or, if the server
        is not watched, the time at the client.

        :param percentile: the quantile of the times, from 0 to 1
        """
        directed = networkx.DiGraph()
        directed.add_nodes_from(self.vertices)
        for (asks, answers, _), ends in self.edges.items():
            edge = ends.get(transactions.Role.SERVER) or ends[
                transactions.Role.CLIENT]
            took = edge.took.quantile_ns(percentile)
            before = directed.get_edge_data(asks, answers, {'took': 0.0})
            if asks != answers:
                directed.add_edge(asks, answers,
                                  took=max(took, before['took']))
        return directed


def build(snapshot: monitor_snapshot.Snapshot, cores: int) -> Graph:
    """Returns the graph of the transactions in a snapshot.

    :param cores: the number of cores of this host
    """
    owners = {address: uuid for uuid, server in snapshot.servers.items()
              for address in server.addresses}
    edges: dict[tuple[str, str, int | None],
                dict[transactions.Role, transactions.Edge]] = {}
    for uuid, traffic in snapshot.answered.items():
        for peer, edge in traffic.peers.items():
            if not edge.took.count and not edge.unclear:
                continue
            other = str(peer.address) if peer.address else OTHERS
            other = owners.get(other, other)
            ends = ((other, uuid) if peer.role is transactions.Role.SERVER
                    else (uuid, other))
            both = edges.setdefault((*ends, peer.port), {})
            both[peer.role] = both.get(peer.role,
                                       transactions.Edge()) + edge
    unclear = {uuid: count for uuid, traffic in snapshot.answered.items()
               if (count := sum(traffic.total(role).unclear
                                for role in transactions.Role))}
    missed = _missed(snapshot)
    rate = None if unclear or missed else _outside(snapshot, edges)
    centres = {uuid: _centre(snapshot, uuid, cores)
               for uuid in snapshot.usages}
    vertices = {uuid: Vertex(
        _name(snapshot.servers.get(uuid), uuid), centre,
        operational.demand_s(centre.utilization, rate) if rate else None,
        _own_s(snapshot, uuid)) for uuid, centre in centres.items()}
    return Graph(vertices, edges, rate, {
        'cores': _saturation({uuid: centre.utilization
                              for uuid, centre in centres.items()}, rate),
        'reservation': _saturation({uuid: centre.tightest for uuid, centre
                                    in centres.items()}, rate),
        'neighbours': _saturation({uuid: centre.beside for uuid, centre
                                   in centres.items()}, rate),
        'worst': _saturation({uuid: centre.at_worst for uuid, centre
                              in centres.items() if centre.used_cpus},
                             rate)}, unclear, missed)


def _missed(snapshot: monitor_snapshot.Snapshot) -> int:
    """Returns the events that are missing, 0 if they are few."""
    requests = sum(traffic.total(role).took.count
                   for traffic in snapshot.answered.values()
                   for role in transactions.Role)
    missed = snapshot.missed_traffic(snapshot.answered)
    return missed if transactions.too_many(missed, requests) else 0


def _saturation(used: Mapping[str, float], rate: float | None
                ) -> tuple[float, str] | None:
    return None if rate is None else operational.saturation_rate_hz(
        used, rate)


def _outside(snapshot: monitor_snapshot.Snapshot,
             edges: Mapping[tuple[str, str, int | None], Mapping[
                 transactions.Role, transactions.Edge]]) -> float:
    """Returns the requests per second of peers that are not servers here."""
    return sum(ends[transactions.Role.SERVER].took.count
               for (asks, _, _), ends in edges.items()
               if asks not in snapshot.answered
               and transactions.Role.SERVER in ends) / snapshot.span_s


def _centre(snapshot: monitor_snapshot.Snapshot, uuid: str, cores: int
            ) -> operational.Centre:
    server = snapshot.servers.get(uuid)
    usage = snapshot.usages[uuid]
    # The vCPUs of a container do not limit how many of its threads run.
    is_vm = server is not None and not server.sockets
    return operational.Centre(
        usage.vcpus_ns / 1e9 / snapshot.span_s, cores,
        server.vcpus if server and is_vm else 0,
        server.reserved_cpus if server else None,
        usage.whole.lost_ns / 1e9 / snapshot.span_s)


def _name(server: servers.Watched | None, uuid: str) -> str:
    return server.name if server and server.name else uuid


def _own_s(snapshot: monitor_snapshot.Snapshot, uuid: str) -> float | None:
    traffic = snapshot.answered.get(uuid)
    total = traffic.total(transactions.Role.SERVER) if traffic else None
    count = total.took.count if total and not total.unclear else 0
    if not count:
        return None
    return snapshot.usages[uuid].vcpus_ns / 1e9 / count


def critical_path(graph: Graph, percentile: float) -> list[str]:
    """Returns the path whose fastest edge is slowest.

    The path is the widest path of the paper.  The path leads from an entry (a
    vertex to which no other sends requests) to an end (a vertex that sends no
    requests to others).  If several paths are equally wide, the function
    returns the longest path.  Where some exchanges are unclear or missing, the
    path is empty.

    :param percentile: the quantile of the times at the edges, from 0 to 1
    """
    if graph.unclear or graph.missed:
        return []
    directed = graph.directed(percentile)
    entries = [vertex for vertex, count in directed.in_degree() if not count]
    ends = {vertex for vertex, count in directed.out_degree() if not count}
    best: tuple[float, int, list[str]] = (0.0, 0, [])
    for entry in entries:
        for end in ends & networkx.descendants(directed, entry):
            path = _widest(directed, entry, end)
            narrowest = min(directed[one][two]['took']
                            for one, two in itertools.pairwise(path))
            best = max(best, (narrowest, len(path), path))
    return best[2]


def _widest(directed: networkx.DiGraph, entry: str, end: str) -> list[str]:
    widths = sorted({took for _, _, took in directed.edges(data='took')})
    path: list[str] = networkx.shortest_path(directed, entry, end)
    for width in widths:
        wide = networkx.DiGraph(
            (one, two) for one, two, took in directed.edges(data='took')
            if took >= width)
        if not (wide.has_node(entry) and wide.has_node(end)
                and networkx.has_path(wide, entry, end)):
            break
        path = networkx.shortest_path(wide, entry, end)
    return path
