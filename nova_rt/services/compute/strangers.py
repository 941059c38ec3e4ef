# SPDX-License-Identifier: Apache-2.0

"""Counts guests that run here and that Nova's database does not have here.

A backup was restored, or another cloud uses the host.  Nobody can say what
such a guest should have, so it keeps what the kernel grants it, and that is
not offered to others.  The database may have the server of such a guest on
another host, from which the server moved after the backup.
"""

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
from typing import Any

from nova_rt.rules import cpus
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import kept


def held(found: Iterable[hostmap.Stranger]) -> Iterator[cpus.Claim]:
    """Yields what all of them hold."""
    for stranger in found:
        yield from stranger.held


def is_elsewhere(instance: Any, host: str) -> bool:
    """Whether Nova has a server elsewhere for good, while a guest runs here.

    A deleted server is nowhere: Nova itself ends its guest.

    :param instance: without a claim that counts on this host
    """
    return (instance.host != host and not instance.deleted
            and kept.is_over(instance))


def located(found: Iterable[hostmap.Stranger], elsewhere: Mapping[str, Any]
            ) -> list[hostmap.Stranger]:
    """The same, each with the host on which Nova has its server.

    :param elsewhere: Instances by uuid; others are not in the database
    """
    return [dataclasses.replace(each, elsewhere=_where(elsewhere[each.uuid]))
            if each.uuid in elsewhere else each for each in found]


def _where(instance: Any) -> str:
    return f'on {instance.host}' if instance.host else 'on no host'


def place(found: Iterable[hostmap.Stranger], state: cpus.CpuBandwidth
          ) -> tuple[hostmap.Stranger, ...]:
    """The same, each share on pCPUs that may be reserved.

    One that has no place is counted where most is left.

    :param state: what is claimed
    """
    placed = []
    for stranger in sorted(found, key=lambda each: each.uuid):
        where = tuple(_merged(_places(stranger.held, state)))
        state = state.fold(where)
        if where:
            placed.append(dataclasses.replace(stranger, held=where))
    return tuple(placed)


def sentence(stranger: hostmap.Stranger) -> str:
    """For the operator."""
    said, advice = 'does not have it', ''
    if stranger.elsewhere:
        said = f'has it {stranger.elsewhere}'
        advice = ' end the guest here before its server is started again;'
    return (f'the guest {stranger} runs here with {stranger.holds}, and '
            f"Nova's database {said}: what it holds is not offered "
            f'to others;{advice} see "Backup and restore" in the '
            f'administrator guide')


def _places(found: Iterable[cpus.Claim], state: cpus.CpuBandwidth
            ) -> Iterator[tuple[int, reservation.Reservation]]:
    """A pCPU for each share; none for those that are not offered."""
    for ids, each in found:
        ids = state.cpus if state.replicated else (
            ids or _emptiest(state))
        state = state.claim(ids, each)
        for cpu in {*ids} & {*state.cpus}:
            yield cpu, each


def _emptiest(state: cpus.CpuBandwidth) -> tuple[int, ...]:
    pairs = zip(state.used, state.cpus, strict=True)
    return tuple(cpu for _, cpu in sorted(pairs)[:1])


def _merged(places: Iterable[tuple[int, reservation.Reservation]]
            ) -> Iterator[cpus.Claim]:
    """Equal shares on several pCPUs, as a claim has them."""
    groups: list[tuple[set[int], reservation.Reservation]] = []
    for cpu, each in places:
        for ids, one in groups:
            if one == each and cpu not in ids:
                ids.add(cpu)
                break
        else:
            groups.append(({cpu}, each))
    for ids, each in groups:
        yield tuple(sorted(ids)), each
