# SPDX-License-Identifier: Apache-2.0

"""Runs in Tacker: v1's template of a VNFD without base HOT.

JSON in: a list of {root, flavour}, the place of an on-boarded package, and
without_plugin for heat-translator as it is without our entry point.  JSON
out: for each {template, files}, as they would go to Heat.
"""

from unittest import mock

import serving
from tacker import objects
from tacker.vnflcm import utils as vnflcm_utils
from tacker.vnfm.infra_drivers.openstack import translate_template
from translator.hot import translate_node_templates
import yaml


def examine(case):
    if case.get('without_plugin'):
        translate_node_templates.TOSCA_TO_HOT_TYPE = (
            translate_node_templates._generate_type_map())
    vnfd = vnflcm_utils._get_flavour_based_vnfd(case['root'], case['flavour'])
    heat = mock.Mock()
    heat.resource_attr_support.return_value = True
    vnf = {'vnfd': {'attributes': {
        'vnfd': yaml.safe_dump(vnfd)}},
        'attributes': {}}
    request = objects.InstantiateVnfRequest(
        flavour_id=case['flavour'], instantiation_level_id=None,
        ext_virtual_links=[], ext_managed_virtual_links=[])
    translated = translate_template.TOSCAToHOT(vnf, heat, request, {})
    translated.generate_hot()
    return {'template': translated.heat_template_yaml,
            'files': translated.nested_resources}


def main():
    objects.register_all()
    serving.serve(examine)


if __name__ == '__main__':
    main()
