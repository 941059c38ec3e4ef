# SPDX-License-Identifier: Apache-2.0

"""Who runs on this compute node, for the schedulers: types by server.

nova-compute must not query RequestSpecs, so the type that a hint gives is
noted on the instance when it is built, as hints about reservations are.
"""

from collections.abc import Mapping
from typing import Any

from nova.compute import resource_tracker

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from nova_rt.rules import reservation
from nova_rt.rules import workload
from nova_rt.services.compute import request

#: Key of Instance.system_metadata, written at build.
HINT_KEY = 'nova_rt_vnf_type'


def note_hints(instance: Any, hints: Mapping[str, Any] | None) -> None:
    """Keep the type that a hint gives with the instance.

    The instance is saved by the build that follows.

    :param hints: as a RequestSpec has them; a bad one is passed over
    """
    said = reservation.stored_hints(hints).get(workload.TYPE_KEY)
    if isinstance(said, str) and workload.is_type(said):
        instance.system_metadata[HINT_KEY] = said


def server_of(instance: Any, flavor: Any) -> neighbours.Server | None:
    """What counts of a server with a flavor; None where it has no type."""
    noted = instance.system_metadata.get(HINT_KEY)
    try:
        said = workload.from_flavor_and_hints(
            flavor.extra_specs, {workload.TYPE_KEY: noted} if noted else {})
    except exception.InvalidWorkload:
        return None  # of a flavor made without our validators
    if said.vnf_type is None:
        return None
    return neighbours.Server(_kind(instance, flavor), said.vnf_type)


def _kind(instance: Any, flavor: Any) -> neighbours.Kind:
    try:
        if request.reservation_of(instance, flavor) is None:
            return neighbours.Kind.SHARED
    except exception.RTError:
        pass  # which is said where it is claimed
    return neighbours.Kind.RESERVED


class NeighbourTracker(resource_tracker.ResourceTracker):
    """Nova's tracker that knows the type of each server it counts.

    A server that moves is counted at both ends, once at each.  There is no
    __init__, as the tracker of a running manager becomes one of these.
    """

    _rt_servers: dict[str, neighbours.Server] | None = None

    def rt_neighbour_stats(self) -> dict[str, str]:
        """Stats of this host: the servers with a type that count here."""
        return {neighbours.KEY: neighbours.to_text(neighbours.Neighbours.of(
            (self._rt_servers or {}).values()))}

    def _rt_note(self, instance: Any, flavor: Any) -> None:
        """Count a server as what it is with *flavor*; None: no more."""
        if self._rt_servers is None:
            self._rt_servers = {}
        self._rt_servers.pop(instance.uuid, None)
        server = server_of(instance, flavor) if flavor is not None else None
        if server is not None:
            self._rt_servers[instance.uuid] = server

    # All of these are called with Nova's lock held.

    def _update_usage_from_instances(self, *args: Any, **kwargs: Any) -> Any:
        self._rt_servers = {}  # an audit begins
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
        # Nova publishes what is left before it forgets the server.
        stays = None
        if (instance.uuid in self.tracked_instances
                and instance.uuid in self.tracked_migrations):
            stays = (instance.old_flavor if prefix == 'new_'
                     else instance.new_flavor) or instance.flavor
        self._rt_note(instance, stays)
        super()._drop_move_claim(context, instance, nodename, flavor, prefix)
