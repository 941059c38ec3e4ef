# SPDX-License-Identifier: Apache-2.0

"""Reads the policy Workload, which tells the weighers what VDUs run.

A workload is not a reservation.  A workload is always passed as scheduler
hints, whatever the carrier of the reservation is.
"""

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any

from nova_rt.rules import exception as rt_exception
from nova_rt.rules import workload

from tacker_rt import problem
from tacker_rt.vnfd import inputs as tosca_inputs


@dataclasses.dataclass(frozen=True, slots=True)
class _Property:
    """A property of the policy.

    :ivar key: the key of the hint
    :ivar parse: the parser of the value
    """

    key: str
    parse: Callable[[str, str, Any], str]


_PROPERTIES = {
    'vnf_type': _Property(workload.TYPE_KEY, workload.parse_type),
    'app_class': _Property(workload.CLASS_KEY, workload.parse_class),
}


def read(place: problem.Place, properties: dict[Any, Any],
         inputs: tosca_inputs.Inputs) -> Mapping[str, str] | None:
    """Returns the hints by key; None with the problems in *place*."""
    before = len(place.problems)
    for key, value in properties.items():
        if key not in _PROPERTIES:
            place.add(key, value, 'the policy has no such key',
                      problem.nearest(key, _PROPERTIES))
    hints = {}
    for name, expected in _PROPERTIES.items():
        if name not in properties:
            continue
        value = inputs.known_value(place, name, properties[name])
        if value is None:
            continue
        try:
            hints[expected.key] = str(expected.parse('', name, value))
        except rt_exception.InvalidWorkload as error:
            place.add(name, value, error.kwargs['rule'],
                      error.kwargs['advice'])
    if not hints and len(place.problems) == before:
        place.say('the policy sets nothing',
                  'give ' + ' or '.join(_PROPERTIES))
    return hints if len(place.problems) == before else None
