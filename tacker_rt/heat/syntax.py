# SPDX-License-Identifier: Apache-2.0

"""What is looked for in Heat templates: names of types and functions."""

from collections.abc import Iterator
from typing import Any

SERVER = 'OS::Nova::Server'
FLAVOR = 'OS::Nova::Flavor'
#: What Tacker sets for the flavor of a VDU.
FLAVOR_PARAMETER = 'computeFlavourId'
#: Groups, and the property with the resource that they repeat.
GROUPS = {'OS::Heat::AutoScalingGroup': 'resource',
          'OS::Heat::ResourceGroup': 'resource_def'}

#: A resource that Heat refuses, unless user data of ours remove it: without
#: them a stack would be made without its reservations, and nobody would know.
GUARD = 'tacker_rt'
GUARDED: dict[str, Any] = {
    'type': 'OS::Heat::Value',
    'properties': {
        'type': 'number',
        'value': 'the request must name lcm-operation-user-data '
                 'tacker_rt/userdata/v2.py and its class'}}

_FUNCTIONS = frozenset((
    'digest', 'filter', 'get_attr', 'get_file', 'get_param', 'get_resource',
    'if', 'list_concat', 'list_concat_unique', 'list_join', 'make_url',
    'map_merge', 'map_replace', 'repeat', 'resource_facade', 'str_replace',
    'str_replace_strict', 'str_replace_vstrict', 'str_split', 'yaql'))
#: The first version of templates with map_merge; later ones have names, too.
_MAP_MERGE = '2016-10-14'


def function(value: Any) -> str | None:
    """The name of the function that a value is, if it is one."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    name, = value
    if isinstance(name, str) and (name in _FUNCTIONS
                                  or name.startswith('Fn::')):
        return name
    return None


def has_map_merge(template: dict[str, Any]) -> bool:
    """Names of releases are after all dates, as texts too."""
    return str(template.get('heat_template_version')) >= _MAP_MERGE


def is_guard(resource: Any) -> bool:
    return isinstance(resource, dict) and (
        resource.get('type') == GUARDED['type'])


def flavor_uses(value: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each ``{get_param: [nfv, VDU, name, computeFlavourId]}``, by name."""
    if isinstance(value, dict):
        path = value.get('get_param')
        if (isinstance(path, list) and path[:2] == ['nfv', 'VDU']
                and path[3:] == [FLAVOR_PARAMETER]):
            yield path[2], value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from flavor_uses(item)
