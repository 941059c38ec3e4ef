# SPDX-License-Identifier: Apache-2.0

"""Puts reservations into the Heat templates of a package (its base HOT).

Nothing of Tacker here: templates as mappings in, changed in place.  The
server of a VDU has the name of the VDU, in the template or in one nested in
it.  In a *numbered* template, as Tacker's StandardUserData makes them, it is
the name, a hyphen and a number, and nothing else is a VDU.
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
#: Gives vcpus, ram in MiB and disk in GiB for the flavor of a VDU.
Size = Callable[[str], Mapping[str, int]]


def vdu_of(name: Any, vdus: Vdus, numbered: bool) -> descriptor.Vdu | None:
    """The VDU that a resource, or a part of a parameter, is named after."""
    if not isinstance(name, str):
        return None
    if not numbered:
        return vdus.get(name)
    found = _NUMBERED.fullmatch(name)
    return vdus.get(found[1]) if found else None


def hints(template: Template, vdus: Vdus, numbered: bool = False
          ) -> set[str]:
    """Give the servers the hints of their VDUs.

    :returns: names of the VDUs whose servers were found
    :raises InvalidVnfd: a server has hints that cannot be added to
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
    """Tell all servers which VNF they belong to, where that can be added.

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
            raise _error(vdu, f'{_HINTS} is a function, and templates of '
                         'this version have no map_merge',
                         'write heat_template_version: 2016-10-14 or newer')
        return {'map_merge': [before, values]}
    if not isinstance(before, dict):
        raise _error(vdu, f'{_HINTS} must be a mapping',
                     'write each hint on a line of its own')
    return {**before, **values}


def _servers(template: Template) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields servers, those that a group repeats too; None if removed.

    :raises InvalidVnfd: what should be a mapping is none
    """
    for name, resource in _section(template, 'resources').items():
        kind = _get(resource, 'type')
        if isinstance(kind, str) and kind in syntax.GROUPS:
            resource = _get(_get(resource, 'properties'), syntax.GROUPS[kind])
        if _get(resource, 'type') == syntax.SERVER:
            _section(resource, 'properties')
            yield name, resource


def _section(parent: Any, key: str) -> dict[Any, Any]:
    """The mapping below *key*; empty where there is none."""
    found: list[problem.Problem] = []
    section = problem.Place(found, 'BaseHOT').section(
        parent if isinstance(parent, dict) else {key: parent}, key)
    if found:
        raise exception.InvalidVnfd(problem=found[0])
    return section


def open_guard(template: Template) -> None:
    """Remove what lets Heat refuse the template where nobody came here."""
    if syntax.is_guard(_section(template, 'resources').get(syntax.GUARD)):
        del template['resources'][syntax.GUARD]


def _properties(server: dict[str, Any]) -> dict[str, Any]:
    """Those of a server, which are added where it has none."""
    properties: dict[str, Any] = server.get('properties') or {}
    server['properties'] = properties
    return properties


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def flavors(template: Template, vdus: Vdus, size: Size,
            numbered: bool = False) -> set[str]:
    """Add the flavors that carry a reservation and let the servers use them.

    A server keeps what its flavor said when it was made, so another
    reservation is another resource: its name tells the numbers.

    :returns: names of the VDUs whose servers take them
    :raises InvalidVnfd: the size of one is not known
    """
    resources = _section(template, 'resources')
    made = set()
    for named, value in list(syntax.flavor_uses(resources)):
        vdu = vdu_of(named, vdus, numbered)
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
    """Change a whole template into a patch of one from another package.

    In a JSON merge patch what is not named stays: old hints of a server, and
    the old source of a flavor next to the new one.

    :raises InvalidVnfd: hints are a function, beside which old ones would
        stay
    """
    for name, server in _servers(template):
        properties = _properties(server)
        if syntax.function(properties.get(_HINTS)):
            raise exception.InvalidVnfd(problem=problem.Problem(
                'BaseHOT', f'{_HINTS} is a function, and a change of the '
                'package cannot put it in the place of others',
                'write each hint on a line of its own, or in a nested '
                'template', key=problem.name(name)))
        if properties.get(_HINTS):
            ours = (*reservation.KEYS, *workload.KEYS)
            properties[_HINTS] = {**dict.fromkeys(ours),
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
    """Every reservation found its server, and its flavor if it has one.

    :raises InvalidVnfd: naming the first VDU that has none
    """
    for vdu in vdus.values():
        if not (vdu.hints or vdu.workload):
            continue
        if vdu.open_inputs:
            raise _error(vdu, f'the input {vdu.open_inputs[0]} has no value '
                         'here', 'give it a default, or ask for a '
                         'reservation in the request')
        if vdu.name not in served:
            raise _error(vdu, f'the base HOT has no {syntax.SERVER} of this '
                         'name', 'name it as the VDU')
        if vdu.in_flavor and vdu.name not in made:
            raise _error(
                vdu, 'the base HOT does not take its flavor from '
                f'[nfv, VDU, {vdu.name}, {syntax.FLAVOR_PARAMETER}]',
                'let it, or use the carrier hints')


def _error(vdu: descriptor.Vdu, rule: str, advice: str
           ) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        'BaseHOT', rule, advice, vdu=vdu.name))


def _numbers(vdu: descriptor.Vdu) -> str:
    return '_'.join(str(value) for value in vdu.hints.values())
