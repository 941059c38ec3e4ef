# SPDX-License-Identifier: Apache-2.0

"""The inputs of topology templates and the values given for them."""

from collections.abc import Mapping
import dataclasses
from typing import Any

from tacker_rt import problem
from tacker_rt.vnfd import statements

_ADVICE = 'give the value, or {get_input: NAME}'


@dataclasses.dataclass(frozen=True, slots=True)
class Inputs:
    """*declared* as in each template, by file; *given* by who deploys."""

    declared: Mapping[str, Mapping[str, Mapping[Any, Any]]]
    given: Mapping[str, Any]

    def resolve(self, place: problem.Place, key: str, raw: Any) -> Any:
        """*raw*, or the value of the input it names.

        :returns: Input where there is no value yet; None where it cannot be
            known, with the problem left in *place*
        """
        if raw is None:
            place.add(key, raw, 'it has no value', _ADVICE)
        if not isinstance(raw, dict):
            return raw
        name = raw.get('get_input')
        if len(raw) != 1 or not isinstance(name, str):
            place.add(key, raw, 'it is neither a value nor the name of an '
                      'input', _ADVICE)
            return None
        declared = self.declared.get(place.file, {})
        if name not in declared:
            place.add(key, raw, 'there is no such input',
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
            place.add(key, value, f'the input {name} must have one value',
                      'give a number or a text')
            return None
        return value

    def known(self, place: problem.Place, key: str, raw: Any) -> Any:
        """The value as *resolve* has it, if it is known now; else None."""
        value = self.resolve(place, key, raw)
        if isinstance(value, statements.Input):
            place.add(key, raw, 'its input has no value',
                      'give the input a default')
            return None
        return value
