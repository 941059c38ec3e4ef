# SPDX-License-Identifier: Apache-2.0

"""Packages of a VNF with two VDUs, in each form that has a user data class.

``single``: a resource for each VDU, ``group``: scaling groups (both for
RtDefaultUserData), ``individual``: a resource for each instance
(RtStandardUserData).  They are made of the samples.
"""

import pathlib
from typing import Any
import uuid

import yaml

from tacker_rt.package import pack
from tests.functional.tacker import samples

FORMS = {'single': 'RtDefaultUserData', 'group': 'RtDefaultUserData',
         'individual': 'RtStandardUserData'}
#: Runtime and period of each VDU, in two versions of the package.
VERSIONS = {'a': {'web': (20_000, 100_000), 'db': (10_000, 50_000)},
            'b': {'web': (25_000, 100_000), 'db': (12_000, 50_000)}}
#: Servers to begin with.
COUNTS = {'web': 2, 'db': 1}
_SAMPLE = samples.SAMPLES / 'sol001-scaling' / 'package'

Json = dict[str, Any]


def make(form: str, version: str, folder: pathlib.Path, mask: str = ''
         ) -> pathlib.Path:
    """The CSAR of a version of the VNF.

    :param mask: the vCPUs of web that the reservation is for
    """
    members = pack.directory(_SAMPLE)
    members['Definitions/vnfd.yaml'] = _dumped(_vnfd(form, version, mask))
    nested = 'BaseHOT/simple/nested/'
    hot = members.pop(f'{nested}VDU1.yaml')
    assert isinstance(hot, pathlib.Path)
    for vdu in COUNTS:
        members[f'{nested}{vdu}.yaml'] = _dumped(_nested(vdu))
    members['BaseHOT/simple/hot.yaml'] = _dumped(_top(form))
    path = folder / f'{form}-{version}{"-masked" if mask else ""}.csar'
    pack.write(members, path)
    return path


def _dumped(content: Json) -> bytes:
    return yaml.safe_dump(content, sort_keys=False).encode()


def _vnfd(form: str, version: str, mask: str) -> Json:
    content: Json = yaml.safe_load(
        (_SAMPLE / 'Definitions' / 'vnfd.yaml').read_text())
    known = str(uuid.uuid5(uuid.NAMESPACE_URL, f'{form} {version}'))
    kind = content['node_types']['tacker_rt.samples.Vnf']
    kind['properties']['descriptor_id']['default'] = known
    topology = content['topology_template']
    nodes = topology['node_templates']
    nodes['VNF']['properties']['descriptor_id'] = known
    template = yaml.safe_dump(nodes.pop('VDU1'))
    for vdu, (runtime, period) in VERSIONS[version].items():
        nodes[vdu] = node = yaml.safe_load(template.replace('VDU1', vdu))
        node['capabilities']['virtual_compute']['properties']['virtual_cpu'][
            'vdu_cpu_requirements'] = {'cpu.rt_runtime_us': str(runtime),
                                       'cpu.rt_period_us': str(period)}
    if mask:
        compute = nodes['web']['capabilities']['virtual_compute']['properties']
        # A mask needs a flavor that is made for the VDU.
        del compute['requested_additional_capabilities']
        cpu = compute['virtual_cpu']
        cpu['num_virtual_cpu'] = 2
        cpu['vdu_cpu_requirements']['cpu.rt_mask'] = mask
    topology['policies'] = _policies(topology['policies'], form)
    return content


def _policies(listed: list[Json], form: str) -> list[Json]:
    """Returns the policies: web has VDU1's, db only a number of servers."""
    text = yaml.safe_dump(listed).replace('VDU1', 'web')
    if form == 'single':
        text = text.replace('number_of_instances: 2',
                            'number_of_instances: 1')
    policies: list[Json] = yaml.safe_load(text)
    return [*policies, {'db_levels': {
        'type': 'tosca.policies.nfv.VduInstantiationLevels',
        'properties': {'levels': {
            level: {'number_of_instances': COUNTS['db']}
            for level in ('one', 'two')}}, 'targets': ['db']}}]


def _nested(vdu: str) -> Json:
    return {
        'heat_template_version': '2013-05-23',
        'parameters': {'flavor': {'type': 'string'},
                       'net': {'type': 'string'}},
        'resources': {vdu: {'type': 'OS::Nova::Server', 'properties': {
            'flavor': {'get_param': 'flavor'}, 'image': 'i',
            'networks': [{'network': {'get_param': 'net'}}]}}}}


def _top(form: str) -> Json:
    resources = {}
    for vdu in COUNTS:
        server = {'type': f'{vdu}.yaml', 'properties': {
            'flavor': {'get_param': ['nfv', 'VDU', vdu, 'computeFlavourId']},
            'net': {'get_param': ['nfv', 'CP', f'{vdu}_CP', 'network']}}}
        resources[vdu] = server
        if form == 'group':
            # All VDUs are in groups: Tacker fails if only some are.
            resources.pop(vdu)
            resources[f'{vdu}_group'] = {
                'type': 'OS::Heat::AutoScalingGroup', 'properties': {
                    'min_size': 1, 'max_size': 3, 'resource': server,
                    'desired_capacity': {'get_param': [
                        'nfv', 'VDU', vdu, 'desired_capacity']}}}
    return {'heat_template_version': '2013-05-23',
            'parameters': {'nfv': {'type': 'json'}}, 'resources': resources}


def networks(name: str) -> list[Json]:
    """Returns the extVirtualLinks of a request, with one network."""
    return [{'id': str(uuid.uuid5(uuid.NAMESPACE_URL, name)),
             'resourceId': name, 'extCps': [
                 {'cpdId': f'{vdu}_CP', 'cpConfig': {vdu: {
                     'cpProtocolData': [
                         {'layerProtocol': 'IP_OVER_ETHERNET'}]}}}
                 for vdu in COUNTS]}]
