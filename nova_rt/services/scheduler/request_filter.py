# SPDX-License-Identifier: Apache-2.0

"""Asks Placement for the bandwidth of a reservation.

Placement then claims the sum over the vCPUs and the share of one vCPU,
atomically for the whole cloud.  RTShareFilter and the claim decide which
pCPUs have room.
"""

from typing import Any

from nova import exception as nova_exception
from nova.scheduler import request_filter
from oslo_log import log as logging

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import report
from nova_rt.rules import words
from nova_rt.services import events
from nova_rt.services.scheduler import candidates
from nova_rt.services.scheduler import inplace
from nova_rt.services.scheduler import readers
from nova_rt.services.scheduler import request

LOG = logging.getLogger(__name__)

TRAIT = f'trait:{hostmap.TRAIT}'


@request_filter.trace_request_filter
def require_rt_bandwidth(context: Any, spec: Any) -> bool:
    """Asks for the bandwidth and for a host that can enforce a reservation.

    :raises RequestFilterFailed: when the reservation makes no sense or is
        not allowed; Nova turns the error into NoValidHost with its reason
    """
    candidates.forget()
    inplace.forget(spec)
    readers.note(spec)
    if not request.asks(spec):
        return False
    try:
        wanted = request.admitted(spec)
        split = request.split(spec) if wanted else None
    except exception.InvalidReservation as error:
        LOG.info('CPU reservation refused: %s', error,
                 instance_uuid=spec.instance_uuid)
        events.refused(events.SCHEDULER, report.REQUEST, str(error),
                       spec.instance_uuid)
        # The message is complete; Nova would log the chain of causes, too.
        raise nova_exception.RequestFilterFailed(
            reason=str(error)) from None
    if wanted is not None:
        inplace.admit(spec)
    request.settle(spec, wanted)
    if wanted is None or split is None:
        return False
    traits = [hostmap.TRAIT, *[hostmap.SOFT_TRAIT] * split.is_soft]
    amounts = hostmap.amounts(split.reserved, wanted.bandwidth)
    # Amounts that an operator set in the flavor are replaced, because a hint
    # may have changed the reservation.
    spec.flavor.extra_specs = dict(spec.flavor.extra_specs) | {
        f'resources:{name}': str(amount)
        for name, amount in amounts.items()} | dict.fromkeys(
            (f'trait:{name}' for name in traits), 'required')
    LOG.info('The server asks for %s on %s: hosts need %s and the trait %s.',
             wanted, words.each(split.reserved, 'vCPU'),
             ', '.join(f'{amount} free {name}'
                       for name, amount in amounts.items()),
             ' and the trait '.join(traits), instance_uuid=spec.instance_uuid)
    candidates.expect(spec, wanted, split.reserved)
    return True


def install() -> None:
    """Makes require_rt_bandwidth the first of Nova's request filters.

    The filter must come before Nova's isolate_aggregates, which reads the
    traits that require_rt_bandwidth adds.  install() may be called repeatedly.
    """
    if require_rt_bandwidth not in request_filter.ALL_REQUEST_FILTERS:
        request_filter.ALL_REQUEST_FILTERS.insert(0, require_rt_bandwidth)
