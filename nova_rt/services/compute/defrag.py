# SPDX-License-Identifier: Apache-2.0

"""Makes room for a claim that does not fit, by moves of vCPUs.

``[nova_rt] defrag_on_reject`` says whether this host only logs the moves, or
makes them before the claim.  All of this happens under the lock of Nova that
also covers the claim.
"""

from typing import Any

import nova.conf
from nova import context as nova_context
from nova import exception as nova_exception
from oslo_log import log as logging

from nova_rt.rules import cpus
from nova_rt.rules.packing import arrangement
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


def fit(rt: Any, asked: numa.Question | None, state: cpus.CpuBandwidth,
        split: vcpus.Split, wanted: reservation.Reservation
        ) -> numa.Chosen | None:
    """Chooses a pCPU for each vCPU, and may make room first.

    The caller has Nova's lock.  Room is made only for servers that may use all
    cells of the host.

    :param rt: the tracker of this host
    :param state: the current state of the host
    """
    chosen = numa.fit(asked, state, split, wanted, rt.rt_policy.choose)
    if chosen is None and asked is None and _makes_room(
            rt, state, split.reserved, wanted):
        return numa.fit(asked, rt.rt_state(), split, wanted,
                        rt.rt_policy.choose)
    return chosen


def _makes_room(rt: Any, state: cpus.CpuBandwidth, count: int,
                wanted: reservation.Reservation) -> bool:
    """Plans moves, and makes them if the option says so.

    :returns: whether all moves of a plan were made
    """
    mode = CONF.nova_rt.defrag_on_reject
    if mode == 'off' or not planner.sum_admits(state, count, wanted):
        return False
    context = nova_context.get_admin_context()
    servers = {instance.uuid: (instance, placed) for instance, placed
               in moving.movable(rt, context)}
    plan = planner.plan(
        state, {uuid: placed for uuid, (_, placed) in servers.items()},
        count, wanted, CONF.nova_rt.defrag_max_moves, _STEPS)
    LOG.info('%s on %s does not fit on this host; %s.', wanted,
             words.count(count, 'vCPU'), _sentence(plan))
    if mode != 'apply' or plan.moves is None:
        return False
    return all(_is_made(rt, context, servers[move.claim][0], move)
               for move in plan.moves)


def _sentence(plan: planner.Plan) -> str:
    if plan.moves is None:
        most = words.count(CONF.nova_rt.defrag_max_moves, 'move')
        return f'no plan of at most {most} makes room'
    return 'these moves make room: ' + ', '.join(
        f'server {move.claim} from pCPU {move.source} to {move.target}'
        for move in plan.moves)


def _is_made(rt: Any, context: Any, instance: Any, move: arrangement.Move
             ) -> bool:
    """Makes a move; if it fails, the earlier moves are not undone."""
    try:
        moving.move(rt, context, instance, move.source, move.target)
    except nova_exception.NovaException as error:
        LOG.warning('No room is made for another server: %s', str(error),
                    instance=instance)
        return False
    return True
