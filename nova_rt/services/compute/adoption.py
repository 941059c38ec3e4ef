# SPDX-License-Identifier: Apache-2.0

"""Gives a server the claim and the NUMA cells that were made for its host.

If nova-compute is killed in the middle of a move, the server may be on one
host while its claim and its NUMA topology are those of the other host.  Nova
would then start the guest in the wrong cells.
"""

from collections.abc import Collection, Iterator
from typing import Any

from nova import objects

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.services.compute import claims

#: The attributes of a server that :func:`adopt` sets.
ATTRIBUTES = ('resources', 'numa_topology')


def adopt(instance: Any, host: str, providers: Collection[str]
          ) -> claims.RTClaim | None:
    """Sets the claim and the cells of a server on this host, in memory.

    :param providers: uuids of the compute nodes of the host
    :returns: the claim that the server has now; None if nothing has changed
    """
    try:
        ours = claims.on_host(instance, host, providers)
        now = claims.instance_claim(instance)
    except exception.InvalidClaim:
        return None  # The tracker reports the claim.
    if now is None or ours is None or ours == now:
        return None
    for resources, topology in _sides(instance.migration_context):
        matching = [resource for resource in resources
                    if resource.identifier == ours.identifier]
        if matching:
            instance.resources = objects.ResourceList(objects=[
                *(resource for resource in instance.resources or ()
                  if resource.resource_class != hostmap.RESOURCE_CLASS),
                *matching])
            instance.numa_topology = topology
            return ours
    return None


def _sides(context: Any) -> Iterator[tuple[Any, Any]]:
    """Yields the resources and the topology on both hosts of a move."""
    for resources, topology in (
            (context.new_resources, context.new_numa_topology),
            (context.old_resources, context.old_numa_topology)):
        yield resources or (), topology
