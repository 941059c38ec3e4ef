# SPDX-License-Identifier: Apache-2.0

"""Asks Nova which NUMA cells of a host a server may have.

Nova takes the first cells that have the memory, the pages and the devices.  No
argument of Nova's fit function can say where a reservation has room.  So this
module asks Nova only about cells that have room, and then shows Nova's own
claim only the chosen cells.  The module never chooses a cell that Nova
refuses.
"""

from collections.abc import Collection, Hashable, Sequence
import contextlib
import copy
import dataclasses
import math
from typing import Any

from nova import objects
from nova.pci import request as pci_request
from nova.virt import hardware

from nova_rt.rules import cpus
from nova_rt.rules import numa
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from nova_rt.services.compute import vcpus

#: Where a server with a NUMA topology does not fit, for the operator.
IN_CELLS = (' in NUMA cells that have the memory, the pages and the devices '
            'of the server')
#: Nova may try at most this many orders of cells; 4 among 8 have 1680.
_MOST_ORDERS = 2000


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """The question of a claim or a filter about the NUMA cells of a host.

    :ivar host: the objects.NUMATopology of the host
    :ivar server: the objects.InstanceNUMATopology that the server asks for;
        it is never changed
    :ivar limits: the objects.NUMATopologyLimits, or None
    :ivar pci_requests: a list of objects.InstancePCIRequest
    :ivar pci_stats: the free devices of the host
    :ivar mapping: the providers of an allocation candidate; None after
        Placement has allocated
    """

    host: Any
    server: Any
    limits: Any = None
    pci_requests: Sequence[Any] = ()
    pci_stats: Any = None
    mapping: Any = None

    def ids(self, cells: Sequence[Any]) -> tuple[int, ...] | None:
        """Returns the cells that Nova would choose among *cells*, by id."""
        fitted = hardware.numa_fit_instance_to_host(
            objects.NUMATopology(cells=cells), copy.deepcopy(self.server),
            limits=self.limits, pci_requests=self.pci_requests,
            pci_stats=self.pci_stats, provider_mapping=self.mapping)
        return fitted and tuple(cell.id for cell in fitted.cells)

    def only(self, open_ids: Collection[int]) -> list[Any]:
        """Returns all cells of the host; Nova can choose only *open_ids*.

        The result includes the other cells, because Nova compares the networks
        of a server with those of all cells.
        """
        return [cell if cell.id in open_ids else _closed(cell)
                for cell in self.host.cells]

    def fits_together(self, ids: Collection[int]) -> bool:
        """Checks the devices and the networks of a server in these cells.

        Nova checks both for all cells of a server at once, whatever their
        order.
        """
        if self.pci_requests and self.pci_stats and (
                not self.pci_stats.support_requests(
                    self.pci_requests, self.mapping,
                    [objects.InstanceNUMACell(id=cell) for cell in ids])):
            return False
        networks = self._networks()
        return networks is None or (
            hardware._numa_cells_support_network_metadata(
                self.host, [cell for cell in self.host.cells
                            if cell.id in ids], networks))

    def alike(self) -> dict[int, Hashable]:
        """Returns the values of cells that :meth:`fits_together` uses."""
        special: set[Any] = set()
        if self.pci_requests and self.pci_stats:
            special = {pool.get('numa_node')
                       for pool in self.pci_stats.pools}
        return {cell.id: cell.id if cell.id in special else (
            _socket(cell), self._networks_of(cell))
            for cell in self.host.cells}

    def _networks(self) -> Any:
        if self.limits and 'network_metadata' in self.limits:
            return self.limits.network_metadata
        return None

    def _networks_of(self, cell: Any) -> Hashable:
        if self._networks() is None or 'network_metadata' not in cell:
            return None
        networks = cell.network_metadata
        return (frozenset(networks.physnets if 'physnets' in networks else ()),
                'tunneled' in networks and networks.tunneled)

    def fits_cell(self, cell: Any, own: Any) -> bool:
        """Checks if a cell has the memory, pages and CPUs for a server's cell.

        Devices and networks depend on all cells of a server.
        """
        limits = self.limits and objects.NUMATopologyLimits(
            cpu_allocation_ratio=self.limits.cpu_allocation_ratio,
            ram_allocation_ratio=self.limits.ram_allocation_ratio)
        server = objects.InstanceNUMATopology(cells=[own])
        if own is self.server.cells[0]:  # Nova puts the emulator there.
            server.emulator_threads_policy = _emulator(self.server)
        return dataclasses.replace(
            self, server=server, limits=limits, pci_requests=()
        ).ids([cell]) is not None


@dataclasses.dataclass(frozen=True, slots=True)
class Wish:
    """A reservation, and the pCPUs of the host that it may use.

    :ivar unreserved: the vCPUs without the reservation
    """

    state: cpus.CpuBandwidth
    wanted: reservation.Reservation
    unreserved: tuple[int, ...] = ()
    policy: cpus.Policy = policies.first_fit

    def room(self, host: Any) -> dict[int, int]:
        """Returns how many pCPUs of each cell have room."""
        return numa.room(self.state, self.wanted, {
            cell.id: cell.cpuset for cell in host.cells})

    def vcpus_of(self, server: Any) -> list[Collection[int]]:
        """Returns the vCPUs with the reservation, in each cell."""
        return [cell.total_cpus.difference(self.unreserved)
                for cell in server.cells]

    def fits_everywhere(self, host: Any, server: Any) -> bool:
        """Checks whether every cell of a host has room for any server cell.

        :param host: None for a host without cells
        """
        return host is not None and numa.has_everywhere(
            self.room(host), self.vcpus_of(server))


