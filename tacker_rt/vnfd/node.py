# SPDX-License-Identifier: Apache-2.0

"""Reads and checks the node template of a VDU, without policies."""

from collections.abc import Iterator, Mapping
import dataclasses
import itertools
from typing import Any

from nova_rt.rules import reservation as nova_reservation

from tacker_rt import problem
from tacker_rt.vnfd import allocation
from tacker_rt.vnfd import conflicts
from tacker_rt.vnfd import inputs as tosca_inputs
from tacker_rt.vnfd import kind
from tacker_rt.vnfd import mask
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
    """The content of a node template.

    :ivar statements: the statements, the strongest first
    :ivar flavor: the name of a flavor; None without one
    """

    statements: list[statements.Statement]
    flavor: str | None
    extra_specs: Mapping[str, str]


def read(part: topology.Part, inputs: tosca_inputs.Inputs) -> Node:
    """Reads a node template; adds problems to its place."""
    place = part.place
    capabilities = place.section(part.body, 'capabilities')
    raw = place.section(capabilities, *ALLOCATION)
    forms = [(statements.REQUIREMENTS,
              place.section(capabilities, *REQUIREMENTS)),
             *((statements.CAPABILITY, parameters)
               for parameters in _parameters(place, capabilities)),
             (statements.ALLOCATION, raw)]
    stated = [
        statement for statement in (
            statements.read(place, form, values, inputs.resolve)
            for form, values in forms) if statement is not None]
    _check_equal(place, stated)
    specs = allocation.extra_specs(place, raw, inputs)
    for _, values in forms:
        specs |= mask.extra_specs(place, capabilities, values, inputs)
        specs |= kind.extra_specs(place, values, inputs)
    return Node(stated, _flavor(part, capabilities, inputs), specs)


def _parameters(place: problem.Place, capabilities: dict[Any, Any]
                ) -> Iterator[dict[Any, Any]]:
    """Yields the performance parameters that every VNFM must understand.

    SOL001 has this place for numbers that a VNFM must provide or refuse.
    """
    named = place.section(capabilities, *CAPABILITIES)
    for name in named:
        yield place.section(named, name, PARAMETERS)


def _check_equal(place: problem.Place,
                 stated: list[statements.Statement]) -> None:
    """Checks that the forms in a node template agree.

    No form overrides another form.
    """
    for first, second in itertools.combinations(stated, 2):
        for key, value in second.values.items():
            if first.values.get(key, value) != value:
                place.add(key, value, f'{second.source} contradicts '
                          f'{first.source}', 'keep one of the two')


def _flavor(part: topology.Part, capabilities: dict[Any, Any],
            inputs: tosca_inputs.Inputs) -> str | None:
    """Returns the name of a flavor, or the text of an input without value.

    The legacy profile has a property for the name.
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
                place.add(key, name, 'the value must be the name of a '
                          'flavor', 'put the name in quotes')
    if len(set(names)) > 1:
        place.add(_CAPABILITY_NAME, names[1], 'properties names another '
                  'flavor', 'keep one of the two')
    return names[0] if names else None


def check(part: topology.Part, hints: Hints, node: Node,
          said: list[statements.Statement]) -> None:
    """Checks the rules that concern a VDU as a whole.

    :param said: the statements from which *hints* are made, the strongest
        first; problems are reported at the place of the strongest
    """
    conflicts.check_specs(part)
    carried = next((statement for statement in said if statement.carrier),
                   None)
    mask.check(part.place, node.extra_specs, hints, node.flavor, carried)
    if not hints:
        return
    place = next((statement.place for statement in said
                  if statement.values and statement.place), part.place)
    missing = [key for key in nova_reservation.KEYS if key not in hints]
    if not missing:
        statements.check_pair(place, hints)
    elif not node.flavor and not part.place.has_problem():
        place.say('the key is missing', 'give both '
                  + ' and '.join(nova_reservation.KEYS)
                  + ', or name a flavor that has the key', key=missing[0])
    if (node.flavor and carried
            and carried.carrier is not statements.Carrier.HINTS):
        (carried.place or part.place).add(
            statements.CARRIER_KEY, str(carried.carrier),
            f'the VDU names the flavor {problem.name(node.flavor)}, so its '
            'reservation cannot be in another flavor',
            'use the carrier hints, or name no flavor')
    conflicts.check(part, node.extra_specs)
