# SPDX-License-Identifier: Apache-2.0

"""Names of types and functions in Heat templates, and how to find them."""

from collections.abc import Iterator
from typing import Any

SERVER = 'OS::Nova::Server'
FLAVOR = 'OS::Nova::Flavor'
#: The parameter that Tacker sets for the flavor of a VDU.
FLAVOR_PARAMETER = 'computeFlavourId'
#: Groups, and the property with the resource that they repeat.
GROUPS = {'OS::Heat::AutoScalingGroup': 'resource',
          'OS::Heat::ResourceGroup': 'resource_def'}

#: The guard: a resource that Heat refuses unless our user data removes it.
#: Without user data, a stack would silently lose its reservations.
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
#: The first version of templates with map_merge.  Later versions may have
#: names instead of dates.
_MAP_MERGE = '2016-10-14'


def function(value: Any) -> str | None:
    """Returns the name of the function that a value calls, or None."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    name, = value
    if isinstance(name, str) and (name in _FUNCTIONS
                                  or name.startswith('Fn::')):
        return name
    return None


def has_map_merge(template: dict[str, Any]) -> bool:
    """Tells whether a template may use map_merge."""
    # As a text, the name of a release comes after all dates.
    return str(template.get('heat_template_version')) >= _MAP_MERGE


def is_guard(resource: Any) -> bool:
    """Tells whether a resource is the guard."""
    return isinstance(resource, dict) and (
        resource.get('type') == GUARDED['type'])


def flavor_uses(value: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yields the names of VDUs whose flavors are used, with the mappings.

    A mapping is ``{get_param: [nfv, VDU, name, computeFlavourId]}``.
    """
    if isinstance(value, dict):
        path = value.get('get_param')
        if (isinstance(path, list) and path[:2] == ['nfv', 'VDU']
                and path[3:] == [FLAVOR_PARAMETER]):
            yield path[2], value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from flavor_uses(item)