@dataclasses.dataclass(frozen=True, slots=True)
class Chosen:
    """The cells of a host for a server, and its pCPUs in them.

    :ivar cells: objects.NUMACell, in the order of the server's cells
    :ivar cpus: a pCPU for each vCPU with a reservation, in their order
    """

    cells: Sequence[Any]
    cpus: tuple[int, ...]


def claim_question(node: Any, pci_stats: Any, instance: Any, flavor: Any,
                   image_meta: Any, limits: Any) -> Question | None:
    """Returns the question of Nova's claim; None without a topology.

    :param node: the objects.ComputeNode
    :param flavor: the flavor of a move; None for a build
    """
    if flavor is None:
        server, requests = instance.numa_topology, instance.pci_requests
    else:
        server = hardware.numa_get_constraints(flavor, _meta(image_meta))
        requests = pci_request.get_pci_requests_from_flavor(flavor)
    if server is None:
        return None
    host = node.numa_topology and objects.NUMATopology.obj_from_db_obj(
        node.numa_topology)
    wanted = list(requests.requests) if requests else []
    if flavor is not None and instance.pci_requests:
        wanted += [each for each in instance.pci_requests.requests
                   if each.source == objects.InstancePCIRequest.NEUTRON_PORT]
    if isinstance(limits, objects.SchedulerLimits):
        limits = limits.to_dict()
    return Question(
        host, server, (limits or {}).get('numa_topology'), wanted, pci_stats)


def fit(question: Question | None, state: cpus.CpuBandwidth,
        split: vcpus.Split, wanted: reservation.Reservation,
        policy: cpus.Policy) -> Chosen | None:
    """Chooses a pCPU for each vCPU with the reservation.

    :param question: None for a server that may use all cells
    """
    if question is not None:
        return choose(question, Wish(state, wanted, split.unreserved, policy))
    chosen = cpus.fit(state, split.reserved, wanted, policy)
    return None if chosen is None else Chosen((), chosen)


def choose(question: Question, wish: Wish) -> Chosen | None:
    """Chooses cells that Nova accepts and that have room for the reservation.

    Nova's order of preference decides among the cells with room.  Another
    choice is made only for a server with several cells that does not fit in
    the cells that Nova prefers.
    """
    if not question.host:
        return None
    server = wish.vcpus_of(question.server)
    ids = _cells(question, numa.able(wish.room(question.host), server))
    if ids is None:
        return None
    by_id = {cell.id: cell for cell in question.host.cells}
    places = numa.fit(wish.state, wish.wanted, wish.policy,
                      [by_id[cell].cpuset for cell in ids], server)
    return None if places is None else Chosen(
        [by_id[cell] for cell in ids], places)


def show(node: Any, cells: Sequence[Any]) -> contextlib.ExitStack:
    """Shows only *cells* of a compute node, until the stack is closed.

    Nova tries as many cells as the server has in the order given.

    :param node: an objects.ComputeNode
    :param cells: objects.NUMACell; none to show all cells
    """
    stack = contextlib.ExitStack()
    if cells:
        stack.callback(setattr, node, 'numa_topology', node.numa_topology)
        node.numa_topology = objects.NUMATopology(cells=cells)._to_json()
    return stack


def _cells(question: Question, candidates: Sequence[Sequence[int]]
           ) -> tuple[int, ...] | None:
    """Returns the id of a cell that Nova accepts for each server cell.

    Nova tries all orders of cells.  So this function asks Nova only if the
    number of orders is small.

    :param candidates: the cells with room for each cell of the server
    """
    if not numa.has_way(candidates):
        return None
    if math.perm(len(question.host), len(candidates)) <= _MOST_ORDERS:
        ids = question.ids(question.only(set().union(*candidates)))
        if ids is None or all(cell in able for cell, able in zip(
                ids, candidates, strict=True)):
            return ids
    return _search(question, candidates)


def _search(question: Question, candidates: Sequence[Sequence[int]]
            ) -> tuple[int, ...] | None:
    by_id = {cell.id: cell for cell in question.host.cells}
    known: dict[tuple[int, Hashable], bool] = {}

    def fits_cell(cell: int, own: Any) -> bool:
        key = cell, _size(question, own)
        if key not in known:
            known[key] = question.fits_cell(by_id[cell], own)
        return known[key]

    return numa.choose(
        [[cell for cell in able if fits_cell(cell, own)]
         for able, own in zip(candidates, question.server.cells,
                              strict=True)],
        question.fits_together, question.alike())


def _size(question: Question, own: Any) -> Hashable:
    """Returns the values of a server's cell that Nova compares."""
    return (own is question.server.cells[0], len(own.cpuset),
            len(own.pcpuset), own.memory,
            *(getattr(own, name) if name in own else None for name in (
                'pagesize', 'cpu_policy', 'cpu_thread_policy')))


def _socket(cell: Any) -> Any:
    return cell.socket if 'socket' in cell else None


def _emulator(server: Any) -> Any:
    return (server.emulator_threads_policy
            if 'emulator_threads_policy' in server else None)


def _closed(cell: Any) -> Any:
    """Returns an empty cell that takes the place of another cell."""
    closed = objects.NUMACell(
        id=cell.id, cpuset=set(), pcpuset=set(), memory=0, cpu_usage=0,
        memory_usage=0, pinned_cpus=set(), siblings=[], mempages=[],
        socket=_socket(cell))
    if 'network_metadata' in cell:
        closed.network_metadata = cell.network_metadata
    return closed


def _meta(image_meta: Any) -> Any:
    if isinstance(image_meta, objects.ImageMeta):
        return image_meta
    return objects.ImageMeta.from_dict(image_meta or {})
