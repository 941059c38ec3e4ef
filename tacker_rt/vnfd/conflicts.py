# SPDX-License-Identifier: Apache-2.0

"""Checks what a VDU may not ask for together with a reservation."""

from collections.abc import Mapping
from typing import Any

from nova_rt.rules import conflicts as nova_conflicts
from nova_rt.rules import exception as rt_exception
from nova_rt.rules import reservation as nova_reservation

from tacker_rt import problem
from tacker_rt.vnfd import allocation
from tacker_rt.vnfd import topology
from tacker_rt.vnfd import yamlfile

_COMPUTE = ('capabilities', 'virtual_compute', 'properties')
_PINNING = (*_COMPUTE, 'virtual_cpu', 'virtual_cpu_pinning')
_PINNING_KEY = 'virtual_cpu_pinning_policy'
_SPECS = (*_COMPUTE, 'compute_requirements')
_SPECS_KEY = 'nova_extra_specs'


def check(part: topology.Part, specs: Mapping[str, str]) -> None:
    """Checks a VDU with a reservation.

    :param specs: the extra specs of its cpu_allocation
    """
    place = part.place
    _check_specs(place, specs, allocation.POLICY_KEY)
    pinning = place.section(part.body, *_PINNING).get(_PINNING_KEY)
    if pinning == 'static':
        place.add(_PINNING_KEY, pinning, 'a CPU reservation needs shared '
                  'pCPUs, not dedicated ones', 'remove the key, or the '
                  'reservation')
    _check_specs(place, _own_specs(part), _SPECS_KEY)


def check_specs(part: topology.Part) -> None:
    """Checks that nova_extra_specs has no reservation.

    Only one of the two paths through Tacker reads this key.
    """
    place = part.place
    for key, value in _own_specs(part).items():
        if str(key).removeprefix(nova_reservation.FLAVOR_PREFIX).startswith(
                nova_reservation.HINT_PREFIX):
            place.add(key, value, f'the v2 API does not read {_SPECS_KEY}',
                      'move the key to vdu_cpu_requirements')


def _own_specs(part: topology.Part) -> dict[Any, Any]:
    """Returns the extra specs in nova_extra_specs, which is a YAML text."""
    quiet = problem.Place([], '')
    text = quiet.section(part.body, *_SPECS).get(_SPECS_KEY)
    if not isinstance(text, str):
        return {}
    specs = yamlfile.load(quiet, text.encode(errors='replace'))
    return specs if isinstance(specs, dict) else {}


def _check_specs(place: problem.Place, specs: Mapping[Any, Any], name: str
                 ) -> None:
    try:
        nova_conflicts.check(specs)
    except rt_exception.InvalidReservation as error:
        arguments = error.kwargs
        key = name if name == allocation.POLICY_KEY else arguments['key']
        place.add(key, specs[arguments['key']], arguments['rule'],
                  arguments['advice'])
