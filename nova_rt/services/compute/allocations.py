# SPDX-License-Identifier: Apache-2.0

"""Compares claims with the allocations of their servers in Placement.

``nova-manage placement heal_allocations --force`` allocates by the flavor
alone and so removes what was allocated for reservations.  Placement would then
accept too many other servers.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from keystoneauth1 import exceptions as ks_exceptions
from nova import exception
from oslo_log import log as logging

from nova_rt.rules import hostmap
from nova_rt.services.compute import claims

LOG = logging.getLogger(__name__)

#: How often a write is tried again after another client's write.
_ATTEMPTS = 5


def by_consumer(client: Any, context: Any, provider: str
                ) -> Mapping[str, Any] | None:
    """Returns the allocations of a provider by consumer.

    :param client: Nova's client of Placement
    :param provider: uuid of the resource provider
    :returns: None if Placement does not answer
    """
    try:
        answer = client.get_allocations_for_resource_provider(
            context, provider)
    except (exception.ResourceProviderAllocationRetrievalFailed,
            ks_exceptions.ClientException) as error:
        LOG.debug('Cannot read the allocations in Placement: %s', str(error))
        return None
    return dict(answer.allocations)


def set_amounts(client: Any, context: Any, consumer: str, provider: str,
                amounts: Mapping[str, int]) -> None:
    """Gives a consumer exactly *amounts* of these classes at a provider.

    :raises ComputeResourcesUnavailable: when Placement has no room
    :raises NovaException: when Placement does not answer, or when other
        clients keep changing the allocation
    """
    for tries_left in reversed(range(_ATTEMPTS)):
        current = client.get_allocs_for_consumer(context, consumer)
        allocated = current['allocations'].setdefault(
            provider, {'resources': {}})
        allocated['resources'] = allocated['resources'] | dict(amounts)
        try:
            if client.put_allocations(context, consumer, current):
                return
        except exception.AllocationUpdateFailed:
            if tries_left:
                continue
            raise
        raise exception.ComputeResourcesUnavailable(
            reason='Placement has no room for '
            f'{amounts[hostmap.RESOURCE_CLASS]} of {hostmap.RESOURCE_CLASS} '
            'on the host')


def missing(server_claims: Iterable[claims.RTClaim],
            allocations: Mapping[str, Any]) -> Iterator[str]:
    """Yields the servers for which less is allocated than they claim.

    :param server_claims: one claim for each server
    :param allocations: allocations by consumer
    """
    for claim in server_claims:
        allocated = allocations.get(claim.instance_uuid, {}).get(
            'resources', {})
        needs = hostmap.amounts(len(claim.cpus), claim.reservation.bandwidth)
        if any(allocated.get(name, 0) < amount
               for name, amount in needs.items()):
            yield claim.instance_uuid


def sentence(servers: Iterable[str]) -> str:
    """Returns the warning for the operator."""
    return (f'Placement has allocated less than was claimed for '
            f'{", ".join(sorted(servers))}; run nova-rt-manage heal '
            f'(nova-manage placement heal_allocations --force causes this, '
            f'because it allocates by the flavor alone)')
