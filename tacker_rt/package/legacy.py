# SPDX-License-Identifier: Apache-2.0

"""Makes a package for Tacker's v2 API of a legacy VNFD.

The translation of the VNFD becomes the base HOT, without reservations and
the flavors that carry them: the user data of tacker_rt adds both from the new
VNFD.
"""

from pathlib import Path
from typing import Any
import uuid

import yaml

from nova_rt.rules import reservation
from tacker_rt import exception
from tacker_rt.heat import syntax
from tacker_rt.package import csar
from tacker_rt.package import pack
from tacker_rt import problem
from tacker_rt import translate
from tacker_rt.vnfd import descriptor
from tacker_rt.vnfd import typefiles

FLAVOUR = 'simple'
_VNFD = 'vnfd.yaml'
_TYPE = 'tacker_rt.packages.Vnf'
_FLAVOR = 'OS::Nova::Flavor'
_ETSI = ('etsi_nfv_sol001_common_types.yaml',
         'etsi_nfv_sol001_vnfd_types.yaml')
#: The size of a VDU that names a flavor, which has the real size.
_UNKNOWN = {'vcpus': 1, 'ram': 1, 'disk': 1}

Json = dict[str, Any]


def members(path: Path, *, image: str | None = None,
            etsi: Path | None = None,
            warnings: list[problem.Problem] | None = None) -> pack.Members:
    """Returns the content of the package.

    :param image: the image of the VDUs that name none
    :param etsi: the directory of the types of SOL001, by default of Tacker
    :param warnings: gets a problem for each part that is left out
    :raises InvalidVnfd: when the VNFD cannot be packed
    """
    vdus = descriptor.read_vdus(typefiles.load(path), where=path.name)
    templates = translate.translate(path, image=image, etsi=etsi,
                                    warnings=warnings)
    if len(templates) > 1 or not vdus:
        raise _error(path, 'a VNFD that scales, or that has no VDU, cannot '
                     'be packed', 'write a package with scaling aspects')
    hot = templates[translate.MAIN]
    nodes = {name: _node(path, vdu, hot['resources'])
             for name, vdu in vdus.items()}
    if any(vdu.hints for vdu in vdus.values()):
        hot['resources'].setdefault(syntax.GUARD, syntax.GUARDED)
    hot['parameters'] = {**(hot.get('parameters') or {}),
                         'nfv': {'type': 'json'}}
    folder = f'{csar.DEFINITIONS}/'
    content: pack.Members = {
        csar.META: pack.meta(folder + _VNFD),
        folder + _VNFD: _dump(_template(path, nodes)),
        f'{csar.BASE_HOT}/{FLAVOUR}/{translate.MAIN}': _dump(hot)}
    for name, file in typefiles.find_by_name(_ETSI, etsi).items():
        content[folder + name] = file
    return content


def _dump(content: Json) -> bytes:
    text: str = yaml.safe_dump(content, sort_keys=False)
    return text.encode()


def _error(path: Path, rule: str, advice: str, vdu: str | None = None
           ) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        path.name, rule, advice, vdu=vdu))


def _node(path: Path, vdu: descriptor.Vdu, resources: Json) -> Json:
    """Returns the VDU as a node template of SOL001.

    The server of the VDU in *resources* is changed in place.
    """
    server = resources[vdu.name]['properties']
    if 'image' not in server:
        raise _error(path, 'the VDU names no image', 'give --image',
                     vdu.name)
    size = _size(path, vdu, resources)
    if vdu.flavor:
        server['flavor'] = {
            'get_param': ['nfv', 'VDU', vdu.name, 'computeFlavourId']}
    hints = {key: value
             for key, value in server.pop('scheduler_hints', {}).items()
             if key not in reservation.KEYS}
    if hints:
        server['scheduler_hints'] = hints
    return {'type': 'tosca.nodes.nfv.Vdu.Compute',
            'properties': {
                'name': vdu.name,
                'description': f'{vdu.name} of {path.name}',
                'vdu_profile': {'min_number_of_instances': 1,
                                'max_number_of_instances': 1}},
            'capabilities': {'virtual_compute': {
                'properties': _compute(path, vdu, size)}}}


def _size(path: Path, vdu: descriptor.Vdu, resources: Json) -> Json:
    flavor = resources.get(f'{vdu.name}_flavor', {'properties': _UNKNOWN})
    size: Json = flavor['properties']
    if not isinstance(size['vcpus'], int):
        raise _error(path, 'num_cpus is an input', 'write the number '
                     'itself', vdu.name)
    return size


def _compute(path: Path, vdu: descriptor.Vdu, size: Json) -> Json:
    properties: Json = {
        'virtual_memory': {'virtual_mem_size': f'{size["ram"]} MiB'},
        'virtual_cpu': {'num_virtual_cpu': size['vcpus']},
        'virtual_local_storage': [{'size_of_storage': f'{size["disk"]} GiB'}]}
    if vdu.hints:
        properties['virtual_cpu']['vdu_cpu_requirements'] = _numbers(
            path, vdu)
    if vdu.flavor:
        properties['requested_additional_capabilities'] = {'properties': {
            'requested_additional_capability_name': vdu.flavor,
            'support_mandatory': True,
            'target_performance_parameters': {'flavor': 'of the cloud'}}}
    return properties


def _numbers(path: Path, vdu: descriptor.Vdu) -> dict[str, str]:
    for key, value in vdu.hints.items():
        if isinstance(value, descriptor.Input):
            raise _error(path, f'the input {value.name} for {key} has no '
                         'value', 'give the input a default', vdu.name)
    return {key: str(value) for key, value in vdu.hints.items()}


def _template(path: Path, nodes: Json) -> Json:
    descriptor_id = str(uuid.uuid5(uuid.NAMESPACE_URL,
                                   path.name + repr(nodes)))
    values: Json = {
        'descriptor_id': descriptor_id, 'descriptor_version': '1.0',
        'provider': 'tacker-rt', 'product_name': path.stem,
        'software_version': '1.0', 'vnfm_info': ['0:Tacker'],
        'flavour_id': FLAVOUR, 'flavour_description': path.name}
    properties: Json = {key: {'type': 'string', 'default': value}
                        for key, value in values.items()}
    properties['vnfm_info'] = {
        'type': 'list', 'entry_schema': {'type': 'string'},
        'default': list(values['vnfm_info'])}
    return {
        'tosca_definitions_version': 'tosca_simple_yaml_1_2',
        'description': f'Made of {path.name}',
        'imports': list(_ETSI),
        # tosca-parser requires a default or an input for each property.
        'node_types': {_TYPE: {'derived_from': 'tosca.nodes.nfv.VNF',
                               'properties': properties}},
        'topology_template': {
            'substitution_mappings': {
                'node_type': _TYPE, 'properties': {'flavour_id': FLAVOUR}},
            'node_templates': {
                'VNF': {'type': _TYPE, 'properties': values}, **nodes}}}
