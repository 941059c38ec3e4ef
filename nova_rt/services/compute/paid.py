# SPDX-License-Identifier: Apache-2.0

"""Compares claims with what Placement holds for their servers.

``nova-manage placement heal_allocations --force`` knows the flavor only, and
takes what was allocated for reservations out: others would be let in.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from keystoneauth1 import exceptions as ks_exceptions
from nova import exception
from oslo_log import log as logging

from nova_rt.rules import hostmap
from nova_rt.services.compute import claims

LOG = logging.getLogger(__name__)


def allocations(client: Any, context: Any, provider: str
                ) -> Mapping[str, Any] | None:
    """By consumer; None where Placement does not say.

    :param client: Nova's client of Placement
    :param provider: uuid of the provider
    """
    try:
        found = client.get_allocations_for_resource_provider(
            context, provider)
    except (exception.ResourceProviderAllocationRetrievalFailed,
            ks_exceptions.ClientException) as error:
        LOG.debug('Placement does not say what it holds: %s', str(error))
        return None
    return dict(found.allocations)


def missing(held: Iterable[claims.RTClaim], found: Mapping[str, Any]
            ) -> Iterator[str]:
    """Yields the servers for which less is allocated than they claim.

    :param held: one for each server
    :param found: allocations by consumer
    """
    for claim in held:
        has = found.get(claim.instance_uuid, {}).get('resources', {})
        needs = hostmap.amounts(len(claim.cpus), claim.reservation.bandwidth)
        if any(has.get(name, 0) < amount for name, amount in needs.items()):
            yield claim.instance_uuid


def sentence(servers: Iterable[str]) -> str:
    """For the operator."""
    return (f'Placement holds less than what was claimed for '
            f'{", ".join(sorted(servers))} (nova-manage placement '
            f'heal_allocations --force knows the flavor only): run '
            f'nova-rt-manage heal')
