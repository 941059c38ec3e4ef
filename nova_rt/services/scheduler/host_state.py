# SPDX-License-Identifier: Apache-2.0

"""Keeps the map and the neighbours of a host in the scheduler's HostState."""

import dataclasses
from typing import Any

from nova.scheduler import host_manager

from nova_rt.rules import cpus
from nova_rt.rules import division
from nova_rt.rules import hostmap
from nova_rt.rules import neighbours as rt_neighbours
from nova_rt.rules import packing
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from nova_rt.services.compute import numa
from nova_rt.services.scheduler import neighbours
from nova_rt.services.scheduler import numa as numa_request
from nova_rt.services.scheduler import request

_UNREAD = object()


class RTHostState(host_manager.HostState):
    """Nova's HostState with the paper's fields and the per-pCPU map.

    The map is decoded when it is first used, because most requests have no
    reservation.
    """

    _rt_map: Any = _UNREAD
    _rt_neighbours: Any = _UNREAD

    @property
    def rt_map(self) -> hostmap.HostMap | None:
        """The bandwidth of each pCPU; None if the host publishes no map."""
        host_map: hostmap.HostMap | None = self._rt_map
        if host_map is _UNREAD:
            host_map = self._rt_map = hostmap.from_stats(self.stats or {})
        return host_map

    @property
    def rt_neighbours(self) -> rt_neighbours.Neighbours | None:
        """The servers with a type on the host; None if it publishes none."""
        beside: rt_neighbours.Neighbours | None = self._rt_neighbours
        if beside is _UNREAD:
            beside = self._rt_neighbours = rt_neighbours.from_stats(
                self.stats or {})
        return beside

    @property
    def rt_share(self) -> float:
        """The share that reservations may use, in pCPUs."""
        return _pcpus(self.rt_map.state.total) if self.rt_map else 0.0

    @property
    def rt_share_used(self) -> float:
        """The share that reservations use, in pCPUs."""
        return _pcpus(self.rt_map.state.total_used) if self.rt_map else 0.0

    @property
    def free_rt_share(self) -> float:
        """The share that is free on all pCPUs together, in pCPUs.

        The paper's filter reads this value, and an operator's own filter may
        read it, too.
        """
        return self.rt_share - self.rt_share_used

    def _update_from_compute_node(self, compute: Any) -> None:
        super()._update_from_compute_node(compute)
        self._rt_map = _UNREAD
        self._rt_neighbours = _UNREAD

    def _locked_consume_from_request(self, spec_obj: Any) -> None:
        wanted, chosen = request.reservation_of(spec_obj), None
        host_map = None if wanted is None else self.rt_map
        if wanted is not None and host_map is not None:
            # RTShareFilter decides on admission, not this method.
            chosen = numa.fit(
                self._rt_question(spec_obj), host_map.state,
                request.split(spec_obj), wanted, _policy(host_map.policy))
            if chosen is not None:
                divisor = cpus.divisor(host_map.state, chosen.cpus, wanted)
                self._rt_map = dataclasses.replace(
                    host_map, state=host_map.state.claim(
                        chosen.cpus, division.divided(wanted, divisor)))
        with numa_request.showing(self, chosen):
            super()._locked_consume_from_request(spec_obj)
        placed = neighbours.placed(spec_obj)
        if placed is not None and self.rt_neighbours is not None:
            self._rt_neighbours = self.rt_neighbours.plus(placed[0])

    def _rt_question(self, spec_obj: Any) -> numa.Question | None:
        if request.topology_of(spec_obj) is None or not self.numa_topology:
            return None
        return numa_request.host_question(
            self, spec_obj, spec_obj.get_request_group_mapping())


def _pcpus(ppm: int) -> float:
    return ppm / reservation.PPM


def published_map(host_state: Any) -> hostmap.HostMap | None:
    """Returns the map that a host published, from any class of HostState."""
    return hostmap.from_stats(getattr(host_state, 'stats', None) or {})


def map_of(host_state: Any) -> hostmap.HostMap | None:
    """Returns the map of a host.

    An RTHostState also counts what the current request has consumed.
    """
    if isinstance(host_state, RTHostState):
        return host_state.rt_map
    return published_map(host_state)


def neighbours_of(host_state: Any) -> rt_neighbours.Neighbours | None:
    """Returns the neighbours on a host.

    An RTHostState also counts the servers that the current request placed.
    """
    if isinstance(host_state, RTHostState):
        return host_state.rt_neighbours
    return rt_neighbours.from_stats(getattr(host_state, 'stats', None) or {})


def time_left(host_state: Any, taken: int) -> tuple[float, float]:
    """Returns the part of a host's CPU time that is not reserved.

    :param taken: ppm of a pCPU that a server reserves for all its vCPUs
    :returns: the part before and after the server is placed; 1 and 1 for a
        host without a map
    """
    host_map = map_of(host_state)
    if host_map is None:
        return 1.0, 1.0
    left = host_map.left
    if not taken or not host_map.state.used:
        return left, left
    # The server may not fit, for example after a cap was lowered.
    return left, max(0.0, left - taken / (
        reservation.PPM * len(host_map.state.used)))


def has_room(host_state: Any, vcpus: int, memory_mb: int) -> bool:
    """Checks whether a host has room for two servers of this size.

    The second one is the server that is being placed; sizes count as in Nova.
    """
    two_fit: bool = (
        host_state.free_ram_mb + host_state.total_usable_ram_mb
        * (host_state.ram_allocation_ratio - 1.0) >= 2 * memory_mb
        and host_state.vcpus_total * host_state.cpu_allocation_ratio
        - host_state.vcpus_used >= 2 * vcpus)
    return two_fit


def _policy(name: str) -> cpus.Policy:
    try:
        return packing.load(name)
    except LookupError:
        # The policy is installed on the compute nodes only.  Any choice is
        # close enough for the few servers of one request.
        return policies.first_fit


def install() -> None:
    """Makes Nova's HostManager use RTHostState; may be called repeatedly."""
    host_manager.HostManager.host_state_cls = _host_state_cls


def _host_state_cls(self: Any, host: str, node: str, cell: str,
                    **kwargs: Any) -> RTHostState:
    return RTHostState(host, node, cell)
