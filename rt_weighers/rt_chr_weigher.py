# SPDX-License-Identifier: Apache-2.0

"""Places servers without a reservation on hosts of a size that suits them."""

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
#: What libvirt calls itself where Nova runs containers.
_CONTAINERS = 'lxc'


class RTCHRWeigher(weights.BaseHostWeigher):
    """Weighs hosts by CHR: the vCPUs of a server over the cores of a host.

    A server with a reservation is bound to as many pCPUs as it has vCPUs,
    whatever the size of the host, so that all hosts get the same weight.
    Hosts of virtual machines get no weight, because the loss is specific to
    containers (paper 001, section IV.A).
    """

    minval = 0
    maxval = 1

    def __init__(self) -> None:
        super().__init__()
        rt_conf.register_opts(CONF)

    def weight_multiplier(self, host_state: Any) -> float:
        """Returns chr_weight_multiplier, of an aggregate or of [nova_rt]."""
        return float(utils.get_weight_multiplier(
            host_state, 'chr_weight_multiplier',
            CONF.nova_rt.chr_weight_multiplier))

    def weigh_objects(self, weighed_obj_list: list[Any],
                      weight_properties: Any) -> list[float]:
        """Returns a weight for each host.

        All weights are 0 for a server without a class or with a reservation.
        """
        app_class = _class_of(weight_properties)
        if app_class is None:
            return [0.0] * len(weighed_obj_list)
        relief = core_ratio.RANGES[app_class].relief
        vcpus = weight_properties.flavor.vcpus
        return [relief(vcpus, host.obj.vcpus_total)
                if host.obj.vcpus_total and _has_containers(host.obj) else 0.0
                for host in weighed_obj_list]

    def _weigh_object(self, host_state: Any, weight_properties: Any
                      ) -> float:
        return self.weigh_objects([weights.WeighedHost(host_state, 0.0)],
                                  weight_properties)[0]


def _has_containers(host_state: Any) -> bool:
    return str(host_state.hypervisor_type).lower() == _CONTAINERS


def _class_of(spec: Any) -> workload.AppClass | None:
    app_class = neighbours.workload_of(spec).app_class
    if app_class is None or request.asks(spec):
        return None
    return app_class
