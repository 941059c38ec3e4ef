# SPDX-License-Identifier: Apache-2.0

"""nova-scheduler, with a view of the hosts that may be old."""

import collections
from typing import Any

import nova.conf
from nova import objects
from nova.scheduler import host_manager
from nova.scheduler import manager
import oslo_messaging as messaging
from oslo_utils.fixture import uuidsentinel as uuids

CONF = nova.conf.CONF


class HostManager(host_manager.HostManager):
    """Reads the compute nodes as they were at the last refresh."""

    def __init__(self, nodes: dict[str, Any]) -> None:
        self._nodes = nodes
        self._view: dict[str, Any] = {}
        super().__init__()
        self.refresh()

    def refresh(self) -> None:
        # A saved node is not changed, but replaced.
        self._view = dict(self._nodes)

    @property
    def view(self) -> dict[str, Any]:
        """Returns the compute nodes that the view knows, by uuid."""
        return self._view

    def refresh_cells_caches(self) -> None:
        cell = objects.CellMapping(uuid=uuids.cell, name='cell1')
        self.cells = {cell.uuid: cell}
        self.enabled_cells = [cell]

    def _init_aggregates(self) -> None:
        self.host_aggregates_map = collections.defaultdict(set)

    def _init_instance_info(self, computes_by_cell: Any = None) -> None:
        """Returns nothing: nobody asks which servers a host has."""

    def _get_instance_info(self, context: Any, compute: Any
                           ) -> dict[str, Any]:
        return {}

    def _get_host_states(self, *args: Any) -> Any:
        # Nova's hosts are in the order of a set, which no seed repeats.
        return iter(sorted(super()._get_host_states(*args),
                           key=lambda state: str(state.host)))

    def _get_computes_for_cells(self, context: Any, cells: Any,
                                compute_uuids: Any) -> Any:
        found = [self._view[uuid] for uuid in compute_uuids]
        return ({uuids.cell: found},
                {node.host: {'host': node.host} for node in found})

    def get_compute_nodes_by_host_or_node(
            self, context: Any, host: Any, node: Any, cell: Any = None
            ) -> Any:
        return objects.ComputeNodeList(objects=[
            each for each in self._view.values() if each.host == host])


class Scheduler(manager.SchedulerManager):
    """One of several schedulers, without messages and services."""

    placement_client: Any = None

    def __init__(self, cloud: Any) -> None:
        self.host_manager = HostManager(cloud.store.nodes)
        self.placement_client = cloud.placement
        self._context = cloud.context

    def refresh(self) -> None:
        """Reads the database."""
        self.host_manager.refresh()

    def select(self, spec: Any, wanted: list[str]) -> list[list[Any]]:
        """Returns a host and alternates for each server.

        :raises NoValidHost: some do not fit
        """
        try:
            return list(self.select_destinations(
                self._context, spec_obj=spec, instance_uuids=wanted,
                return_objects=True, return_alternates=True))
        except messaging.ExpectedException as expected:
            # The result has the form that the conductor gets.
            raise expected.exc_info[1] from None

    def _select_destinations(self, *args: Any, **kwargs: Any) -> Any:
        return self._schedule(*args, **kwargs)
