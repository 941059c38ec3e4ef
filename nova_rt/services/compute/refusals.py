# SPDX-License-Identifier: Apache-2.0

"""Refuses claims, and keeps the reason for the metrics."""

from collections.abc import Iterator
import contextlib
from typing import Any

from nova import exception as nova_exception
from oslo_log import log as logging

from nova_rt.rules import hostmap
from nova_rt.rules import report
from nova_rt.services.compute import capacity as rt_capacity
from nova_rt.services.compute import claims
from nova_rt.services.compute import policy
from nova_rt.services import events

LOG = logging.getLogger(__name__)

# The refusal is an exception of Nova with two more attributes, because Nova's
# RPC would not return an exception of a class of our own unchanged.
_KIND, _REASON = 'rt_kind', 'rt_reason'


def refused(kind: str, reason: str, told: str = ''
            ) -> nova_exception.ComputeResourcesUnavailable:
    """Logs why a claim is refused, and returns the refusal.

    :param kind: one of report.REASONS
    :param told: the reason that the owner of the server sees in the fault of
        the server; '' for the same as *reason*
    """
    LOG.info('CPU reservation refused: %s', reason)
    error = nova_exception.ComputeResourcesUnavailable(reason=told or reason)
    setattr(error, _KIND, kind)
    setattr(error, _REASON, reason)
    return error


@contextlib.contextmanager
def counted(tally: report.Tally, server: str) -> Iterator[None]:
    """Counts refusals of nova-rt by their reason, and logs each of them."""
    try:
        yield
    except nova_exception.ComputeResourcesUnavailable as error:
        if kind := getattr(error, _KIND, ''):
            tally.refused[kind] += 1
            events.refused(events.COMPUTE, kind, getattr(error, _REASON),
                           server)
        raise


def check_host(capacity: rt_capacity.HostCapacity, packed: policy.Policy,
               needs: frozenset[str]) -> None:
    """Refuses a claim that the host never takes, whatever room it has.

    :param needs: what the flavor needs, see services.compute.vcpus
    :raises ComputeResourcesUnavailable: when the host takes no reservations,
        or no such flavor
    """
    reason = capacity.reason or packed.reason
    if reason:
        raise refused(report.NO_RESERVATIONS,
                      f'this host takes no CPU reservations: {reason}',
                      'a host takes no CPU reservations')
    if not needs <= capacity.takes:
        raise refused(report.FLAVOR, capacity.lack(needs),
                      'a host does not take such a flavor')


def check_allocation(claim: claims.RTClaim, provider_uuid: str,
                     allocations: Any) -> None:
    """Refuses a claim for which the scheduler did not allocate enough.

    :raises ComputeResourcesUnavailable: when Placement has allocated less
        than the claim needs
    """
    allocated = (allocations or {}).get(provider_uuid, {})
    for name, needed in hostmap.amounts(
            len(claim.cpus), claim.reservation.bandwidth).items():
        amount = allocated.get('resources', {}).get(name, 0)
        if amount < needed:
            raise refused(
                report.ALLOCATION, f'Placement has allocated {amount} of '
                f'{name} for the server, which needs {needed}; enable '
                f'RTShareFilter on every nova-scheduler')
