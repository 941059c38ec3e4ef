# SPDX-License-Identifier: Apache-2.0

"""Describes the reservations of this host for people who debug nova-compute.

Nothing here takes a lock, because the handler of a signal calls this module.
"""

from collections.abc import Mapping
from typing import Any

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.rules import words
from nova_rt.services.compute import claims


def describe(rt: Any) -> dict[str, Any]:
    """Returns the reservations of a host.

    :param rt: the RTResourceTracker of the host
    """
    driver, capacity = rt.driver, rt.driver.rt_capacity
    tally = driver.rt_tally
    return {
        'kernel interface': capacity.interface or 'none',
        'reservations': str(capacity),
        **_claimed(rt),
        'guests that Nova does not have here': {
            str(guest): guest.holds for guest in rt.rt_strangers} or 'none',
        'differences of the last audit': rt.rt_findings,
        'since the start': {
            'claims refused': dict(tally.refused) or 'none',
            'budgets corrected': tally.corrected,
            'servers that did not start': tally.missed},
        'servers without their reservation now': tally.unserved}


def _claimed(rt: Any) -> dict[str, Any]:
    try:
        return {'claims': _claims(rt.rt_claims()),
                'share of each pCPU': _shares(rt.rt_state())}
    except exception.InvalidClaim as error:
        return {'claims': str(error)}


def _claims(host_claims: list[claims.RTClaim]) -> Mapping[str, str] | str:
    return {f'{claim.instance_uuid}, move {claim.move}':
            f'{claim.reservation} on {words.ids(claim.cpus)}'
            + f', in the kernel {claim.in_kernel}' * (claim.divisor > 1)
            for claim in host_claims} or 'none'


def _shares(state: cpus.CpuBandwidth) -> Mapping[str, str] | str:
    return {str(cpu): f'{reservation.decimal(state.used_on(cpu))} of '
                      f'{reservation.decimal(state.cap)}'
            for cpu in state.cpus} or 'none'
