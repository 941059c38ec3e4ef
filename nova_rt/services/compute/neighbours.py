# SPDX-License-Identifier: Apache-2.0

"""Publishes the types of the servers on this compute node.

The schedulers weigh hosts by these types.  nova-compute must not query
RequestSpecs.  So if a hint gives the type, the compute manager stores the type
with the instance when it builds the instance, as it does with hints about
reservations.
"""

from collections.abc import Mapping
from typing import Any

from nova.compute import resource_tracker

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from nova_rt.rules import reservation
from nova_rt.rules import workload
from nova_rt.services.compute import request

#: Key of Instance.system_metadata, written when a server is built.
HINT_KEY = 'nova_rt_vnf_type'


def note_hints(instance: Any, hints: Mapping[str, Any] | None) -> None:
    """Stores the type from a hint with the instance.

    The build that follows saves the instance.

    :param hints: as a RequestSpec has them; a bad type is ignored
    """
    vnf_type = reservation.stored_hints(hints).get(workload.TYPE_KEY)
    if isinstance(vnf_type, str) and workload.is_type(vnf_type):
        instance.system_metadata[HINT_KEY] = vnf_type


def server_of(instance: Any, flavor: Any) -> neighbours.Typed | None:
    """Returns kind and type of a server; None without a type."""
    noted = instance.system_metadata.get(HINT_KEY)
    try:
        vnf_type = workload.from_flavor_and_hints(
            flavor.extra_specs, {workload.TYPE_KEY: noted} if noted else {}
        ).vnf_type
    except exception.InvalidWorkload:
        return None  # The flavor was made without nova-rt's validators.
    if vnf_type is None:
        return None
    return neighbours.Typed(_kind(instance, flavor), vnf_type)


def _kind(instance: Any, flavor: Any) -> neighbours.Kind:
    try:
        if request.reservation_of(instance, flavor) is None:
            return neighbours.Kind.SHARED
    except exception.RTError:
        pass  # The claim reports the error.
    return neighbours.Kind.RESERVED


class NeighbourTracker(resource_tracker.ResourceTracker):
    """Nova's tracker with the type of each server that it counts.

    A server that moves is counted once on each of its two hosts.  The class
    has no __init__, because an object that exists already gets this class.
    """

    _rt_servers: dict[str, neighbours.Typed] | None = None

    def rt_neighbour_stats(self) -> dict[str, str]:
        """Returns the stats with the servers that have a type."""
        return {neighbours.KEY: neighbours.to_text(neighbours.Neighbours.count(
            (self._rt_servers or {}).values()))}

    def _rt_note(self, instance: Any, flavor: Any) -> None:
        """Counts a server by the type that *flavor* gives it.

        :param flavor: None if the server no longer counts here
        """
        if self._rt_servers is None:
            self._rt_servers = {}
        self._rt_servers.pop(instance.uuid, None)
        server = server_of(instance, flavor) if flavor is not None else None
        if server is not None:
            self._rt_servers[instance.uuid] = server

    # Nova calls all of the following methods with its lock held.

    def _update_usage_from_instances(self, *args: Any, **kwargs: Any) -> Any:
        self._rt_servers = {}  # An audit begins.
        return super()._update_usage_from_instances(*args, **kwargs)

    def _update_usage_from_instance(self, context: Any, instance: Any,
                                    nodename: str, is_removed: bool = False
                                    ) -> None:
        super()._update_usage_from_instance(
            context, instance, nodename, is_removed)
        self._rt_note(instance, instance.flavor if
                      instance.uuid in self.tracked_instances else None)

    def _update_usage_from_migration(self, context: Any, instance: Any,
                                     migration: Any, nodename: str) -> None:
        super()._update_usage_from_migration(
            context, instance, migration, nodename)
        if (instance.uuid in self.tracked_migrations
                and instance.uuid not in self.tracked_instances):
            arrives = migration.dest_compute == self.host
            self._rt_note(instance, self._get_flavor(
                instance, 'new_' if arrives else 'old_', migration))

    def _drop_move_claim(self, context: Any, instance: Any, nodename: str,
                         flavor: Any = None, prefix: str = 'new_') -> None:
        # super() publishes the stats before Nova forgets the server, so the
        # server is counted again first.
        stays = None
        if (instance.uuid in self.tracked_instances
                and instance.uuid in self.tracked_migrations):
            stays = (instance.old_flavor if prefix == 'new_'
                     else instance.new_flavor) or instance.flavor
        self._rt_note(instance, stays)
        super()._drop_move_claim(context, instance, nodename, flavor, prefix)
