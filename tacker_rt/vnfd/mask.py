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

#: What Nova reads from flavors only: the key of a VDU, and a word for it.
_FLAVOR_ONLY = {
    reservation.MASK_KEY: (statements.MASK, 'mask'),
    reservation.KIND_KEY: (statements.KIND, 'kind of reservation')}

_COUNTS = (('virtual_compute', 'properties', 'virtual_cpu',
            'num_virtual_cpu'),
           ('nfv_compute', 'properties', 'num_cpus'))


def extra_specs(place: problem.Place, capabilities: dict[Any, Any],
                raw: Mapping[Any, Any], inputs: tosca_inputs.Inputs
                ) -> dict[str, str]:
    """Returns the extra spec of the mask in *raw*; {} without one.

    Adds problems to *place*.

    :param capabilities: the capabilities of the VDU, with its number of vCPUs
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
    """Returns the number of vCPUs, or a number that *value* allows."""
    quiet = problem.Place([], '')
    for *path, key in _COUNTS:
        raw = quiet.section(capabilities, *path).get(key)
        count: Any = 0 if raw is None else inputs.resolve(quiet, key, raw)
        if reservation.is_whole_number(count):
            return int(count)
    return max(map(int, re.findall('[0-9]{1,5}', str(value))), default=0) + 2


def check(place: problem.Place, specs: Mapping[str, str], hints: Any,
          flavor: str | None, carrier: statements.Statement | None) -> None:
    """Checks that keys that Nova reads only from flavors reach Nova.

    These keys are the mask and the kind of the reservation.

    :param hints: the reservation of the VDU
    :param flavor: the flavor that the VDU names
    :param carrier: the statement that names the carrier
    """
    for key, (name, subject) in _FLAVOR_ONLY.items():
        if key in specs:
            _check(place, key, name, subject, specs[key], hints, flavor,
                   carrier)


def _check(place: problem.Place, key: str, name: str, subject: str, value: str,
           hints: Any, flavor: str | None,
           carrier: statements.Statement | None) -> None:
    if flavor:
        place.add(name, value, f'the VDU names the flavor '
                  f'{problem.name(flavor)}, and Nova reads the {subject} '
                  'from it',
                  f'set {key} in that flavor, and remove the key')
    elif not hints:
        place.add(name, value, f'the VDU has a {subject} but no reservation',
                  'give both ' + ' and '.join(reservation.KEYS)
                  + ', or remove the key')
    elif carrier and carrier.carrier is statements.Carrier.HINTS:
        (carrier.place or place).add(
            statements.CARRIER_KEY, str(carrier.carrier), 'Nova reads the '
            f'{name} of the VDU from a flavor only', 'use the carrier flavor')
