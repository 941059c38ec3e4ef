# SPDX-License-Identifier: Apache-2.0

"""Collects VDUs, policies and inputs of parsed service templates.

Several files (the Definitions of a package) are read as one.  This module
does not know the meaning of a VDU or a policy.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import difflib
from typing import Any

from tacker_rt import problem

#: The type of a VDU in SOL001; Tacker's v2 API looks for this exact name.
SOL001_VDU = 'tosca.nodes.nfv.Vdu.Compute'
_VDUS = frozenset((SOL001_VDU, 'tosca.nodes.nfv.VDU',
                   'tosca.nodes.nfv.VDU.Tacker'))
#: The types of SOL001 4 for containers of Kubernetes.
_CONTAINERS = frozenset(('tosca.nodes.nfv.Vdu.OsContainer',
                         'tosca.nodes.nfv.Vdu.OsContainerDeployableUnit'))
#: Why these containers have no reservation, and what to do.
NO_CONTAINERS = ('containers of Kubernetes cannot have a reservation',
                 'remove this value')
_TOPOLOGY = 'topology_template'
_SECTIONS = frozenset((
    'description', 'groups', 'inputs', 'node_templates', 'outputs',
    'policies', 'relationship_templates', 'substitution_mappings',
    'workflows'))


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A node template or a policy, with its name."""

    name: str
    type: str
    body: dict[Any, Any]
    place: problem.Place


@dataclasses.dataclass(frozen=True, slots=True)
class Topology:
    """The contents of all files together.

    :ivar parents: the type from which each type is derived
    """

    vdus: dict[str, Part] = dataclasses.field(default_factory=dict)
    policies: list[Part] = dataclasses.field(default_factory=list)
    #: By file, because a template does not see the inputs of others.
    inputs: dict[str, dict[str, dict[Any, Any]]] = dataclasses.field(
        default_factory=dict)
    parents: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: Names of node templates that are containers of Kubernetes.
    containers: set[str] = dataclasses.field(default_factory=set)

    def lineage(self, kind: Any) -> list[str]:
        """Returns a type and the types from which it is derived."""
        types: list[str] = []
        while isinstance(kind, str) and kind not in types:
            types.append(kind)
            kind = self.parents.get(kind)
        return types

    def is_vdu(self, node_type: str) -> bool:
        """Tells whether a type is a VDU."""
        return not _VDUS.isdisjoint(self.lineage(node_type))


def gather(files: Mapping[str, Any], problems: list[problem.Problem]
           ) -> Topology:
    """Reads all files; adds problems to *problems*."""
    topology = Topology()
    usable = {}
    for file, template in files.items():
        place = problem.Place(problems, file)
        if not isinstance(template, dict):
            place.say('the file is not a service template',
                      'write a mapping with topology_template')
            continue
        for types in ('node_types', 'policy_types'):
            for name, kind in place.section(template, types).items():
                if isinstance(kind, dict):
                    topology.parents[name] = kind.get('derived_from')
        usable[file] = place, template
    for place, template in usable.values():
        _gather(topology, place, template)
    return topology


def _gather(topology: Topology, place: problem.Place,
            template: dict[Any, Any]) -> None:
    body = place.section(template, _TOPOLOGY)
    _check_sections(place, template, body)
    _gather_inputs(topology, place, place.section(body, 'inputs'))
    for part in _parts(place, place.section(body, 'node_templates')):
        if not topology.is_vdu(part.type):
            if not _CONTAINERS.isdisjoint(topology.lineage(part.type)):
                topology.containers.add(part.name)
            continue
        part = dataclasses.replace(part, place=place.for_vdu(part.name))
        if part.name in topology.vdus:
            first = topology.vdus[part.name].place.file
            part.place.say(f'{first} also has a VDU of this name',
                           'rename one of the two')
        else:
            topology.vdus[part.name] = part
    for entry in _policies(place, body.get('policies')):
        for part in _parts(place, entry):
            topology.policies.append(dataclasses.replace(
                part, place=dataclasses.replace(
                    part.place, policy=part.name)))


def _check_sections(place: problem.Place, template: dict[Any, Any],
                    body: dict[Any, Any]) -> None:
    """Checks the names of sections.

    A policy below a misspelt name would be ignored silently.
    """
    for key in template:
        if key != _TOPOLOGY and difflib.get_close_matches(
                str(key), [_TOPOLOGY], cutoff=0.85):
            place.say('a service template has no such section',
                      problem.nearest(key, [_TOPOLOGY]),
                      key=problem.name(key))
    for key in body:
        if key not in _SECTIONS:
            place.say(f'a {_TOPOLOGY} has no such section',
                      problem.nearest(key, _SECTIONS,
                                      'check the indentation'),
                      key=problem.name(key))


def _gather_inputs(topology: Topology, place: problem.Place,
                   inputs: dict[Any, Any]) -> None:
    declarations = topology.inputs.setdefault(place.file, {})
    for name, declared in inputs.items():
        if declared is None or isinstance(declared, dict):
            declarations[name] = declared or {}
        else:
            place.add(f'inputs.{name}', declared, 'an input must be a '
                      'mapping', 'indent the type and the default of the '
                                 'input below its name')


def _parts(place: problem.Place, entries: dict[Any, Any]) -> Iterator[Part]:
    for name, body in entries.items():
        if not isinstance(name, str):
            place.add(name, body, 'the name must be a string',
                      'put the name in quotes')
        elif isinstance(body, dict) and isinstance(body.get('type'), str):
            yield Part(name, body['type'], body, place)
        else:
            place.add(name, body, 'the value must be a mapping with a type',
                      'indent the keys of the mapping below its name')


def _policies(place: problem.Place, value: Any) -> list[dict[Any, Any]]:
    """Returns the list of policies; old files have one mapping instead."""
    entries = [value] if isinstance(value, dict) else value or []
    if not isinstance(entries, list):
        place.add('policies', value, 'policies must be a list',
                  'write - NAME: ...')
        return []
    for entry in entries:
        if not isinstance(entry, dict):
            place.add('policies', entry, 'each entry must be a mapping',
                      'write - NAME: ...')
    return [entry for entry in entries if isinstance(entry, dict)]


def flavours(files: Mapping[str, Any]) -> dict[str, str]:
    """Returns the deployment flavour of each file that describes one."""
    quiet = problem.Place([], '')
    ids = {file: quiet.section(template, _TOPOLOGY,
                               'substitution_mappings', 'properties'
                               ).get('flavour_id')
           for file, template in files.items() if isinstance(template, dict)}
    return {file: flavour for file, flavour in ids.items()
            if isinstance(flavour, str)}


def select_flavour(files: Mapping[str, Any], flavour: str) -> dict[str, Any]:
    """Returns the files that belong to a deployment flavour, or to all."""
    flavour_by_file = flavours(files)
    return {file: template for file, template in files.items()
            if flavour_by_file.get(file, flavour) == flavour}
