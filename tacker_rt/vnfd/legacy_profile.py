# SPDX-License-Identifier: Apache-2.0

"""Leaves out parts of legacy VNFDs that a Heat template cannot express.

Tacker up to 10 monitored, configured and chained VNFs by itself.  This module
leaves out the parts of VNFDs for these functions, by their names in the type
files of Tacker 10, each with a warning.  Any other unknown name is left in,
and tosca-parser refuses it.
"""

from collections.abc import Iterator
from typing import Any

from tacker_rt import problem

_VDU = 'tosca.nodes.nfv.VDU.Tacker'
_CP = 'tosca.nodes.nfv.CP.Tacker'
_PROPERTIES = {
    _VDU: frozenset((
        'app_monitoring_policy', 'config', 'labels', 'maintenance',
        'mapping_ports', 'mgmt_driver', 'monitoring_policy', 'namespace',
        'placement_policy', 'reservation_metadata', 'service_type',
        'vnfcs')),
    _CP: frozenset(('management',))}
_COMPUTE = frozenset(('mem_page_size', 'numa_node_count', 'numa_nodes'))
_NODES = frozenset((
    'tosca.nodes.nfv.FP.Tacker', 'tosca.nodes.nfv.FP.TackerV2',
    'tosca.nodes.nfv.VNFC.Tacker', 'tosca.nodes.BlockStorage.Tacker',
    'tosca.nodes.BlockStorageAttachment'))
_POLICIES = 'tosca.policies.tacker.'
_PLACEMENT = _POLICIES + 'Placement'
_GROUPS = 'tosca.groups.nfv.'
_ADVICE = 'this part is left out; provide for it in another way'


def leave_out(template: dict[Any, Any], file: str
              ) -> list[problem.Problem]:
    """Removes, in place, the parts that are not translated.

    :returns: a warning for each part
    """
    problems: list[problem.Problem] = []
    place = problem.Place(problems, file)
    topology = place.section(template, 'topology_template')
    nodes = place.section(topology, 'node_templates')
    for name, node in list(nodes.items()):
        if isinstance(node, dict) and node.get('type') in _NODES:
            del nodes[name]
            _warn(place, problem.name(name), node['type'])
        elif isinstance(node, dict):
            _leave_properties(place.for_vdu(str(name)), node)
    _leave_policies(place, topology)
    _leave_groups(place, topology)
    return problems


def _warn(place: problem.Place, key: str, part: str) -> None:
    place.say(f'{part} is not translated', _ADVICE, key=key)


def _leave_properties(place: problem.Place, node: dict[Any, Any]) -> None:
    names = _PROPERTIES.get(str(node.get('type')), frozenset())
    properties: Any = node.get('properties')
    for name in _common(properties, names):
        # Nothing is lost with a driver that does nothing.
        if properties.pop(name) != 'noop':
            _warn(place, name, 'the property')
    if not properties and 'properties' in node:
        del node['properties']
    if node.get('type') == _VDU:
        compute = problem.Place([], '').section(
            node, 'capabilities', 'nfv_compute', 'properties')
        for name in _common(compute, _COMPUTE):
            del compute[name]
            _warn(place, name, 'the property')


def _common(properties: Any, names: frozenset[str]) -> list[str]:
    return sorted(names.intersection(properties)) if isinstance(
        properties, dict) else []


def _leave_policies(place: problem.Place, topology: dict[Any, Any]) -> None:
    listed = topology.get('policies')
    entries = [listed] if isinstance(listed, dict) else listed
    if not isinstance(entries, list):
        return
    kept = []
    for entry in entries:
        for name, kind in _types(entry):
            if kind.startswith(_POLICIES) and kind != _PLACEMENT:
                del entry[name]
                _warn(place, problem.name(name), kind)
        if entry:
            kept.append(entry)
    topology['policies'] = kept
    if not kept:
        del topology['policies']


def _leave_groups(place: problem.Place, topology: dict[Any, Any]) -> None:
    groups = topology.get('groups')
    for name, kind in list(_types(groups)):
        if kind.startswith(_GROUPS):
            del topology['groups'][name]
            _warn(place, problem.name(name), kind)
    if not groups and 'groups' in topology:
        del topology['groups']


def _types(entries: Any) -> Iterator[tuple[str, str]]:
    for name, body in list(entries.items()) if isinstance(
            entries, dict) else ():
        if isinstance(body, dict) and isinstance(body.get('type'), str):
            yield name, body['type']
