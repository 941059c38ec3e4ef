# SPDX-License-Identifier: Apache-2.0

"""Who talks to whom, which server saturates first, and the critical path.

Vertices are servers and addresses of others.  An edge leads from who asks to
who answers, on a port, with what either end saw of it.
"""

from collections.abc import Mapping
import dataclasses
import itertools

import networkx

from rt_monitor import look as monitor_look
from rt_monitor import operational
from rt_monitor import servers
from rt_monitor import transactions

#: Peers beyond the bounds.
OTHERS = 'others'


@dataclasses.dataclass(frozen=True, slots=True)
class Vertex:
    """A server of the graph.

    :ivar centre: how much of what it has is used
    :ivar demand_s: D of what it could use, of each request from outside;
        None where nobody outside asks
    :ivar own_s: CPU time of each request that it answers; None for none
    """

    name: str
    centre: operational.Centre
    demand_s: float | None
    own_s: float | None


@dataclasses.dataclass(frozen=True)
class Graph:
    """What is said between servers of this host and others.

    :ivar edges: by (who asks, who answers, port): what each end saw
    :ivar arrival_rate_hz: lambda, requests a second from outside
    :ivar saturation: the rate at which the first server saturates, and
        which, by what it could use and by what holds it back first,
        reservation included
    """

    vertices: Mapping[str, Vertex]
    edges: Mapping[tuple[str, str, int],
                   Mapping[transactions.Role, transactions.Edge]]
    arrival_rate_hz: float
    saturation: Mapping[str, tuple[float, str] | None]

    def directed(self, percentile: float) -> networkx.DiGraph:
        """The slowest edge of each pair, in ns, as the answering end saw.

        Where only the asking end was seen, as that saw it.
        """
        found = networkx.DiGraph()
        found.add_nodes_from(self.vertices)
        for (asks, answers, _), ends in self.edges.items():
            edge = ends.get(transactions.Role.SERVER) or ends[
                transactions.Role.CLIENT]
            took = edge.took.quantile_ns(percentile)
            before = found.get_edge_data(asks, answers, {'took': 0.0})
            if asks != answers:
                found.add_edge(asks, answers,
                               took=max(took, before['took']))
        return found


def build(look: monitor_look.Look, cores: int) -> Graph:
    """The graph of a look between two moments."""
    owners = {address: uuid for uuid, server in look.servers.items()
              for address in server.addresses}
    edges: dict[tuple[str, str, int],
                dict[transactions.Role, transactions.Edge]] = {}
    for uuid, seen in look.answered.items():
        for peer, edge in seen.edges.items():
            if not edge.took.count:
                continue
            other = str(peer.address) if peer.address else OTHERS
            other = owners.get(other, other)
            ends = ((other, uuid) if peer.role is transactions.Role.SERVER
                    else (uuid, other))
            both = edges.setdefault((*ends, peer.port), {})
            both[peer.role] = both.get(peer.role,
                                       transactions.Edge()) + edge
    rate = _outside(look, edges)
    centres = {uuid: _centre(look, uuid, cores) for uuid in look.seen}
    vertices = {uuid: Vertex(
        _name(look.servers.get(uuid), uuid), centre,
        operational.demand_s(centre.utilization, rate) if rate else None,
        _own_s(look, uuid)) for uuid, centre in centres.items()}
    return Graph(vertices, edges, rate, {
        'cores': operational.saturation_rate_hz(
            {uuid: one.utilization for uuid, one in centres.items()}, rate),
        'reservation': operational.saturation_rate_hz(
            {uuid: one.tightest for uuid, one in centres.items()}, rate)})


def _outside(look: monitor_look.Look,
             edges: Mapping[tuple[str, str, int], Mapping[
                 transactions.Role, transactions.Edge]]) -> float:
    """Requests a second of those who are no servers here."""
    return sum(ends[transactions.Role.SERVER].took.count
               for (asks, _, _), ends in edges.items()
               if asks not in look.answered
               and transactions.Role.SERVER in ends) / look.span_s


def _centre(look: monitor_look.Look, uuid: str, cores: int
            ) -> operational.Centre:
    server = look.servers.get(uuid)
    return operational.Centre(
        look.seen[uuid].whole.totals.ran / 1e9 / look.span_s, cores,
        server.vcpus if server else 0,
        server.reserved_cpus if server else None)


def _name(server: servers.Server | None, uuid: str) -> str:
    return server.name if server and server.name else uuid


def _own_s(look: monitor_look.Look, uuid: str) -> float | None:
    seen = look.answered.get(uuid)
    count = seen.total(transactions.Role.SERVER).took.count if seen else 0
    if not count:
        return None
    return look.seen[uuid].whole.totals.ran / 1e9 / count


def critical_path(graph: Graph, percentile: float) -> list[str]:
    """The path from an entry to a last server whose fastest edge is slowest.

    The widest path, as the paper has it, over all entries (which none asks)
    and ends (which ask none); the longer one of equals.
    """
    directed = graph.directed(percentile)
    entries = [one for one, count in directed.in_degree() if not count]
    ends = {one for one, count in directed.out_degree() if not count}
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
    found: list[str] = networkx.shortest_path(directed, entry, end)
    for width in widths:
        left = networkx.DiGraph(
            (one, two) for one, two, took in directed.edges(data='took')
            if took >= width)
        if not (left.has_node(entry) and left.has_node(end)
                and networkx.has_path(left, entry, end)):
            break
        found = networkx.shortest_path(left, entry, end)
    return found
