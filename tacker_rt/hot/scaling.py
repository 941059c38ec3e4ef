# SPDX-License-Identifier: Apache-2.0

"""Scaling aspects of VDUs that name a flavor of the cloud.

heat-translator hands each member of a scaling group a flavor that it
believes to be a resource of the template.
"""

from typing import Any

from translator.hot.tosca.etsi_nfv import tosca_policies_nfv_scalingaspects

from tacker_rt.hot import sol001


class ScalingAspects(
        tosca_policies_nfv_scalingaspects.ToscaNfvScalingAspects):
    """Puts the named flavor where the resource would be."""

    def handle_properties(self, resources: list[Any]) -> list[Any]:
        named = {f'{vdu.flavor_resource_name}_id'.lower(): vdu.named_flavor
                 for vdu in resources
                 if isinstance(vdu, sol001.VduCompute) and vdu.named_flavor}
        resources = super().handle_properties(resources)
        for group in resources:
            if group.type == 'OS::Heat::AutoScalingGroup':
                members = group.properties['resource']['properties']
                members.update({key: flavor for key, flavor in named.items()
                                if key in members})
        return resources
