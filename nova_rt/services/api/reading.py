# SPDX-License-Identifier: Apache-2.0

"""Reads the reservations of hosts and servers from the cells of Nova.

This module computes nothing: it returns hosts with the map that they
published, and servers with the claims that Nova stores.
"""

from collections.abc import Iterator
import dataclasses
from typing import Any

from nova.compute import instance_list
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.services.compute import claims

#: What is read of a server in addition to its own record.
_ATTRIBUTES = ['flavor', 'migration_context', 'resources']


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """One page of the hosts or servers that were read.

    :ivar unreachable: uuids of the cells that did not answer
    :ivar last: the server that the next page begins after; '' at the end
    """

    items: list[dict[str, Any]]
    unreachable: list[str]
    last: str = ''


def hosts(context: Any, name: str | None) -> Page:
    """Returns the compute nodes, sorted by host.

    :param context: the context of an administrator
    :param name: only the nodes of this host; None for all
    """
    all_nodes, unreachable = [], []
    for cell, nodes in nova_context.scatter_gather_skip_cell0(
            context, _nodes, name).items():
        if nova_context.is_cell_failure_sentinel(nodes):
            unreachable.append(str(cell))
        else:
            all_nodes += list(nodes)
    return Page(sorted(map(_host, all_nodes),
                       key=lambda host: (host['host'], host['node'])),
                unreachable)


def _nodes(context: Any, name: str | None) -> Any:
    if name is None:
        return objects.ComputeNodeList.get_all(context)
    try:
        return objects.ComputeNodeList.get_all_by_host(context, name)
    except nova_exception.ComputeHostNotFound:
        return []


def _host(node: Any) -> dict[str, Any]:
    text = (node.stats or {}).get(hostmap.MAP)
    return {'host': node.host, 'node': node.hypervisor_hostname,
            'provider': node.uuid,
            'stats': {hostmap.MAP: text} if text else {}}


def servers(context: Any, filters: dict[str, Any], limit: int,
            marker: str | None) -> Page:
    """Returns the servers that hold a reservation, the newest first.

    :param filters: as Nova's own list of servers takes them
    :param limit: how many servers of Nova are read at most, with a
        reservation or without
    :param marker: the server to begin after; None for the first page
    :raises MarkerNotFound: when there is no such server
    """
    instances, unreachable = instance_list.get_instance_objects_sorted(
        context, {'deleted': False, **filters}, limit, marker, _ATTRIBUTES,
        ['created_at', 'uuid'], ['desc', 'desc'], cell_down_support=True)
    last = instances[-1].uuid if len(instances) == limit else ''
    return Page([server for each in instances
                 for server in _server(each)], list(unreachable), last)


def _server(instance: Any) -> Iterator[dict[str, Any]]:
    """Yields a server, if it holds a reservation."""
    server_claims = list(_claims(instance))
    if not server_claims:
        return
    # The first claim is the one that the server runs with.
    yield {'id': instance.uuid, 'name': instance.display_name,
           'project_id': instance.project_id, 'host': instance.host or '',
           'vcpus': len(server_claims[0]['pcpus']), 'state': instance.vm_state,
           'runtime_us': server_claims[0]['runtime_us'],
           'period_us': server_claims[0]['period_us'], 'claims': server_claims}


def _claims(instance: Any) -> Iterator[dict[str, Any]]:
    """Yields the claims of a server, with those of a move under way."""
    move = instance.migration_context
    lists = [instance.resources]
    if move is not None:
        lists += [move.new_resources, move.old_resources]
    identifiers = set()
    for resource in (each for some in lists for each in some or ()):
        if (resource.resource_class != hostmap.RESOURCE_CLASS
                or resource.identifier in identifiers):
            continue
        identifiers.add(resource.identifier)
        try:
            claim = claims.RTClaim.parse(resource.identifier)
        except exception.InvalidClaim:
            continue  # nova-compute and nova-rt-manage report the claim.
        yield {'provider': resource.provider_uuid,
               'pcpus': list(claim.cpus),
               'runtime_us': claim.reservation.runtime_us,
               'period_us': claim.reservation.period_us,
               'soft': claim.soft}
