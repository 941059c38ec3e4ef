# SPDX-License-Identifier: Apache-2.0

"""User data for Tacker's v1 API, for packages with a base HOT.

To heal and to scale, Tacker reads the file of a v1 class from the package
again, so the package must have this file.  The file has a single line::

    from tacker_rt.userdata.v1 import RtUserData  # noqa: F401

A v1 class returns parameters and cannot change templates.  The base HOT
takes the reservation of a VDU from nfv, for its hints or for a flavor of its
own::

    cpu.rt_runtime_us: {get_param: [nfv, VDU, VDU1, cpu.rt_runtime_us]}
    cpu.rt_period_us: {get_param: [nfv, VDU, VDU1, cpu.rt_period_us]}
"""

import logging
from typing import Any

from tacker.extensions import vnfm
from tacker.sol_refactored.common import vnf_instance_utils
from tacker.vnfm.lcm_user_data import abstract_user_data
from tacker.vnfm.lcm_user_data import utils

from tacker_rt import exception
from tacker_rt.vnfd import descriptor

LOG = logging.getLogger(__name__)

Json = dict[str, Any]


class RtUserData(abstract_user_data.AbstractUserData):
    """The parameters for flavor, image, networks and reservation of a VDU.

    Scaling and healing use the parameters that the stack already has.
    """

    @staticmethod
    def instantiate(base_hot_dict: Json, vnfd_dict: Json,
                    inst_req_info: Any, grant_info: Json | None) -> Json:
        """Returns the parameters of the stack.

        :raises LCMUserDataFailed: when a reservation is not valid
        """
        parameters = _parameters(base_hot_dict, vnfd_dict, inst_req_info,
                                 grant_info or {})
        try:
            vdus = descriptor.read_vdus(
                vnfd_dict, where='VNFD',
                request=inst_req_info.additional_params)
        except exception.TackerRTError as error:
            # sys.exit is wrong here: this is a thread of the conductor.
            raise vnfm.LCMUserDataFailed(reason=str(error))
        for vdu in vdus.values():
            if vdu.source:
                LOG.info('VDU %s: %s from %s', vdu.name,
                         vdu.reservation or dict(vdu.hints), vdu.source)
            parameters['nfv']['VDU'].setdefault(vdu.name, {}).update(
                {**vdu.hints, **vdu.workload})
        return parameters


def _parameters(base_hot: Json, vnfd_dict: Json, request: Any, grant: Json
                ) -> Json:
    """Returns the parameters of all v1 classes, changed by the request."""
    initial = utils.create_initial_param_dict(base_hot)
    networks = (utils.create_network_dict(request, initial)
                if request.ext_virtual_links else {})
    parameters: Json = utils.create_final_param_dict(
        initial, utils.create_vdu_flavor_capability_name_dict(vnfd_dict),
        {**utils.create_sw_image_dict(vnfd_dict),
         **utils.create_vdu_image_dict(grant)}, networks)
    changes = utils.get_diff_base_hot_param_from_api(base_hot, request)
    merged: Json = vnf_instance_utils.json_merge_patch(parameters, changes)
    return merged
