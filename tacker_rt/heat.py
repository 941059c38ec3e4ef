# SPDX-License-Identifier: Apache-2.0

"""What is looked for in Heat templates: names of types and functions."""

from typing import Any

SERVER = 'OS::Nova::Server'
FLAVOR = 'OS::Nova::Flavor'
#: Groups, and the property with the resource that they repeat.
GROUPS = {'OS::Heat::AutoScalingGroup': 'resource',
          'OS::Heat::ResourceGroup': 'resource_def'}

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
