# SPDX-License-Identifier: Apache-2.0

"""Puts reservations into the Heat templates of a package (its base HOT).

This module does not need Tacker: its functions take templates as mappings, and
change the templates in place.  The server of a VDU has the name of the VDU, in
the template or in a template nested in it.  In a *numbered* template, which
Tacker's StandardUserData makes, the server has the name of the VDU, a hyphen
and a number; in such a template a name without a number is not a VDU.
"""

from collections.abc import Callable, Iterator, Mapping
import re
from typing import Any

from nova_rt.rules import labels
from nova_rt.rules import reservation
from nova_rt.rules import workload
from tacker_rt import exception
from tacker_rt.heat import carrier
from tacker_rt.heat import syntax
from tacker_rt import problem
from tacker_rt.vnfd import descriptor

_NUMBERED = re.compile(r'(.+)-[0-9]+', re.DOTALL)
_HINTS = 'scheduler_hints'
_METADATA = 'metadata'

Template = dict[str, Any]
Vdus = Mapping[str, descriptor.Vdu]
#: Returns vcpus, ram in MiB and disk in GiB for the flavor of a VDU.
Size = Callable[[str], Mapping[str, int]]


def vdu_of(name: Any, vdus: Vdus, numbered: bool) -> descriptor.Vdu | None:
    """Returns the VDU after which a resource or a parameter is named."""
    if not isinstance(name, str):
        return None
    if not numbered:
        return vdus.get(name)
    match = _NUMBERED.fullmatch(name)
    return vdus.get(match[1]) if match else None


def hints(template: Template, vdus: Vdus, numbered: bool = False
          ) -> set[str]:
    """Gives the servers the hints of their VDUs.

    :returns: names of the VDUs whose servers were found
    :raises InvalidVnfd: when hints cannot be added to those of a server
    """
    served = set()
    for name, resource in _servers(template):
        vdu = vdu_of(name, vdus, numbered)
        if vdu is None:
            continue
        served.add(vdu.name)
        values = carrier.hints(vdu)
        if values:
            properties = _properties(resource)
            properties[_HINTS] = _merged(
                vdu, template, properties.get(_HINTS) or {}, values)
    return served


def metadata(template: Template, vnf: str) -> None:
    """Adds to the metadata of all servers the VNF that they belong to.

    Servers whose metadata cannot be extended are left alone.

    :param vnf: Tacker's identifier
    """
    for _, resource in _servers(template):
        properties = _properties(resource)
        before = properties.get(_METADATA) or {}
        if syntax.function(before):
            if syntax.has_map_merge(template):
                properties[_METADATA] = {
                    'map_merge': [before, {labels.VNF_KEY: vnf}]}
        elif isinstance(before, dict):
            properties[_METADATA] = {**before, labels.VNF_KEY: vnf}


def _merged(vdu: descriptor.Vdu, template: Template, before: Any,
            values: dict[str, Any]) -> dict[str, Any]:
    if syntax.function(before):
        if not syntax.has_map_merge(template):
            raise _error(vdu, f'{_HINTS} is a function, but templates of '
                         'this version have no map_merge',
                         'write heat_template_version: 2016-10-14 or newer')
        return {'map_merge': [before, values]}
    if not isinstance(before, dict):
        raise _error(vdu, f'{_HINTS} must be a mapping',
                     'write each hint as a key with a value')
    return {**before, **values}


