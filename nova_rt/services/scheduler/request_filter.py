# SPDX-License-Identifier: Apache-2.0

"""Turns a reservation into what Placement is asked for.

Placement then claims the sum over the vCPUs and the share of one of them
atomically for the whole cloud; which pCPUs have room is the business of
RTShareFilter and of the claim.
"""

from typing import Any

from nova import exception as nova_exception
from nova.scheduler import request_filter
from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.services.scheduler import request

LOG = logging.getLogger(__name__)

TRAIT = f'trait:{hostmap.TRAIT}'


@request_filter.trace_request_filter
def require_rt_bandwidth(context: Any, spec: Any) -> bool:
    """Ask for the bandwidth and for a host that can enforce it.

    :raises RequestFilterFailed: a reservation that makes no sense; becomes
        NoValidHost with this reason
    """
    if not request.asks(spec):
        return False
    try:
        wanted = request.admitted(spec)
    except exception.InvalidReservation as error:
        LOG.info('CPU reservation refused: %s', error,
                 instance_uuid=spec.instance_uuid)
        # The sentence says it all; Nova logs the chain of causes.
        raise nova_exception.RequestFilterFailed(
            reason=str(error)) from None
    request.settle(spec, wanted)
    if wanted is None:
        return False
    amounts = hostmap.amounts(spec.flavor.vcpus, wanted.bandwidth)
    # Amounts set by the operator give way: the hint may have changed them.
    spec.flavor.extra_specs = dict(spec.flavor.extra_specs) | {
        f'resources:{name}': str(amount)
        for name, amount in amounts.items()} | {TRAIT: 'required'}
    LOG.info('The server asks for %s on each of %d vCPUs: hosts need %s and '
             'the trait %s.', wanted, spec.flavor.vcpus,
             ', '.join(f'{amount} free of {name}'
                       for name, amount in amounts.items()),
             hostmap.TRAIT, instance_uuid=spec.instance_uuid)
    return True


def install() -> None:
    """Make it the first of Nova's request filters; may be called again.

    isolate_aggregates reads the traits that this one adds.
    """
    if require_rt_bandwidth not in request_filter.ALL_REQUEST_FILTERS:
        request_filter.ALL_REQUEST_FILTERS.insert(0, require_rt_bandwidth)
