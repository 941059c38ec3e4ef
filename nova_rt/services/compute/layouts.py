# SPDX-License-Identifier: Apache-2.0

"""Lists the vCPUs of this host that may move, in a form for RPC.

The form has these keys: ``map`` is the map that the host publishes (see
``rules.hostmap``), ``servers`` has one row for each server that may move
(uuid, runtime and period in us, a pCPU for each vCPU, and for each vCPU the
pCPUs to which it may move, or none for all), ``held`` is a sentence that says
why no vCPU can move, or ''.
"""

from collections.abc import Mapping
from typing import Any

from nova_rt.rules import hostmap
from nova_rt.rules.packing import arrangement
from nova_rt.rules import reservation
from nova_rt.services.compute import lock
from nova_rt.services.compute import moving


@lock.synchronized
def of_host(rt: Any, context: Any) -> dict[str, Any]:
    """Returns what may move on this host.

    :param rt: the tracker of this host
    """
    return {'map': hostmap.to_stats(rt.rt_map())[hostmap.MAP],
            'held': moving.HELD if rt.driver.rt_holds_cpus() else '',
            'servers': [_row(instance.uuid, placed) for instance, placed
                        in moving.movable(rt, context)]}


def _row(uuid: str, placed: arrangement.Placed) -> list[Any]:
    return [uuid, placed.wanted.runtime_us, placed.wanted.period_us,
            list(placed.cpus), [sorted(ids) for ids in placed.within]]


def parse(answer: Mapping[str, Any]
          ) -> tuple[hostmap.HostMap | None, dict[str, arrangement.Placed]]:
    """Returns the map of a host, and the claims that may move, by server.

    :returns: None for a map of another version
    """
    return (hostmap.from_stats({hostmap.MAP: answer['map']}), {
        uuid: arrangement.Placed(
            tuple(ids), reservation.Reservation(runtime_us, period_us),
            tuple(map(frozenset, within)))
        for uuid, runtime_us, period_us, ids, within in answer['servers']})
