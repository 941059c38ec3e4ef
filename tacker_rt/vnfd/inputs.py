# SPDX-License-Identifier: Apache-2.0

"""The inputs of topology templates, and the values given for them."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_rt import problem
from tacker_rt.vnfd import statements

_ADVICE = 'give the value, or {get_input: NAME}'


@dataclasses.dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of several templates.

    :ivar declared: the declarations of inputs by name, by file
    :ivar given: the values that the person who deploys gives, by name
    """

    declared: Mapping[str, Mapping[str, Mapping[Any, Any]]]
    given: Mapping[str, Any]

    def resolve(self, place: problem.Place, key: str, raw: Any) -> Any:
        """Returns *raw*, or the value of the input that it names.

        :returns: an Input if there is no value yet; None if there can be
            none, with the problem in *place*
        """
        if raw is None:
            place.add(key, raw, 'the key has no value', _ADVICE)
        if not isinstance(raw, dict):
            return raw
        name = raw.get('get_input')
        if len(raw) != 1 or not isinstance(name, str):
            place.add(key, raw, 'this is neither a value nor the name of an '
                      'input', _ADVICE)
            return None
        declared = self.declared.get(place.file, {})
        if name not in declared:
            place.add(key, raw, 'the template has no such input',
                      problem.nearest(name, declared))
            return None
        return self._value(place, key, name)

    def _value(self, place: problem.Place, key: str, name: str) -> Any:
        value = self.given.get(name)
        if value is None:
            value = self.declared[place.file][name].get('default')
        if value is None:
            return statements.Input(name)
        if isinstance(value, dict | list):
            place.add(key, value, f'the input {name} must have a single '
                      f'value', 'give a number or a string')
            return None
        return value

    def known_value(self, place: problem.Place, key: str, raw: Any) -> Any:
        """Returns the value of *resolve*, if it is known now.

        :returns: None if not, with the problem in *place*
        """
        value = self.resolve(place, key, raw)
        if isinstance(value, statements.Input):
            place.add(key, raw, 'the input has no value',
                      'give the input a default')
            return None
        return value
