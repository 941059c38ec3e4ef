# SPDX-License-Identifier: Apache-2.0

"""Puts reservations into the Heat templates of a package (its base HOT).

Nothing of Tacker here: templates as mappings in, changed in place.  The
server of a VDU has the name of the VDU, in the template or in one nested in
it; where Tacker numbers them, the name, a hyphen and the number.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from nova_rt import reservation
from tacker_rt import carrier
from tacker_rt import exception
from tacker_rt import problem
from tacker_rt import vnfd

_SERVER = 'OS::Nova::Server'
_FLAVOR = 'OS::Nova::Flavor'
_GROUP = 'OS::Heat::AutoScalingGroup'
_FLAVOR_PARAMETER = 'computeFlavourId'

Template = dict[str, Any]
#: vcpus, ram in MiB and disk in GiB of the flavor of a VDU.
Sizes = Mapping[str, Mapping[str, int]]


def vdu_of(name: str, vdus: Mapping[str, vnfd.Vdu]) -> vnfd.Vdu | None:
    """The VDU that a resource, or a part of a parameter, is named after."""
    base, _, number = name.rpartition('-')
    return vdus.get(name) or (vdus.get(base) if number.isdigit() else None)


def hints(templates: list[Template], vdus: Mapping[str, vnfd.Vdu]
          ) -> set[str]:
    """Give the servers the hints of their VDUs.

    :returns: names of the VDUs whose servers were found
    """
    served = set()
    for template in templates:
        for name, resource in _servers(template):
            vdu = vdu_of(name, vdus)
            if vdu is None:
                continue
            served.add(vdu.name)
            values = carrier.hints(vdu)
            if values:
                properties = resource.setdefault('properties', {})
                properties['scheduler_hints'] = {
                    **(properties.get('scheduler_hints') or {}), **values}
    return served


def _servers(template: Template) -> Iterator[tuple[str, dict[str, Any]]]:
    """With those that a scaling group repeats; a removed one is None."""
    for name, resource in (template.get('resources') or {}).items():
        if resource and resource.get('type') == _GROUP:
            resource = resource['properties']['resource']
        if resource and resource.get('type') == _SERVER:
            yield name, resource


def flavors(template: Template, vdus: Mapping[str, vnfd.Vdu], sizes: Sizes
            ) -> None:
    """Add the flavors that carry a reservation and let the servers use them.

    A server keeps what its flavor said when it was made, so another
    reservation is another resource: its name tells the numbers.
    """
    made = {vdu.name: f'{vdu.name}_rt_{_numbers(vdu)}'
            for vdu in vdus.values() if _is_in_flavor(vdu)}
    resources = template.get('resources') or {}
    for name in made:
        places = list(_flavor_uses(resources, name))
        for value in places:
            value.clear()
            value['get_resource'] = made[name]
        if places:
            resources[made[name]] = {
                'type': _FLAVOR,
                'properties': {**sizes[name],
                               'extra_specs': carrier.extra_specs(
                                   vdus[name])}}


def as_patch(template: Template) -> None:
    """Change a whole template into a patch of one from another package.

    In a JSON merge patch what is not named stays: old hints of a server, and
    the old source of a flavor next to the new one.
    """
    for _, server in _servers(template):
        properties = server.setdefault('properties', {})
        if properties.get('scheduler_hints'):
            properties['scheduler_hints'] = {
                **dict.fromkeys(reservation.KEYS),
                **properties['scheduler_hints']}
        else:
            properties['scheduler_hints'] = None
    _patch_flavors(template.get('resources'))


def _patch_flavors(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == 'flavor' and isinstance(item, dict):
                value[key] = {'get_param': None, 'get_resource': None, **item}
            else:
                _patch_flavors(item)


def check(template: Template, vdus: Mapping[str, vnfd.Vdu],
          served: set[str]) -> None:
    """Every reservation found its server.

    :raises InvalidVnfd: naming the first VDU that has none
    """
    resources = template.get('resources') or {}
    for vdu in vdus.values():
        if not vdu.hints:
            continue
        if vdu.name not in served:
            raise _error(vdu, f'the base HOT has no {_SERVER} of this name',
                         'name it as the VDU')
        if _is_in_flavor(vdu) and not any(
                name.startswith(f'{vdu.name}_rt_') for name in resources):
            raise _error(
                vdu, 'the base HOT does not take its flavor from '
                f'[nfv, VDU, {vdu.name}, {_FLAVOR_PARAMETER}]',
                'let it, or use the carrier hints')


def _error(vdu: vnfd.Vdu, rule: str, advice: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        'BaseHOT', rule, advice, vdu=vdu.name))


def _is_in_flavor(vdu: vnfd.Vdu) -> bool:
    return bool(vdu.hints) and vdu.carrier is not vnfd.Carrier.HINTS


def _numbers(vdu: vnfd.Vdu) -> str:
    return '_'.join(str(value) for value in vdu.hints.values())


def _flavor_uses(value: Any, name: str) -> Iterator[dict[str, Any]]:
    """Each ``{get_param: [nfv, VDU, name, computeFlavourId]}``."""
    if isinstance(value, dict):
        path = value.get('get_param')
        if (isinstance(path, list) and path[:2] == ['nfv', 'VDU']
                and path[3:] == [_FLAVOR_PARAMETER]
                and (path[2] == name or path[2].rpartition('-')[0] == name)):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _flavor_uses(item, name)
