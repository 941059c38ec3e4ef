# SPDX-License-Identifier: Apache-2.0

"""Finds the differences between claims, Placement and kernel on a host.

Pure code.  A server that Nova is at work on is left out, but for its claims
in the sums: what differs meanwhile is not known to be wrong.
"""

from collections.abc import Iterator
import itertools

from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from rt_operate.manage.compare import budgets
from rt_operate.manage.compare import pcpus
from rt_operate.manage.compare import placement
from rt_operate.manage.compare import remedies
from rt_operate.manage import snapshot


def compare(host: snapshot.Host) -> Iterator[snapshot.Difference]:
    """All differences on a host."""
    return itertools.chain(
        *(_server(host, holding) for holding in host.holdings
          if not holding.moving),
        pcpus.compare(host),
        placement.compare(host),
        _strangers(host),
        budgets.compare(host))


def _strangers(host: snapshot.Host) -> Iterator[snapshot.Difference]:
    """Guests that nova-compute counts and Nova does not have there."""
    for each in host.published.strangers if host.published else ():
        kind, said, remedy = (
            ('guest.elsewhere', f'its server {each.elsewhere}',
             remedies.ELSEWHERE) if each.elsewhere else
            ('guest.unknown', 'no such server', remedies.STRANGER))
        yield snapshot.Difference(
            kind, host.name, each.uuid,
            f'the guest {each.name} runs with {each.holds}, and the '
            f'database has {said}', 'no such guest', remedy)


def _server(host: snapshot.Host, holding: snapshot.Holding
            ) -> Iterator[snapshot.Difference]:
    """One server's claims against what it asks for."""
    def differs(kind: str, found: str, wanted: str, remedy: str
                ) -> snapshot.Difference:
        return snapshot.Difference(kind, host.name, holding.server, found,
                                   wanted, remedy)

    if holding.trouble:
        yield differs('request.invalid', holding.trouble,
                      'a reservation that makes sense, or none',
                      remedies.RESIZE)
    for text in holding.unreadable:
        yield differs('claim.unreadable', f'its claim reads {text!r}',
                      'a claim that can be read', remedies.RESTORE)
    for mistake in _claims(host, holding):
        yield differs(*mistake)


def _claims(host: snapshot.Host, holding: snapshot.Holding
            ) -> Iterator[tuple[str, str, str, str]]:
    """(kind, found, wanted, remedy) of each mistake."""
    wanted, held = holding.wanted, holding.claims
    if wanted is None:
        if held and not holding.trouble:
            yield ('claim.unasked', f'it holds {_describe(holding)} and asks '
                   f'for no reservation', 'no claim', remedies.MOVE)
        return
    if not held:
        if not holding.unreadable:
            yield ('claim.missing', 'it asks for a reservation and holds '
                   'none', f'a claim of {wanted} on {holding.vcpus} pCPU'
                   f'{"" if holding.vcpus == 1 else "s"}', remedies.MOVE)
        return
    if len(held) > 1:
        yield ('claim.several', f'it holds {len(held)} claims: '
               f'{_describe(holding)}', 'one claim', remedies.MOVE)
    elif holding.providers - {host.provider}:
        yield ('claim.provider', f'its claim is for the provider '
               f'{", ".join(sorted(holding.providers))}', host.provider,
               remedies.MOVE)
    for claim in held:
        yield from _claim(holding, claim, wanted)


def _claim(holding: snapshot.Holding, claim: claims.RTClaim,
           wanted: reservation.Reservation
           ) -> Iterator[tuple[str, str, str, str]]:
    if claim.instance_uuid != holding.server:
        yield ('claim.server', f'its claim names the server '
               f'{claim.instance_uuid}', holding.server, remedies.MOVE)
    if claim.reservation != wanted:
        yield ('claim.reservation', f'its claim is of '
               f'{claim.reservation}', str(wanted), remedies.MOVE)
    if len(claim.cpus) != holding.vcpus:
        yield ('claim.vcpus', f'its claim has the pCPUs '
               f'{list(claim.cpus)}', f'{holding.vcpus} of them, one for '
               f'each vCPU', remedies.MOVE)
    if len(set(claim.cpus)) < len(claim.cpus):
        yield ('claim.cpus', f'its claim has a pCPU twice: '
               f'{list(claim.cpus)}', 'a pCPU of its own for each vCPU',
               remedies.MOVE)


def _describe(holding: snapshot.Holding) -> str:
    return ', '.join(f'{claim.reservation} on pCPUs {list(claim.cpus)}'
                     for claim in holding.claims)
