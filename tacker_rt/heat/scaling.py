# SPDX-License-Identifier: Apache-2.0

"""Scaling aspects with named flavors, and nested templates as plain values.

heat-translator only has nested templates as texts.
"""

from typing import Any

from translator.hot.tosca.etsi_nfv.scalingaspect import (
    tosca_policies_nfv_scalingaspect)
from translator.hot.tosca.etsi_nfv import tosca_policies_nfv_scalingaspects

from tacker_rt.heat import plain
from tacker_rt.heat import sol001


class _Aspect(tosca_policies_nfv_scalingaspect.ToscaNfvScalingAspect):

    def _handle_nested_template(
            self, scale_res: list[Any], yaml_name: str,
            hot_template_parameters: Any,
            parameters: plain.Values | None = None) -> dict[str, plain.Nested]:
        texts = super()._handle_nested_template(
            scale_res, yaml_name, hot_template_parameters, parameters)
        nested = plain.Nested(texts[yaml_name])
        nested.resources = list(scale_res)
        nested.parameters = dict(parameters or {})
        return {yaml_name: nested}


class ScalingAspects(
        tosca_policies_nfv_scalingaspects.ToscaNfvScalingAspects):
    """Gives the members of a scaling group the flavor that a VDU names.

    heat-translator would take the name of the flavor for a resource of the
    template.
    """

    def __init__(self, policy: Any, csar_dir: str | None = None,
                 hot_template_parameters: Any = None) -> None:
        super().__init__(policy, csar_dir, hot_template_parameters)
        self.scaling_aspect_objs = [
            _Aspect(policy, name, csar_dir, hot_template_parameters)
            for name in self.aspect_names]

    def handle_properties(self, resources: list[Any]) -> list[Any]:
        flavors = {
            f'{vdu.flavor_resource_name}_id'.lower(): vdu.named_flavor
            for vdu in resources
            if isinstance(vdu, sol001.VduCompute) and vdu.named_flavor}
        resources = super().handle_properties(resources)
        for group in resources:
            if group.type == 'OS::Heat::AutoScalingGroup':
                members = group.properties['resource']['properties']
                members.update({key: flavor for key, flavor
                                in flavors.items() if key in members})
        return resources
