# SPDX-License-Identifier: Apache-2.0

"""Chooses NUMA cells of a host for the cells of a server, and pCPUs in them.

A server with a NUMA topology has one or several cells of its own, and each of
them gets a cell of the host for its memory and its vCPUs.  This module knows
which pCPUs have room for a reservation.  Other modules check whether a cell of
the host has the memory, the pages and the devices.
"""

from collections.abc import (
    Callable, Collection, Hashable, Mapping, Sequence)

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
           accepts: Callable[[frozenset[int]], bool],
           alike: Mapping[int, Hashable] | None = None
           ) -> tuple[int, ...] | None:
    """Returns a different cell for each cell of a server, or None.

    The search finds an assignment of cells if there is one.  The search leaves
    a branch as soon as a cell of the server has no cell left.  If several
    cells cannot be distinguished, the search tries only one of them.  If
    *accepts* accepts all cells, the time grows with a power of the number of
    cells.

    :param candidates: the cells that each cell of the server may get
    :param accepts: whether the server may have these cells, in any order;
        *accepts* is called at most once for the same cells
    :param alike: a value for each cell; *accepts* answers alike for two cells
        with the same value; None if *accepts* may answer differently for any
        two cells
    """
    return _Search(candidates, accepts, alike).extend(())


class _Search:
    """The state of one search.

    Cells are of one kind if *accepts* cannot tell them apart and the same
    cells of the server may get them.
    """

    def __init__(self, candidates: Sequence[Sequence[int]],
                 accepts: Callable[[frozenset[int]], bool],
                 alike: Mapping[int, Hashable] | None) -> None:
        self._candidates = candidates
        self._accepts = accepts
        cells = sorted(set().union(*candidates))
        kinds = [(cell if alike is None else alike.get(cell),
                  tuple(cell in some for some in candidates))
                 for cell in cells]
        numbers = {kind: number for number, kind in enumerate(
            dict.fromkeys(kinds))}
        self._kinds = {cell: numbers[kind]
                       for cell, kind in zip(cells, kinds, strict=True)}
        self._dead: set[tuple[int, ...]] = set()

    def extend(self, chosen: tuple[int, ...]) -> tuple[int, ...] | None:
        """Returns an assignment that begins with *chosen*, or None."""
        rest = self._candidates[len(chosen):]
        # Only the kinds of the chosen cells matter to what is left: not which
        # cell of a kind was chosen, and not for which cell of the server.
        state = tuple(sorted(self._kinds[cell] for cell in chosen))
        if state in self._dead:
            return None
        if not rest and self._accepts(frozenset(chosen)):
            return chosen
        if rest and has_way(rest, chosen):
            tried = set()
            for cell in rest[0]:
                if cell in chosen or self._kinds[cell] in tried:
                    continue
                tried.add(self._kinds[cell])
                longer = self.extend((*chosen, cell))
                if longer is not None:
                    return longer
        self._dead.add(state)
        return None


def has_way(candidates: Sequence[Sequence[int]],
            taken: Collection[int] = ()) -> bool:
    """Checks whether each cell of a server can get a cell of its own.

    The function searches augmenting paths in a bipartite graph: Kuhn, The
    Hungarian Method for the Assignment Problem (1955).

    :param candidates: the cells that each cell of the server may get
    :param taken: the cells that are no longer free
    """
    owners: dict[int, int] = {}

    def place(own: int, visited: set[int]) -> bool:
        for cell in candidates[own]:
            if cell in taken or cell in visited:
                continue
            visited.add(cell)
            if cell not in owners or place(owners[cell], visited):
                owners[cell] = own
                return True
        return False

    return all(place(own, set()) for own in range(len(candidates)))


def fit(state: cpus.CpuBandwidth, wanted: reservation.Reservation,
        policy: cpus.Policy, cells: Sequence[Collection[int]], server: Server
        ) -> tuple[int, ...] | None:
    """Chooses a pCPU of its own for each vCPU, inside the cells.

    The reservation must fit as it is, without a division for the kernel.

    :param cells: the pCPUs of the cell for each cell of the server
    :returns: the pCPU ids in the order of the vCPUs; None if a cell has no
        room
    """
    places: dict[int, int] = {}
    for inside, vcpus in zip(cells, server, strict=True):
        chosen = cpus.fit_undivided(
            state, len(vcpus), wanted, policy, inside)
        if chosen is None:
            return None
        places.update(zip(sorted(vcpus), chosen, strict=True))
    return tuple(places[vcpu] for vcpu in sorted(places))
