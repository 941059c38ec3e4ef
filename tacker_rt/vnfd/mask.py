# SPDX-License-Identifier: Apache-2.0

"""Reads the mask: which vCPUs of a VDU have its reservation.

Nova reads a mask from a flavor only, so that a VDU with a mask gets a flavor
that is made for it.
"""

from collections.abc import Mapping
import re
from typing import Any

from nova_rt.rules import exception as rt_exception
from nova_rt.rules import mask
from nova_rt.rules import reservation

from tacker_rt import problem
from tacker_rt.vnfd import inputs as tosca_inputs
from tacker_rt.vnfd import statements

_COUNTS = (('virtual_compute', 'properties', 'virtual_cpu',
            'num_virtual_cpu'),
           ('nfv_compute', 'properties', 'num_cpus'))


def extra_specs(place: problem.Place, capabilities: dict[Any, Any],
                raw: Mapping[Any, Any], inputs: tosca_inputs.Inputs
                ) -> dict[str, str]:
    """Returns the extra spec of the mask in *raw*; {} without one.

    Adds problems to *place*.

    :param capabilities: those of the VDU, which say how many vCPUs it has
    """
    if statements.MASK not in raw:
        return {}
    value = inputs.known_value(place, statements.MASK, raw[statements.MASK])
    if value is None:
        return {}
    specs = {reservation.MASK_KEY: value}
    try:
        mask.unreserved(specs, _vcpus(capabilities, inputs, value))
    except rt_exception.InvalidReservation as error:
        place.add(statements.MASK, value, error.kwargs['rule'],
                  error.kwargs['advice'])
        return {}
    return specs


def _vcpus(capabilities: dict[Any, Any], inputs: tosca_inputs.Inputs,
           value: Any) -> int:
    """Returns the number of vCPUs; a number that *value* allows if unknown."""
    quiet = problem.Place([], '')
    for *path, key in _COUNTS:
        raw = quiet.section(capabilities, *path).get(key)
        count: Any = 0 if raw is None else inputs.resolve(quiet, key, raw)
        if reservation.is_whole_number(count):
            return int(count)
    return max(map(int, re.findall('[0-9]{1,5}', str(value))), default=0) + 2


def check(place: problem.Place, specs: Mapping[str, str], hints: Any,
          flavor: str | None, carrier: statements.Statement | None) -> None:
    """Checks that the mask of a VDU reaches Nova.

    :param hints: the reservation of the VDU
    :param flavor: the flavor that the VDU names
    :param carrier: the statement that names the carrier
    """
    if reservation.MASK_KEY not in specs:
        return
    value = specs[reservation.MASK_KEY]
    if flavor:
        place.add(statements.MASK, value, f'the VDU names the flavor '
                  f'{problem.name(flavor)}, and Nova reads the mask from it',
                  f'set {reservation.MASK_KEY} in that flavor, and remove '
                  f'the key')
    elif not hints:
        place.add(statements.MASK, value, 'the VDU has a mask but no '
                  'reservation', 'give both '
                  + ' and '.join(reservation.KEYS) + ', or remove the key')
    elif carrier and carrier.carrier is statements.Carrier.HINTS:
        (carrier.place or place).add(
            statements.CARRIER_KEY, str(carrier.carrier), 'Nova reads the '
            f'{statements.MASK} of the VDU from a flavor only',
            'use the carrier flavor')
