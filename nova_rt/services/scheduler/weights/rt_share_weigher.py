# SPDX-License-Identifier: Apache-2.0

"""Spreads or packs servers with a reservation over the hosts."""

from typing import Any

import nova.conf
from nova.scheduler import utils
from nova.scheduler import weights

from nova_rt.rules import reservation
from nova_rt.services import conf as rt_conf
from nova_rt.services.scheduler import host_state as rt_host_state
from nova_rt.services.scheduler import request

CONF = nova.conf.CONF


class RTShareWeigher(weights.BaseHostWeigher):
    """Weighs hosts by their free share.

    The sign of the multiplier decides whether servers are spread or packed.
    """

    minval = 0

    def __init__(self) -> None:
        super().__init__()
        rt_conf.register_opts(CONF)

    def weight_multiplier(self, host_state: Any) -> float:
        """Returns rt_share_weight_multiplier, of an aggregate or [nova_rt]."""
        return float(utils.get_weight_multiplier(
            host_state, 'rt_share_weight_multiplier',
            CONF.nova_rt.rt_share_weight_multiplier))

    def weigh_objects(self, weighed_obj_list: list[Any],
                      weight_properties: Any) -> list[float]:
        """Returns a weight for each host; all 0 without a reservation.

        A request without a reservation is answered before any map is read.
        """
        if not request.asks(weight_properties):
            return [0.0] * len(weighed_obj_list)
        return list(super().weigh_objects(weighed_obj_list,
                                          weight_properties))

    def _weigh_object(self, host_state: Any, weight_properties: Any
                      ) -> float:
        host_map = rt_host_state.map_of(host_state)
        if host_map is None:
            return 0.0
        state = host_map.state
        return (state.total - state.total_used) / reservation.PPM
