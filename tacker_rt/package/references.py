# SPDX-License-Identifier: Apache-2.0

"""Checks the files that artifacts and interfaces of node templates name.

Tacker looks for these files when a package is on-boarded, beginning at the
folder of the file that names them.  Addresses are left to Tacker, because
this module fetches nothing.
"""

from collections.abc import Iterator, Mapping
import posixpath
from typing import Any
import urllib.parse

from tacker_rt import files
from tacker_rt.package import csar
from tacker_rt import problem

_ADVICE = 'add the file, or remove this key'
#: The keys that name the file of an operation; the first one counts.
_IMPLEMENTATION, _NESTED = 'implementation', ('primary', 'dependencies')

Nodes = Mapping[Any, Any]


def check(package: csar.Package, member: str, template: Mapping[Any, Any],
          problems: list[problem.Problem]) -> None:
    """Adds a problem to *problems* for each file that is missing."""
    quiet = problem.Place([], '')
    nodes = {name: node for name, node in quiet.section(
        dict(template), 'topology_template', 'node_templates').items()
        if isinstance(node, dict)}
    place = problem.Place(problems, package.name(member))
    named = [(f'{name}.{key}', file) for name, node in nodes.items()
             for key, file in _named(place, str(name), node)]
    if _calls_an_artifact(nodes):
        return
    for key, file in named:
        if not isinstance(file, str):
            place.add(key, file, 'the value must be the name of one file',
                      'write the name as a string')
        elif not (_is_url(file) or files.below(
                posixpath.dirname(member), file) in package.members):
            place.add(key, file, 'the package has no such file', _ADVICE)


def _is_url(name: str) -> bool:
    try:
        parts = urllib.parse.urlparse(name)
    except ValueError:
        return False
    return parts.scheme == 'file' or bool(parts.scheme and parts.netloc)


def _named(place: problem.Place, name: str, node: dict[Any, Any]
           ) -> Iterator[tuple[str, Any]]:
    for key, artifact in _mapping(place, name, node, 'artifacts'):
        if isinstance(artifact, str):
            yield f'artifacts.{key}', artifact
        elif not isinstance(artifact, dict):
            place.add(f'{name}.artifacts.{key}', artifact,
                      'an artifact must be the name of a file, or a mapping '
                      'with the key file',
                      'write the key file: NAME below its name')
        elif 'file' in artifact:
            yield f'artifacts.{key}.file', artifact['file']
    for key, interface in _mapping(place, name, node, 'interfaces'):
        below = {key: interface}
        for operation, body in _mapping(place, f'{name}.interfaces', below,
                                        key):
            for file in _implementations(body):
                yield f'interfaces.{key}.{operation}', file


def _mapping(place: problem.Place, name: str, parent: dict[Any, Any],
             key: Any) -> Iterator[tuple[Any, Any]]:
    """Yields the entries below *key*.

    Like Tacker, the function refuses a key without a value, but not an empty
    mapping.
    """
    value = parent.get(key, {})
    if isinstance(value, dict):
        yield from value.items()
    elif value or value is None:
        place.add(f'{name}.{key}', value, 'the value must be a mapping',
                  'remove the key, or indent the keys of the mapping below '
                  'its name')


def _implementations(body: Any) -> Iterator[Any]:
    """Yields the file of an operation, if it has one."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict) and _IMPLEMENTATION in body:
        value = body[_IMPLEMENTATION]
        if not isinstance(value, dict):
            yield value
            return
        yield from [value[key] for key in _NESTED if key in value][:1]


def _calls_an_artifact(nodes: Nodes) -> bool:
    """Tells whether an operation names an artifact defined before it.

    Tacker then checks no file of the template.
    """
    quiet = problem.Place([], '')
    names: set[Any] = set()
    for node in nodes.values():
        names |= {key for key, _ in _mapping(quiet, '', node, 'artifacts')}
        for key, interface in _mapping(quiet, '', node, 'interfaces'):
            for _, body in _mapping(quiet, '', {key: interface}, key):
                if any(isinstance(file, str) and file in names
                       for file in _implementations(body)):
                    return True
    return False
