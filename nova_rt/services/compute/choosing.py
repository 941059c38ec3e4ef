# SPDX-License-Identifier: Apache-2.0

"""Chooses the pCPUs of a new claim, or refuses the server.

The tracker calls this module under Nova's lock and counts the claim.
"""

from collections.abc import Callable, Sequence
from typing import Any

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import report
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.compute import defrag
from nova_rt.services.compute import inplace
from nova_rt.services.compute import numa
from nova_rt.services.compute import refusals
from nova_rt.services.compute import request
from nova_rt.services.compute import vcpus


def choose(rt: Any, instance: Any, flavor: Any, move: int,
           question: Callable[[], numa.Question | None]
           ) -> tuple[claims.RTClaim | None, Sequence[Any]]:
    """Chooses pCPUs and returns the claim; None without a reservation.

    :param rt: the tracker of this host
    :param flavor: the new flavor of a move; None for a new server
    :param move: the id of the migration; 0 for a new server
    :param question: returns None for a server without a NUMA topology
    :returns: the claim, and the NUMA cells that Nova must choose; none if
        Nova may choose
    :raises ComputeResourcesUnavailable: when the reservation is bad or does
        not fit, or when the host takes no reservations
    """
    try:
        wanted = request.admitted(instance, flavor, bool(move))
        hints = _numbers(request.hints_with(instance, flavor))
        request.note_left(instance, flavor)
        asked = question() if wanted else None
        split = vcpus.split(flavor or instance.flavor, asked and asked.server
                            ) if wanted else None
    except exception.RTError as error:
        raise refusals.refused(report.REQUEST, str(error)) from error
    if wanted is None or split is None:
        return None, ()
    refusals.check_host(rt.driver.rt_capacity, rt.rt_policy, split.needs)
    chosen = _fit(rt, instance, flavor, move, asked, split, wanted)
    return claims.RTClaim(
        instance.uuid, move, wanted, chosen.cpus, hints, split.unreserved,
        split.is_soft, cpus.divisor(rt.rt_state(), chosen.cpus, wanted)
    ), chosen.cells


def _fit(rt: Any, instance: Any, flavor: Any, move: int,
         asked: numa.Question | None, split: vcpus.Split,
         wanted: reservation.Reservation) -> numa.Chosen:
    """Chooses a pCPU for each reserved vCPU; refuses the server without room.

    A resize that changes only the reservation keeps its pCPUs if they fit.
    """
    try:
        state = rt.rt_state()
    except exception.InvalidClaim as error:
        raise refusals.refused(
            report.UNREADABLE, str(error),
            'a host takes no more CPU reservations') from None
    kept = inplace.fit(rt, instance, flavor, wanted)
    inplace.note(instance, move, kept is not None)
    if kept is not None:
        return numa.Chosen((), kept)
    chosen = defrag.fit(rt, asked, state, split, wanted)
    if chosen is None:
        told = rt.driver.rt_capacity.refusal(state, split.reserved, wanted)
        raise refusals.refused(
            report.NO_ROOM, f'{told}{numa.IN_CELLS if asked else ""}', told)
    return chosen


def _numbers(hints: dict[str, Any]) -> dict[str, int]:
    return {key: value.number
            for key, value in reservation.hint_values(hints).items()}
