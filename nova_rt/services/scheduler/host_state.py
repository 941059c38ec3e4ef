# SPDX-License-Identifier: Apache-2.0

"""The scheduler's view of a host, with its real-time bandwidth."""

from typing import Any

from nova.scheduler import host_manager

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import neighbours as rt_neighbours
from nova_rt.rules import packing
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from nova_rt.services.scheduler import neighbours
from nova_rt.services.scheduler import request

_UNREAD = object()


class RTHostState(host_manager.HostState):
    """Nova's HostState with the paper's fields and the per-pCPU map.

    The map is read on first use: most requests have no reservation.
    """

    _rt_map: Any = _UNREAD
    _rt_neighbours: Any = _UNREAD

    @property
    def rt_map(self) -> hostmap.HostMap | None:
        """Bandwidth per pCPU; None for a host that offers none."""
        found: hostmap.HostMap | None = self._rt_map
        if found is _UNREAD:
            found = self._rt_map = hostmap.from_stats(self.stats or {})
        return found

    @property
    def rt_neighbours(self) -> rt_neighbours.Neighbours | None:
        """Who runs there; None where the host does not tell."""
        found: rt_neighbours.Neighbours | None = self._rt_neighbours
        if found is _UNREAD:
            found = self._rt_neighbours = rt_neighbours.from_stats(
                self.stats or {})
        return found

    @property
    def rt_share(self) -> float:
        """pCPUs that reservations may use."""
        return _pcpus(self.rt_map.state.total) if self.rt_map else 0.0

    @property
    def rt_share_used(self) -> float:
        """pCPUs that reservations use."""
        return _pcpus(self.rt_map.state.total_used) if self.rt_map else 0.0

    @property
    def free_rt_share(self) -> float:
        """pCPUs that are left, over all of them.

        As the paper's filter reads it; a filter of an operator may, too.
        """
        return self.rt_share - self.rt_share_used

    def _update_from_compute_node(self, compute: Any) -> None:
        super()._update_from_compute_node(compute)
        self._rt_map = _UNREAD
        self._rt_neighbours = _UNREAD

    def _locked_consume_from_request(self, spec_obj: Any) -> None:
        super()._locked_consume_from_request(spec_obj)
        wanted = request.reservation_of(spec_obj)
        if wanted is not None and self.rt_map is not None:
            self._rt_map = consumed(self.rt_map, spec_obj.flavor.vcpus,
                                    wanted)
        placed = neighbours.placed(spec_obj)
        if placed is not None and self.rt_neighbours is not None:
            self._rt_neighbours = self.rt_neighbours.plus(placed[0])


def _pcpus(ppm: int) -> float:
    return ppm / reservation.PPM


def of_stats(host_state: Any) -> hostmap.HostMap | None:
    """The map of any HostState, ours or Nova's."""
    return hostmap.from_stats(getattr(host_state, 'stats', None) or {})


def map_of(host_state: Any) -> hostmap.HostMap | None:
    """The map with what this request consumed, where the host keeps it."""
    if isinstance(host_state, RTHostState):
        return host_state.rt_map
    return of_stats(host_state)


def neighbours_of(host_state: Any) -> rt_neighbours.Neighbours | None:
    """Who runs there, with what this request brought, where that is kept."""
    if isinstance(host_state, RTHostState):
        return host_state.rt_neighbours
    return rt_neighbours.from_stats(getattr(host_state, 'stats', None) or {})


def time_left(host_state: Any, taken: int) -> tuple[float, float]:
    """The part of its CPU time that reservations leave: now, and then.

    :param taken: ppm of a pCPU that a server would reserve in all
    :returns: 1 and 1 for a host that tells nothing of reservations
    """
    known = map_of(host_state)
    if known is None:
        return 1.0, 1.0
    left = known.left
    if not taken or not known.state.used:
        return left, left
    # It may be too much, where a cap was lowered.
    return left, max(0.0, left - taken / (
        reservation.PPM * len(known.state.used)))


def has_room(host_state: Any, vcpus: int, memory_mb: int) -> bool:
    """Whether two such servers fit, by Nova's counts of vCPUs and memory.

    That is, whether one is not the last.
    """
    found: bool = (
        host_state.free_ram_mb + host_state.total_usable_ram_mb
        * (host_state.ram_allocation_ratio - 1.0) >= 2 * memory_mb
        and host_state.vcpus_total * host_state.cpu_allocation_ratio
        - host_state.vcpus_used >= 2 * vcpus)
    return found


def consumed(host: hostmap.HostMap, vcpus: int,
             wanted: reservation.Reservation) -> hostmap.HostMap:
    """The map after the claim that the compute node will make."""
    chosen = cpus.fit(host.state, vcpus, wanted, _policy(host.policy))
    if chosen is None:
        return host  # admission is the filter's
    return hostmap.HostMap(host.state.claim(chosen, wanted), host.policy)


def _policy(name: str) -> cpus.Policy:
    try:
        return packing.load(name)
    except LookupError:
        # A policy installed on the compute nodes only: any choice is close
        # enough for the few servers of one request.
        return policies.first_fit


def install() -> None:
    """Let Nova's HostManager make RTHostState; may be called again."""
    host_manager.HostManager.host_state_cls = _host_state_cls


def _host_state_cls(self: Any, host: str, node: str, cell: str,
                    **kwargs: Any) -> RTHostState:
    return RTHostState(host, node, cell)
