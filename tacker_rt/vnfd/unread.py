# SPDX-License-Identifier: Apache-2.0

"""Finds reservations in places of a VNFD that nobody reads.

Wrong indentation makes valid YAML with another meaning.  Without this check
the VDU would silently be deployed without its reservation.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from nova_rt.rules import reservation as nova_reservation

from tacker_rt import problem
from tacker_rt.vnfd import node
from tacker_rt.vnfd import policies
from tacker_rt.vnfd import statements
from tacker_rt.vnfd import topology

_READ = frozenset({('capabilities', *node.REQUIREMENTS),
                   ('capabilities', *node.ALLOCATION)})
_CAPABILITIES = ('capabilities', *node.CAPABILITIES)
_ADVICE = 'move it to ' + ' or '.join(
    ' > '.join(path) for path in sorted(_READ))

_TOPOLOGY = 'topology_template'
_NODES = (_TOPOLOGY, 'node_templates')
_POLICIES = (_TOPOLOGY, 'policies')
#: Inputs may have any names.
_INPUTS = (_TOPOLOGY, 'inputs')

_Path = tuple[Any, ...]


def find_unread(files: Mapping[str, Any], parts: topology.Topology,
                problems: list[problem.Problem]) -> None:
    """Adds a problem to *problems* for each key that is not read."""
    own_policies = {policy.name for policy in parts.policies
                    if policies.is_ours(policy.type)}
    for file, template in files.items():
        if isinstance(template, dict):
            place = problem.Place(problems, file)
            body = {key: value for key, value in template.items()
                    if not _is_definition(key)}
            for path, key, value in keys(body, ()):
                if not (path == _INPUTS or _is_of_policy(own_policies, path)):
                    _check(place, parts, path, key, value)


def _is_definition(key: Any) -> bool:
    """Tells whether a section defines types, or holds anchors.

    The keys of such a section may have the names of our keys without being
    reservations.
    """
    return isinstance(key, str) and key.endswith(('_types', '_definitions'))


def _check(place: problem.Place, parts: topology.Topology, path: _Path,
           key: str, value: Any) -> None:
    if key == statements.CARRIER_KEY:
        in_vdu = path[:2] == _NODES and path[2:3] and path[2] in parts.vdus
        statements.refuse_carrier(place.for_vdu(path[2]) if in_vdu else place,
                                  key, value)
    elif path[:2] != _NODES or len(path) < 3:
        place.add(key, value, 'this key is not read here', _ADVICE)
    elif path[2] in parts.containers:
        place.add(key, value, f'{problem.name(path[2])}: '
                  f'{topology.NO_CONTAINERS[0]}', topology.NO_CONTAINERS[1])
    elif path[2] not in parts.vdus:
        place.add(key, value, f'{problem.name(path[2])} is not a VDU',
                  'move the key to a VDU, or import the file that derives '
                  'the type of this node from a VDU')
    elif path[3:] not in _READ and not (
            path[3:-2] == _CAPABILITIES and path[-1] == node.PARAMETERS):
        place.for_vdu(path[2]).add(key, value, 'this key is not read here',
                                   _ADVICE)


def _is_of_policy(own_policies: set[str], path: _Path) -> bool:
    """Tells whether a key belongs to one of our policies.

    The readers of these policies refuse unknown keys.
    """
    return (path[:2] == _POLICIES and path[3:] == ('properties',)
            and path[2] in own_policies)


def keys(value: Any, path: _Path) -> Iterator[tuple[_Path, str, Any]]:
    """Yields keys of hints at any depth, with the keys above them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str) and key.startswith(
                    nova_reservation.HINT_PREFIX):
                yield path, key, inner
            else:
                yield from keys(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner, path)
