# SPDX-License-Identifier: Apache-2.0

"""Builds the question that Nova's claim will ask about a host."""

import contextlib
from typing import Any

from nova import objects

from nova_rt.services.compute import numa


def host_question(host: Any, spec: Any, mapping: Any) -> numa.Question:
    """Returns the question that the compute node of *host* will ask.

    :param host: a HostState
    :param spec: a RequestSpec with a NUMA topology
    :param mapping: the providers of an allocation candidate
    """
    limits = host.limits.get('numa_topology')
    if limits is None:  # NUMATopologyFilter has not seen the host.
        limits = objects.NUMATopologyLimits(
            cpu_allocation_ratio=host.cpu_allocation_ratio,
            ram_allocation_ratio=host.ram_allocation_ratio)
        if 'network_metadata' in spec and spec.network_metadata:
            limits.network_metadata = spec.network_metadata
    requests = spec.pci_requests
    return numa.Question(
        host.numa_topology, spec.numa_topology, limits,
        list(requests.requests) if requests else [], host.pci_stats, mapping)


@contextlib.contextmanager
def showing(host: Any, chosen: numa.Chosen | None) -> Any:
    """Shows Nova only the chosen cells of a HostState.

    :param chosen: None to show all cells
    """
    if chosen is None or not chosen.cells:
        yield
        return
    whole = host.numa_topology
    host.numa_topology = objects.NUMATopology(cells=chosen.cells)
    try:
        yield
    finally:
        used = {cell.id: cell for cell in host.numa_topology.cells}
        host.numa_topology = objects.NUMATopology(cells=[
            used.get(cell.id, cell) for cell in whole.cells])
