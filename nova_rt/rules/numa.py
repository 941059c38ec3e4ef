# SPDX-License-Identifier: Apache-2.0

"""Chooses NUMA cells of a host for the cells of a server, and pCPUs in them.

A server with a NUMA topology has one or several cells of its own, and each of
them gets a cell of the host for its memory and its vCPUs.  Whether a cell of
the host has the memory, the pages and the devices is decided elsewhere; this
module knows which pCPUs have room for a reservation.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from nova_rt.rules import cpus
from nova_rt.rules import reservation

#: The pCPUs of each cell of a host, by the id of the cell.
Host = Mapping[int, Collection[int]]
#: The vCPUs with a reservation in each cell of a server.
Server = Sequence[Collection[int]]


def room(state: cpus.CpuBandwidth, wanted: reservation.Reservation,
         host: Host) -> dict[int, int]:
    """Returns how many pCPUs of each cell have room for *wanted*."""
    ids = {cpu for cpu, _ in cpus.room(state, wanted)}
    return {cell: len(ids.intersection(inside))
            for cell, inside in host.items()}


def has_everywhere(free: Mapping[int, int], server: Server) -> bool:
    """Checks whether each cell has room for each cell of the server.

    :param free: as :func:`room` returns it
    """
    most = max(map(len, server))
    return all(count >= most for count in free.values())


def able(free: Mapping[int, int], server: Server) -> list[list[int]]:
    """Returns, for each cell of the server, the cells with room for it."""
    return [[cell for cell, count in free.items() if count >= len(vcpus)]
            for vcpus in server]


def choose(candidates: Sequence[Sequence[int]],
           accepts: Callable[[frozenset[int]], bool]
           ) -> tuple[int, ...] | None:
    """Returns a different cell for each cell of a server; None for no way.

    The search is complete: it tries all ways.

    :param candidates: the cells that each cell of the server may get
    :param accepts: whether the server may have these cells, in any order;
        it is called at most once for the same cells
    """
    known: dict[frozenset[int], bool] = {}
    for order in _orders(candidates, ()):
        cells = frozenset(order)
        if cells not in known:
            known[cells] = accepts(cells)
        if known[cells]:
            return order
    return None


def _orders(candidates: Sequence[Sequence[int]], chosen: tuple[int, ...]
            ) -> Iterator[tuple[int, ...]]:
    if len(chosen) == len(candidates):
        yield chosen
        return
    for cell in candidates[len(chosen)]:
        if cell not in chosen:
            yield from _orders(candidates, (*chosen, cell))


def fit(state: cpus.CpuBandwidth, wanted: reservation.Reservation,
        policy: cpus.Policy, cells: Sequence[Collection[int]], server: Server
        ) -> tuple[int, ...] | None:
    """Chooses a pCPU of its own for each vCPU, inside the cells.

    :param cells: the pCPUs of the cell for each cell of the server
    :returns: the pCPU ids in the order of the vCPUs; None if a cell has no
        room
    """
    places: dict[int, int] = {}
    for inside, vcpus in zip(cells, server, strict=True):
        found = cpus.fit(state, len(vcpus), wanted, policy, inside)
        if found is None:
            return None
        places.update(zip(sorted(vcpus), found, strict=True))
    return tuple(places[vcpu] for vcpu in sorted(places))
