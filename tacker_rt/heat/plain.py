# SPDX-License-Identifier: Apache-2.0

"""Returns the templates of heat-translator as plain values.

heat-translator itself returns a text without any apostrophe, because it
deletes all apostrophes.  The deletion turns references that were written as
texts into references, but also changes texts and numbers of a VNF.  This
module tells references and texts apart by the properties in which they stand.
"""

from collections.abc import Mapping
import dataclasses
import datetime
import re
from typing import Any

from toscaparser import functions

from tacker_rt import exception
from tacker_rt import problem
from tacker_rt.vnfd import yamlfile

Values = dict[str, Any]

_SCALARS = (str, int, float, bytes, datetime.date, type(None))
#: A reference as heat-translator writes it, with or without apostrophes.
_REFERENCE = re.compile(
    r"\{ ?'?(get_resource|get_param)'?: '?([^']+?)'? ?\}")
#: The properties in which heat-translator writes references.
_REFERRING = frozenset(('flavor', 'group', 'network', 'policy', 'port',
                        'port_id', 'qos_policy', 'volume_id'))
_GROUP = 'OS::Heat::AutoScalingGroup'
_FLAVOR = 'OS::Nova::Flavor'


class Nested(str):
    """The text of a nested template, with its resources and parameters."""

    resources: list[Any]
    parameters: Values


def main(translator: Any) -> Values:
    """Returns the template that is not nested.

    :param translator: a TOSCATranslator that has translated
    :raises InvalidVnfd: when a function of TOSCA has no counterpart in Heat
    """
    hot = translator.hot_template
    made: Values = {'heat_template_version': datetime.date.fromisoformat(
        translator.node_translator.hot_template_version)}
    if hot.description:
        made['description'] = hot.description
    parameters: Values = {}
    for parameter in hot.parameters:
        parameters |= parameter.get_dict_output()
        if parameter.default is not None:
            # The class of parameters leaves out 0, false and ''.
            parameters[parameter.name]['default'] = parameter.default
    shown = [resource for resource in hot.resources
             if not resource.hide_resource]
    reader = _Reader(translator.tosca, _names(shown) | parameters.keys())
    made['parameters'] = reader.plain(parameters, 'parameters')
    made['resources'] = reader.resources(shown)
    outputs: Values = {}
    for output in hot.outputs:
        outputs |= output.get_dict_output()
    made['outputs'] = reader.plain(outputs, 'outputs')
    return made


def nested(translator: Any) -> dict[str, Values]:
    """Returns the nested templates by name.

    :raises InvalidVnfd: when only the text of a template is known
    """
    hot = translator.hot_template
    texts: dict[str, Any] = {}
    for resource in hot.resources:
        texts |= resource.extract_substack_templates('', '')
    return {name: _nested(translator.tosca, name, text)
            for name, text in texts.items()}


def _nested(tosca: Any, name: str, text: Any) -> Values:
    if not isinstance(text, Nested):
        raise exception.InvalidVnfd(problem=problem.Problem(
            'VNFD', 'this kind of scaling policy is not translated',
            'use a scaling policy of SOL001, or remove the policy',
            key=problem.name(name)))
    reader = _Reader(tosca, _names(text.resources) | text.parameters.keys())
    made: Values = {'heat_template_version': datetime.date(2013, 5, 23),
                    'description': 'Scaling template'}
    if text.parameters:
        made['parameters'] = reader.plain(text.parameters, 'parameters')
    return {**made, 'resources': reader.resources(text.resources)}


def _names(resources: list[Any]) -> set[str]:
    return {resource.name for resource in resources}


@dataclasses.dataclass(frozen=True, slots=True)
class _Reader:
    """Makes plain values.

    :ivar names: the resources and parameters to which texts may refer
    """

    tosca: Any
    names: set[str]
    node: Any = None

    def resources(self, resources: list[Any]) -> Values:
        """Returns the plain values of resources by name."""
        made: Values = {}
        for resource in resources:
            reader = dataclasses.replace(self, node=resource.nodetemplate)
            for name, output in resource.get_dict_output().items():
                made[name] = reader._resource(output, name)
        return made

    def _resource(self, output: Mapping[str, Any], name: str) -> Values:
        made: Values = self.plain(output, name)
        if made['type'] == _GROUP:
            member = made['properties']['resource'].get('properties', {})
            member.update({key: self._referred(value)
                           for key, value in member.items()})
        specs = made.get('properties', {}).get('extra_specs')
        if made['type'] == _FLAVOR and isinstance(specs, str):
            made['properties']['extra_specs'] = self._extra_specs(
                name, specs)
        return made

    def plain(self, value: Any, where: str) -> Any:
        """Returns a copy of a value without objects of tosca-parser.

        :param where: the key of the value, for messages
        :raises InvalidVnfd: when the value has no counterpart in Heat
        """
        if isinstance(value, functions.Function):
            return self._function(value, where)
        if isinstance(value, dict):
            if functions.is_function(value):
                return self._function(self._parsed(value, where), where)
            return {key: self._entry(key, item, where)
                    for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(item, where) for item in value]
        if isinstance(value, _SCALARS):
            return value
        raise _refused(where, f'Heat has no value of type '
                       f'{type(value).__name__}')

    def _entry(self, key: Any, value: Any, where: str) -> Any:
        if isinstance(value, str) and key in _REFERRING:
            return self._referred(value)
        return self.plain(value, f'{where}.{key}')

    def _referred(self, value: Any) -> Any:
        """Replaces a text that stands for a reference by the reference."""
        match = isinstance(value, str) and _REFERENCE.fullmatch(value)
        return {match[1]: match[2]} if match and match[2] in self.names else (
            value)

    def _parsed(self, value: dict[str, Any], where: str) -> Any:
        """Returns the function of a mapping.

        tosca-parser does not look into maps and lists.
        """
        try:
            return functions.get_function(
                self.tosca.topology_template, self.node, value)
        except Exception as error:
            raise _refused(where, f'the function {next(iter(value))} is '
                           'not valid') from error

    def _function(self, function: Any, where: str) -> Any:
        if isinstance(function, functions.GetInput):
            return {'get_param': function.input_name}
        if isinstance(function, functions.GetProperty):
            return self.plain(function.result(), where)
        if isinstance(function, functions.Concat):
            return ''.join(self._texts(function, function.args, where))
        if isinstance(function, functions.Token):
            text, = self._texts(function, function.args[:1], where)
            parts = text.split(function.args[1])
            if 0 <= function.args[2] < len(parts):
                return parts[function.args[2]]
        raise _refused(where, f'the value of the function {function.name} is '
                       f'not known before the VNF runs')

    def _texts(self, function: Any, parts: list[Any], where: str
               ) -> list[str]:
        texts = [self.plain(part, where) for part in parts]
        if not all(isinstance(text, str | int) for text in texts):
            raise _refused(where, f'the function {function.name} with inputs '
                           'cannot be translated')
        return [str(text) for text in texts]

    def _extra_specs(self, name: str, text: str) -> Any:
        """Reads nova_extra_specs, which heat-translator returns as a text."""
        place = problem.Place([], 'VNFD', name)
        specs = yamlfile.load(place, text.encode())
        if place.problems:
            raise exception.InvalidVnfd(problem=place.problems[0])
        return specs


def _refused(where: str, rule: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        'VNFD', rule, 'write the value itself', key=problem.name(where)))
