# SPDX-License-Identifier: Apache-2.0

"""Finds the differences between claims, Placement and kernel on a host.

This is pure code. While Nova works on a server, the server is not compared,
because its parts may differ for a moment. The claims of this server still
count in the sums.
"""

from collections.abc import Iterator
import itertools

from nova_rt.rules import reservation
from nova_rt.rules import words
from nova_rt.services.compute import claims
from rt_operate.manage.compare import budgets
from rt_operate.manage.compare import pcpus
from rt_operate.manage.compare import placement
from rt_operate.manage.compare import remedies
from rt_operate.manage import snapshot


def compare(host: snapshot.HostSnapshot) -> Iterator[snapshot.Difference]:
    """Yields all differences on a host."""
    return itertools.chain(
        *(_server(host, holding) for holding in host.holdings
          if not holding.moving),
        pcpus.compare(host),
        placement.compare(host),
        _strangers(host),
        budgets.compare(host))


def _strangers(host: snapshot.HostSnapshot) -> Iterator[snapshot.Difference]:
    """Yields the guests that nova-compute counts but Nova does not have."""
    for stranger in host.published.strangers if host.published else ():
        kind, entry, remedy = (
            ('guest.elsewhere', f'its server {stranger.elsewhere}',
             remedies.ELSEWHERE) if stranger.elsewhere else
            ('guest.unknown', 'no such server', remedies.STRANGER))
        yield snapshot.Difference(
            kind, host.name, stranger.uuid,
            f'the guest {stranger.name} runs with {stranger.holds}, but the '
            f'database has {entry}', 'no such guest', remedy)


def _server(host: snapshot.HostSnapshot, holding: snapshot.Holding
            ) -> Iterator[snapshot.Difference]:
    """Compares the claims of one server with the reservation it asks for."""
    def differs(kind: str, present: str, wanted: str, remedy: str
                ) -> snapshot.Difference:
        return snapshot.Difference(kind, host.name, holding.server, present,
                                   wanted, remedy)

    if holding.trouble:
        yield differs('request.invalid', holding.trouble,
                      'a valid reservation, or none',
                      remedies.RESIZE)
    for text in holding.unreadable:
        yield differs('claim.unreadable', f'its claim reads {text!r}',
                      'a claim that can be read', remedies.RESTORE)
    for mistake in _mistakes(host, holding):
        yield differs(*mistake)


def _mistakes(host: snapshot.HostSnapshot, holding: snapshot.Holding
              ) -> Iterator[tuple[str, str, str, str]]:
    """Yields the kind, the found value, the right value and the remedy."""
    wanted, held_claims = holding.wanted, holding.claims
    if wanted is None:
        if held_claims and not holding.trouble:
            yield ('claim.unasked', f'it holds {_describe(holding)} but asks '
                   f'for no reservation', 'no claim', remedies.MOVE)
        return
    if not held_claims:
        if not holding.unreadable:
            yield ('claim.missing', 'it asks for a reservation but holds '
                   'no claim',
                   f'a claim of {wanted} on '
                   f'{words.count(holding.reserved, "pCPU")}', remedies.MOVE)
        return
    if len(held_claims) > 1:
        yield ('claim.several', f'it holds {len(held_claims)} claims: '
               f'{_describe(holding)}', 'one claim', remedies.MOVE)
    elif holding.providers - {host.provider}:
        yield ('claim.provider', f'its claim is for the provider '
               f'{", ".join(sorted(holding.providers))}', host.provider,
               remedies.MOVE)
    for claim in held_claims:
        yield from _claim(holding, claim, wanted)


def _claim(holding: snapshot.Holding, claim: claims.RTClaim,
           wanted: reservation.Reservation
           ) -> Iterator[tuple[str, str, str, str]]:
    if claim.instance_uuid != holding.server:
        yield ('claim.server', f'its claim names the server '
               f'{claim.instance_uuid}', holding.server, remedies.MOVE)
    if claim.reservation != wanted:
        yield ('claim.reservation', f'its claim is for '
               f'{claim.reservation}', str(wanted), remedies.MOVE)
    if (len(claim.places), claim.unreserved) != (
            holding.vcpus, holding.unreserved):
        yield ('claim.vcpus', f'its claim has '
               f'{words.ids(claim.cpus)}{_but(claim.unreserved)}',
               f'{words.count(holding.reserved, "pCPU")}, one for each vCPU'
               f'{_but(holding.unreserved)}', remedies.MOVE)
    if len(set(claim.cpus)) < len(claim.cpus):
        yield ('claim.cpus', f'its claim has a pCPU twice: '
               f'{list(claim.cpus)}', 'a pCPU of its own for each vCPU',
               remedies.MOVE)


def _but(unreserved: tuple[int, ...]) -> str:
    return f' but {words.ids(unreserved, "vCPU")}' if unreserved else ''


def _describe(holding: snapshot.Holding) -> str:
    return ', '.join(f'{claim.reservation} on {words.ids(claim.cpus)}'
                     for claim in holding.claims)
