# SPDX-License-Identifier: Apache-2.0

"""What parsed service templates contain: VDUs, policies and inputs.

Several files (the Definitions of a package) are read as one.  What a VDU or
a policy means is not known here.
"""

from collections.abc import Iterator, Mapping
import dataclasses
import difflib
from typing import Any

from tacker_rt import problem

#: SOL001's VDU, the one that Tacker's v2 API looks for by its exact name.
SOL001_VDU = 'tosca.nodes.nfv.Vdu.Compute'
_VDUS = frozenset((SOL001_VDU, 'tosca.nodes.nfv.VDU',
                   'tosca.nodes.nfv.VDU.Tacker'))
#: Those of SOL001 4 for containers of Kubernetes.
_CONTAINERS = frozenset(('tosca.nodes.nfv.Vdu.OsContainer',
                         'tosca.nodes.nfv.Vdu.OsContainerDeployableUnit'))
#: Why none of them has a reservation, and what to do.
NO_CONTAINERS = ('containers of Kubernetes are not reserved for', 'remove it')
_TOPOLOGY = 'topology_template'
_SECTIONS = frozenset((
    'description', 'groups', 'inputs', 'node_templates', 'outputs',
    'policies', 'relationship_templates', 'substitution_mappings',
    'workflows'))


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A node template or a policy, by its name."""

    name: str
    type: str
    body: dict[Any, Any]
    place: problem.Place


@dataclasses.dataclass(frozen=True, slots=True)
class Topology:
    """What the files say together; *parents* are those of types."""

    vdus: dict[str, Part] = dataclasses.field(default_factory=dict)
    policies: list[Part] = dataclasses.field(default_factory=list)
    #: By file: a template does not see those of others.
    inputs: dict[str, dict[str, dict[Any, Any]]] = dataclasses.field(
        default_factory=dict)
    parents: dict[str, Any] = dataclasses.field(default_factory=dict)
    #: Names of node templates that are containers of Kubernetes.
    containers: set[str] = dataclasses.field(default_factory=set)

    def lineage(self, kind: Any) -> list[str]:
        """A type and those that it is derived from in these files."""
        seen: list[str] = []
        while isinstance(kind, str) and kind not in seen:
            seen.append(kind)
            kind = self.parents.get(kind)
        return seen

    def is_vdu(self, node_type: str) -> bool:
        return not _VDUS.isdisjoint(self.lineage(node_type))


def gather(files: Mapping[str, Any], found: list[problem.Problem]
           ) -> Topology:
    """Read all files; what cannot be used is left in *found*."""
    topology = Topology()
    usable = {}
    for file, template in files.items():
        place = problem.Place(found, file)
        if not isinstance(template, dict):
            place.say('it is no service template',
                      'it must be a mapping with topology_template')
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
        part = dataclasses.replace(part, place=place.of(part.name))
        if part.name in topology.vdus:
            first = topology.vdus[part.name].place.file
            part.place.say(f'{first} has a VDU of this name, too',
                           'rename one of them')
        else:
            topology.vdus[part.name] = part
    for entry in _policies(place, body.get('policies')):
        for part in _parts(place, entry):
            topology.policies.append(dataclasses.replace(
                part, place=dataclasses.replace(
                    part.place, policy=part.name)))


def _check_sections(place: problem.Place, template: dict[Any, Any],
                    body: dict[Any, Any]) -> None:
    """A policy below a misspelt word would be lost without a trace."""
    for key in template:
        if key != _TOPOLOGY and difflib.get_close_matches(
                str(key), [_TOPOLOGY], cutoff=0.85):
            place.say('there is no such section',
                      problem.nearest(key, [_TOPOLOGY]),
                      key=problem.name(key))
    for key in body:
        if key not in _SECTIONS:
            place.say(f'there is no such section in a {_TOPOLOGY}',
                      problem.nearest(key, _SECTIONS,
                                      'check the indentation'),
                      key=problem.name(key))


def _gather_inputs(topology: Topology, place: problem.Place,
                   inputs: dict[Any, Any]) -> None:
    known = topology.inputs.setdefault(place.file, {})
    for name, declared in inputs.items():
        if declared is None or isinstance(declared, dict):
            known[name] = declared or {}
        else:
            place.add(f'inputs.{name}', declared, 'it must be a mapping',
                      'indent its type and default below it')


def _parts(place: problem.Place, entries: dict[Any, Any]) -> Iterator[Part]:
    for name, body in entries.items():
        if not isinstance(name, str):
            place.add(name, body, 'its name must be a text', 'quote it')
        elif isinstance(body, dict) and isinstance(body.get('type'), str):
            yield Part(name, body['type'], body, place)
        else:
            place.add(name, body, 'it must be a mapping with a type',
                      'indent what belongs to it below it')


def _policies(place: problem.Place, value: Any) -> list[dict[Any, Any]]:
    """Policies are a list of mappings; old files have one mapping."""
    entries = [value] if isinstance(value, dict) else value or []
    if not isinstance(entries, list):
        place.add('policies', value, 'it must be a list', 'write - NAME: ...')
        return []
    for entry in entries:
        if not isinstance(entry, dict):
            place.add('policies', entry, 'each entry must be a mapping',
                      'write - NAME: ...')
    return [entry for entry in entries if isinstance(entry, dict)]


def flavours(files: Mapping[str, Any]) -> dict[str, str]:
    """The deployment flavour of each file that describes one."""
    quiet = problem.Place([], '')
    ids = {file: quiet.section(template, _TOPOLOGY,
                               'substitution_mappings', 'properties'
                               ).get('flavour_id')
           for file, template in files.items() if isinstance(template, dict)}
    return {file: flavour for file, flavour in ids.items()
            if isinstance(flavour, str)}


def of_flavour(files: Mapping[str, Any], flavour: str) -> dict[str, Any]:
    """The files without those that describe another deployment flavour."""
    known = flavours(files)
    return {file: template for file, template in files.items()
            if known.get(file, flavour) == flavour}
