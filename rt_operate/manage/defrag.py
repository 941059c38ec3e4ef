# SPDX-License-Identifier: Apache-2.0

"""Makes room for a request on a host by moves of vCPUs between pCPUs.

This process plans; the nova-compute of the host makes each move, under Nova's
own lock.  Between two moves other servers may come and go.  A move for which
the room is gone is refused, and the earlier moves are not undone.
"""

from collections.abc import Callable
import dataclasses
from typing import Any

from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules.packing import arrangement
from nova_rt.rules.packing import planner
from nova_rt.rules import reservation
from nova_rt.rules import words
from nova_rt.services.compute import layouts
from rt_operate.manage import remote

_OLDER = 'cannot move a vCPU; upgrade nova-rt there'
#: The steps in which the largest share is searched, in ppm.
_STEP_PPM = 10_000


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A request for which there must be room.

    :ivar max_moves: how many moves a plan may have
    """

    vcpus: int
    wanted: reservation.Reservation
    max_moves: int = planner.MAX_MOVES


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """A host, as its nova-compute describes it.

    :ivar cell: the objects.CellMapping of the host
    :ivar claims: the claims that may move, by server
    """

    name: str
    cell: Any
    state: cpus.CpuBandwidth
    claims: dict[str, arrangement.Placed]


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """A plan, and what became of it.

    :ivar made: the moves that were made
    :ivar trouble: why the next move was not made; '' without trouble
    """

    host: Host
    request: Request
    plan: planner.Plan
    made: tuple[arrangement.Move, ...] = ()
    trouble: str = ''

    @property
    def fits(self) -> bool:
        """True if the request fits now."""
        return self.plan.moves is not None and self.made == self.plan.moves

    @property
    def sum_admits(self) -> bool:
        """True if enough is free on all pCPUs together."""
        return planner.sum_admits(self.host.state, self.request.vcpus,
                                  self.request.wanted)


def read(name: str) -> Host:
    """Returns a host.

    :raises CannotDefragment: when its vCPUs cannot move
    """
    try:
        cell = objects.HostMapping.get_by_host(
            nova_context.get_admin_context(), name).cell_mapping
        answer = remote.call(name, cell, 'rt_arrangement', _OLDER)
    except nova_exception.HostMappingNotFound:
        raise _cannot(name, 'there is no such compute host') from None
    except remote.Refused as error:
        raise _cannot(name, str(error)) from None
    host_map, claims = layouts.parse(answer)
    if host_map is None:
        raise _cannot(name, 'another version of nova-rt publishes its map; '
                      'use the version of the host')
    if not host_map.state.cpus:
        raise _cannot(name, 'the host takes no CPU reservations: '
                      + host_map.reason)
    if answer['held']:
        raise _cannot(name, answer['held'])
    return Host(name, cell, host_map.state, claims)


def plan(host: Host, request: Request) -> Outcome:
    """Returns the fewest moves after which a request fits on a host."""
    return Outcome(host, request, planner.plan(
        host.state, host.claims, request.vcpus, request.wanted,
        request.max_moves))


def largest(host: Host, vcpus: int, period_us: int, max_moves: int
            ) -> Outcome:
    """Returns the plan for the largest share that fits after some moves.

    The share is a multiple of 0.01 of a pCPU.

    :raises CannotDefragment: when not even the smallest share fits
    """
    best, low = None, 0
    high = host.state.cap // _STEP_PPM + 1
    while high - low > 1:
        middle = (low + high) // 2
        outcome = plan(host, Request(vcpus, share(
            middle * _STEP_PPM, period_us), max_moves))
        if outcome.plan.moves is None:
            high = middle
        else:
            best, low = outcome, middle
    if best is None:
        raise _cannot(host.name, f'a share of 0.01 for '
                      f'{words.each(vcpus, "vCPU")} does not fit, whichever '
                      f'vCPUs move')
    return best


def share(ppm: int, period_us: int) -> reservation.Reservation:
    """Returns the reservation of a share with a period, rounded up."""
    return reservation.Reservation(
        -(-ppm * period_us // reservation.PPM), period_us)


def apply(outcome: Outcome, tell: Callable[[arrangement.Move], None]
          ) -> Outcome:
    """Makes the moves of a plan, one after another.

    :param tell: is called after each move
    :returns: the outcome; moves are not undone if a later move fails
    """
    made: list[arrangement.Move] = []
    for move in outcome.plan.moves or ():
        try:
            remote.call(outcome.host.name, outcome.host.cell, 'rt_move_vcpu',
                        _OLDER, uuid=move.claim, source=move.source,
                        target=move.target)
        except remote.Refused as error:
            return dataclasses.replace(
                outcome, made=tuple(made), trouble=str(error))
        made.append(move)
        tell(move)
    return dataclasses.replace(outcome, made=tuple(made))


def _cannot(name: str, reason: str) -> exception.CannotDefragment:
    return exception.CannotDefragment(host=name,
                                      reason=exception.clause(reason))