def _servers(template: Template) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the name and the resource of each server.

    The result includes the server that a group repeats.

    :raises InvalidVnfd: when a part that must be a mapping is not
    """
    for name, resource in _section(template, 'resources').items():
        kind = _get(resource, 'type')
        if isinstance(kind, str) and kind in syntax.GROUPS:
            resource = _get(_get(resource, 'properties'), syntax.GROUPS[kind])
        if _get(resource, 'type') == syntax.SERVER:
            _section(resource, 'properties')
            yield name, resource


def _section(parent: Any, key: str) -> dict[Any, Any]:
    """Returns the mapping below *key*; {} if there is none.

    :raises InvalidVnfd: when the value is not a mapping
    """
    problems: list[problem.Problem] = []
    section = problem.Place(problems, 'BaseHOT').section(
        parent if isinstance(parent, dict) else {key: parent}, key)
    if problems:
        raise exception.InvalidVnfd(problem=problems[0])
    return section


def open_guard(template: Template) -> None:
    """Removes the guard from a template.

    Heat refuses a template with the guard, so a template that did not come
    through this module deploys nothing.
    """
    if syntax.is_guard(_section(template, 'resources').get(syntax.GUARD)):
        del template['resources'][syntax.GUARD]


def _properties(server: dict[str, Any]) -> dict[str, Any]:
    """Returns the properties of a server, which are added if missing."""
    properties: dict[str, Any] = server.get('properties') or {}
    server['properties'] = properties
    return properties


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def flavors(template: Template, vdus: Vdus, size: Size,
            numbered: bool = False) -> set[str]:
    """Adds the flavors that carry a reservation, and lets servers use them.

    A server keeps the extra specs that its flavor had when it was created,
    so another reservation needs another resource: the name of the resource
    has the numbers of the reservation.

    :returns: names of the VDUs whose servers use such a flavor
    :raises InvalidVnfd: when the size of a flavor is not known
    """
    resources = _section(template, 'resources')
    made = set()
    for vdu_name, value in list(syntax.flavor_uses(resources)):
        vdu = vdu_of(vdu_name, vdus, numbered)
        if vdu is None or not vdu.in_flavor:
            continue
        name = f'{vdu.name}_rt_{_numbers(vdu)}'
        value.clear()
        value['get_resource'] = name
        if vdu.name not in made:
            made.add(vdu.name)
            resources[name] = {
                'type': syntax.FLAVOR,
                'properties': {**size(vdu.name),
                               'extra_specs': carrier.extra_specs(vdu)}}
    return made


def as_patch(template: Template) -> None:
    """Changes a whole template into a patch of the old package's template.

    A JSON merge patch keeps all keys that the patch does not name.  Without
    this function, the old hints of a server would stay, and the old source of
    a flavor would stay beside the new source.

    :raises InvalidVnfd: when hints are a function, because old hints would
        stay beside it
    """
    for name, server in _servers(template):
        properties = _properties(server)
        if syntax.function(properties.get(_HINTS)):
            raise exception.InvalidVnfd(problem=problem.Problem(
                'BaseHOT', f'{_HINTS} is a function, and a change of the '
                'package cannot replace other hints by a function',
                'write each hint as a key with a value, or use a nested '
                'template', key=problem.name(name)))
        if properties.get(_HINTS):
            keys = (*reservation.KEYS, *workload.KEYS)
            properties[_HINTS] = {**dict.fromkeys(keys),
                                  **properties[_HINTS]}
        else:
            properties[_HINTS] = None
    _patch_flavors(template.get('resources'))


def _patch_flavors(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == 'flavor' and isinstance(item, dict):
                value[key] = {'get_param': None, 'get_resource': None, **item}
            else:
                _patch_flavors(item)


def check(vdus: Vdus, served: set[str], made: set[str]) -> None:
    """Checks that every reservation reached a server and, if any, a flavor.

    :raises InvalidVnfd: when a reservation did not; names the first VDU
    """
    for vdu in vdus.values():
        if not (vdu.hints or vdu.workload):
            continue
        if vdu.open_inputs:
            raise _error(vdu, f'the input {vdu.open_inputs[0]} of its '
                         'reservation has no value', 'give the input a '
                         'default, or ask for the reservation in the '
                         'request')
        if vdu.name not in served:
            raise _error(vdu, f'the base HOT has no {syntax.SERVER} of this '
                         'name', 'give the server the name of the VDU')
        if vdu.in_flavor and vdu.name not in made:
            raise _error(
                vdu, 'the base HOT does not take the flavor of the VDU from '
                f'[nfv, VDU, {vdu.name}, {syntax.FLAVOR_PARAMETER}]',
                'take the flavor from this parameter, or use the carrier '
                'hints')


def _error(vdu: descriptor.Vdu, rule: str, advice: str
           ) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        'BaseHOT', rule, advice, vdu=vdu.name))


def _numbers(vdu: descriptor.Vdu) -> str:
    mask = vdu.extra_specs.get(reservation.MASK_KEY, '')
    kind = vdu.extra_specs.get(reservation.KIND_KEY, '')
    return '_'.join([*map(str, vdu.hints.values()), *filter(None, (
        mask.replace('^', 'not').replace(',', '_'), kind))])
