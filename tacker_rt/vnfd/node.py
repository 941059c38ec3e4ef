# SPDX-License-Identifier: Apache-2.0

"""What the node template of a VDU says itself, and what a request adds."""

from collections.abc import Iterator, Mapping
import dataclasses
import itertools
from typing import Any

from nova_rt.rules import reservation as nova_reservation

from tacker_rt import problem
from tacker_rt.vnfd import allocation
from tacker_rt.vnfd import conflicts
from tacker_rt.vnfd import inputs as tosca_inputs
from tacker_rt.vnfd import statements
from tacker_rt.vnfd import topology

REQUIREMENTS = ('virtual_compute', 'properties', 'virtual_cpu',
                'vdu_cpu_requirements')
ALLOCATION = ('nfv_compute', 'properties', 'cpu_allocation')
CAPABILITIES = ('virtual_compute', 'properties',
                'requested_additional_capabilities')
PARAMETERS = 'target_performance_parameters'
#: The one capability in which Tacker looks for the name of a flavor.
_CAPABILITY = (*CAPABILITIES, 'properties')
_CAPABILITY_NAME = 'requested_additional_capability_name'

Hints = Mapping[str, int | statements.Input]


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """The statements of a node template, the strongest first."""

    statements: list[statements.Statement]
    flavor: str | None
    extra_specs: Mapping[str, str]


def read(part: topology.Part, inputs: tosca_inputs.Inputs) -> Node:
    place = part.place
    capabilities = place.section(part.body, 'capabilities')
    raw = place.section(capabilities, *ALLOCATION)
    given = [(statements.REQUIREMENTS,
              place.section(capabilities, *REQUIREMENTS)),
             *((statements.CAPABILITY, parameters)
               for parameters in _parameters(place, capabilities)),
             (statements.ALLOCATION, raw)]
    said = [
        statement for statement in (
            statements.read(place, form, values, inputs.resolve)
            for form, values in given) if statement is not None]
    _check_equal(place, said)
    return Node(said, _flavor(part, capabilities, inputs),
                allocation.extra_specs(place, raw, inputs))


def _parameters(place: problem.Place, capabilities: dict[Any, Any]
                ) -> Iterator[dict[Any, Any]]:
    """SOL001's place for numbers that another VNFM must meet or refuse."""
    named = place.section(capabilities, *CAPABILITIES)
    for name in named:
        yield place.section(named, name, PARAMETERS)


def _check_equal(place: problem.Place,
                 said: list[statements.Statement]) -> None:
    """Several forms in one node template are of equal strength."""
    for first, second in itertools.combinations(said, 2):
        for key, value in second.values.items():
            if first.values.get(key, value) != value:
                place.add(key, value, f'{second.source} contradicts '
                          f'{first.source}', 'keep one of them')


def _flavor(part: topology.Part, capabilities: dict[Any, Any],
            inputs: tosca_inputs.Inputs) -> str | None:
    """The name of a flavor, or the text of a get_input without a value.

    The legacy profile has a property for it.
    """
    place = part.place
    names = []
    for key, section in (
            ('flavor', place.section(part.body, 'properties')),
            (_CAPABILITY_NAME, place.section(capabilities, *_CAPABILITY))):
        if section.get(key) is not None:
            name = inputs.resolve(place, key, section[key])
            if isinstance(name, statements.Input):
                names.append(f'{{get_input: {name.name}}}')
            elif isinstance(name, str) and name:
                names.append(name)
            elif name is not None:
                place.add(key, name, 'it must be the name of a flavor',
                          'put it in quotes')
    if len(set(names)) > 1:
        place.add(_CAPABILITY_NAME, names[1], 'another flavor is named in '
                  'properties', 'keep one of them')
    return names[0] if names else None


def check(part: topology.Part, hints: Hints, node: Node,
          said: list[statements.Statement]) -> None:
    """Rules that concern a VDU as a whole.

    :param said: what *hints* are made of, the strongest first, which is the
        one to correct
    """
    conflicts.check_specs(part)
    if not hints:
        return
    place = next((one.place for one in said if one.values and one.place),
                 part.place)
    missing = [key for key in nova_reservation.KEYS if key not in hints]
    if not missing:
        statements.check_pair(place, hints)
    elif not node.flavor and not part.place.has_problem():
        place.say('it is missing', 'give both '
                  + ' and '.join(nova_reservation.KEYS)
                  + ', or name a flavor that has it', key=missing[0])
    carried = next((one for one in said if one.carrier), None)
    if (node.flavor and carried
            and carried.carrier is not statements.Carrier.HINTS):
        (carried.place or part.place).add(
            statements.CARRIER_KEY, str(carried.carrier),
            f'the flavor {problem.name(node.flavor)} is named and cannot be '
            'another one', 'use hints, or name no flavor')
    conflicts.check(part, node.extra_specs)
