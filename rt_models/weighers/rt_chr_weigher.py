# SPDX-License-Identifier: Apache-2.0

"""Places shared servers on hosts of a size that suits them."""

from typing import Any

import nova.conf
from nova.scheduler import utils
from nova.scheduler import weights

from nova_rt.rules import workload
from nova_rt.services import conf as rt_conf
from nova_rt.services.scheduler import neighbours
from nova_rt.services.scheduler import request
from rt_models.pinning import core_ratio

CONF = nova.conf.CONF


class RTCHRWeigher(weights.BaseHostWeigher):
    """Weighs by CHR, the vCPUs of a server over the cores of a host.

    A server with a reservation is bound to as many pCPUs as it has vCPUs,
    whatever the size of the host: all hosts are alike to it.
    """

    minval = 0
    maxval = 1

    def __init__(self) -> None:
        super().__init__()
        rt_conf.register_opts(CONF)

    def weight_multiplier(self, host_state: Any) -> float:
        """[nova_rt] chr_weight_multiplier or that of an aggregate."""
        return float(utils.get_weight_multiplier(
            host_state, 'chr_weight_multiplier',
            CONF.nova_rt.chr_weight_multiplier))

    def weigh_objects(self, weighed_obj_list: list[Any],
                      weight_properties: Any) -> list[float]:
        """Without a class, or with a reservation, all hosts are alike."""
        app_class = _class_of(weight_properties)
        if app_class is None:
            return [0.0] * len(weighed_obj_list)
        nearness = core_ratio.RANGES[app_class].nearness
        vcpus = weight_properties.flavor.vcpus
        return [nearness(vcpus, each.obj.vcpus_total)
                if each.obj.vcpus_total else 0.0
                for each in weighed_obj_list]

    def _weigh_object(self, host_state: Any, weight_properties: Any
                      ) -> float:
        found = self.weigh_objects([weights.WeighedHost(host_state, 0.0)],
                                   weight_properties)
        return found[0]


def _class_of(spec: Any) -> workload.AppClass | None:
    found = neighbours.workload_of(spec).app_class
    if found is None or request.asks(spec):
        return None
    return found
