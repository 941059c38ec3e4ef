# SPDX-License-Identifier: Apache-2.0

"""Moves vCPUs of other servers when a server is claimed.

``[nova_rt] defrag_on_reject`` says whether this host only logs the moves that
make room for a server that does not fit, or makes them before the claim.
``defrag_on_accept`` says the same of moves that gather the free bandwidth when
a server fits.  All of this happens under the lock of Nova that also covers the
claim.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import nova.conf
from nova import context as nova_context
from nova import exception as nova_exception
from oslo_log import log as logging

from nova_rt.rules import cpus
from nova_rt.rules.packing import arrangement
from nova_rt.rules.packing import consolidation
from nova_rt.rules.packing import planner
from nova_rt.rules import reservation
from nova_rt.rules import words
from nova_rt.services.compute import moving
from nova_rt.services.compute import numa
from nova_rt.services.compute import vcpus

CONF = nova.conf.CONF
LOG = logging.getLogger(__name__)

#: The arrangements that a plan may evaluate while other claims wait: about a
#: second on a host of 64 pCPUs.
_STEPS = 5_000
#: How many moves gather free bandwidth for one server at most.
_MOST_GATHERED = 2
#: The servers that may move, by uuid.
_Servers = Mapping[str, tuple[Any, arrangement.Placed]]


def fit(rt: Any, asked: numa.Question | None, state: cpus.CpuBandwidth,
        split: vcpus.Split, wanted: reservation.Reservation
        ) -> numa.Chosen | None:
    """Chooses a pCPU for each vCPU, and may move other servers first.

    The caller has Nova's lock.  Room is made only for servers that may use all
    cells of the host.

    :param rt: the tracker of this host
    :param state: the current state of the host
    """
    moves = 0
    chosen = numa.fit(asked, state, split, wanted, rt.rt_policy.choose)
    if chosen is None and asked is None and (
            moves := _make_room(rt, state, split.reserved, wanted)):
        chosen = numa.fit(asked, rt.rt_state(), split, wanted,
                          rt.rt_policy.choose)
    if chosen is not None and CONF.nova_rt.defrag_on_accept != 'off':
        _gather(rt, rt.rt_state().claim(chosen.cpus, wanted),
                CONF.nova_rt.defrag_max_moves - moves)
    return chosen


def _make_room(rt: Any, state: cpus.CpuBandwidth, count: int,
               wanted: reservation.Reservation) -> int:
    """Plans moves, and makes them if the option says so.

    :returns: how many moves were made; 0 if a move of the plan failed
    """
    mode = CONF.nova_rt.defrag_on_reject
    if mode == 'off' or not planner.sum_admits(state, count, wanted):
        return 0
    context = nova_context.get_admin_context()
    servers = _movable(rt, context)
    plan = planner.plan(
        state, {uuid: placed for uuid, (_, placed) in servers.items()},
        count, wanted, CONF.nova_rt.defrag_max_moves, _STEPS)
    LOG.info('%s on %s does not fit on this host; %s.', wanted,
             words.count(count, 'vCPU'), _sentence(plan))
    if mode != 'apply' or plan.moves is None:
        return 0
    made = all(_is_made(rt, context, servers[move.claim][0], move)
               for move in plan.moves)
    return len(plan.moves) if made else 0


def _gather(rt: Any, state: cpus.CpuBandwidth, most: int) -> None:
    """Gathers the free bandwidth of a host that is about to take a server.

    If a move fails, the server keeps its room all the same.

    :param state: the host with the new server
    :param most: the largest number of moves
    """
    context = nova_context.get_admin_context()
    servers = _movable(rt, context)
    moves = consolidation.plan(
        state, {uuid: placed for uuid, (_, placed) in servers.items()},
        min(most, _MOST_GATHERED))
    if moves:
        LOG.info('These moves gather free bandwidth: %s.', _listed(moves))
    if CONF.nova_rt.defrag_on_accept == 'apply':
        all(_is_made(rt, context, servers[move.claim][0], move)
            for move in moves)


def _movable(rt: Any, context: Any) -> _Servers:
    return {instance.uuid: (instance, placed)
            for instance, placed in moving.movable(rt, context)}


def _sentence(plan: planner.Plan) -> str:
    if plan.moves is None:
        most = words.count(CONF.nova_rt.defrag_max_moves, 'move')
        return f'no plan of at most {most} makes room'
    return f'these moves make room: {_listed(plan.moves)}'


def _listed(moves: Iterable[arrangement.Move]) -> str:
    return ', '.join(
        f'server {move.claim} from pCPU {move.source} to {move.target}'
        for move in moves)


def _is_made(rt: Any, context: Any, instance: Any, move: arrangement.Move
             ) -> bool:
    """Makes a move; if it fails, the earlier moves are not undone."""
    try:
        moving.move(rt, context, instance, move.source, move.target)
    except nova_exception.NovaException as error:
        LOG.warning('A vCPU does not move: %s', str(error),
                    instance=instance)
        return False
    return True
