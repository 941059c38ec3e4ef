# SPDX-License-Identifier: Apache-2.0

"""Counts strangers: guests here that Nova's database does not have here.

There are strangers after a backup of the database was restored, or if another
cloud uses the host.  nova-rt cannot know which reservation a stranger should
have.  So a stranger keeps the budget that it holds, and the host does not
offer this budget to others.  According to the database, the server of a
stranger may be on another host: the host that the server had when the backup
was made.
"""

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
from typing import Any

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import counting


def all_shares(strangers: Iterable[hostmap.Stranger]) -> Iterator[cpus.Claim]:
    """Yields the shares that all strangers hold."""
    for stranger in strangers:
        yield from stranger.shares


def is_elsewhere(instance: Any, host: str) -> bool:
    """Checks whether Nova has a server, at rest, on another host.

    The answer for a deleted server is no: Nova itself ends its guest.

    :param instance: a server whose guest runs on this host
    """
    return (instance.host != host and not instance.deleted
            and counting.is_over(instance))


def located(strangers: Iterable[hostmap.Stranger], elsewhere: Mapping[str, Any]
            ) -> list[hostmap.Stranger]:
    """Returns the strangers with the hosts on which Nova has their servers.

    :param elsewhere: Instances by uuid; a stranger without one is not in
        the database
    """
    return [_with_place(stranger, elsewhere) for stranger in strangers]


def _with_place(stranger: hostmap.Stranger, elsewhere: Mapping[str, Any]
                ) -> hostmap.Stranger:
    instance = elsewhere.get(stranger.uuid)
    if instance is None:
        return stranger
    return dataclasses.replace(stranger, elsewhere=_where(instance))


def _where(instance: Any) -> str:
    return f'on {instance.host}' if instance.host else 'on no host'


def place(strangers: Iterable[hostmap.Stranger], state: cpus.CpuBandwidth
          ) -> tuple[hostmap.Stranger, ...]:
    """Returns the strangers with their shares on pCPUs of *state*.

    A share that is bound to no pCPU is counted on the emptiest pCPU.

    :param state: the bandwidth that is claimed
    """
    placed = []
    for stranger in sorted(strangers, key=lambda stranger: stranger.uuid):
        where = tuple(_merged(_places(stranger.shares, state)))
        state = state.fold(where)
        if where:
            placed.append(dataclasses.replace(stranger, shares=where))
    return tuple(placed)


def sentence(stranger: hostmap.Stranger) -> str:
    """Returns the warning about one stranger, for the operator."""
    location, advice = 'does not have it', ''
    if stranger.elsewhere:
        location = f'has it {stranger.elsewhere}'
        advice = ' end the guest here before its server is started again;'
    return (f'the guest {stranger} runs here with {stranger.holds}, and '
            f"Nova's database {location}: the bandwidth of the guest is not "
            f'offered to others;{advice} see "Backup and restore" in the '
            f'administrator guide')


def _places(shares: Iterable[cpus.Claim], state: cpus.CpuBandwidth
            ) -> Iterator[tuple[int, reservation.Reservation]]:
    """Yields each share with a pCPU; pCPUs outside of *state* are left out."""
    for ids, share in shares:
        ids = state.cpus if state.replicated else (
            ids or _emptiest(state))
        state = state.claim(ids, share)
        for cpu in {*ids} & {*state.cpus}:
            yield cpu, share


def _emptiest(state: cpus.CpuBandwidth) -> tuple[int, ...]:
    pairs = zip(state.used, state.cpus, strict=True)
    return tuple(cpu for _, cpu in sorted(pairs)[:1])


def _merged(places: Iterable[tuple[int, reservation.Reservation]]
            ) -> Iterator[cpus.Claim]:
    """Combines equal shares on several pCPUs, as in a claim."""
    groups: list[tuple[set[int], reservation.Reservation]] = []
    for cpu, share in places:
        for ids, other in groups:
            if other == share and cpu not in ids:
                ids.add(cpu)
                break
        else:
            groups.append(({cpu}, share))
    for ids, share in groups:
        yield tuple(sorted(ids)), share
