# SPDX-License-Identifier: Apache-2.0

"""The carriers of a reservation to Nova: hints, a flavor, or both.

This module makes scheduler_hints and extra_specs of a Heat template.
Numbers stay integers, because Heat would replace a server whose hint changes
from 60000 to '60000'.
"""

from collections.abc import Mapping
from typing import Any

from nova_rt.rules import reservation
from tacker_rt.vnfd import descriptor

Values = dict[str, Any]


def hints(vdu: descriptor.Vdu) -> Values:
    """Returns the hints of an OS::Nova::Server.

    A flavor can carry the whole reservation of a VDU, but not its workload.
    """
    if vdu.carrier is descriptor.Carrier.FLAVOR:
        return dict(vdu.workload)
    return {**_heat(vdu.hints), **vdu.workload}


def extra_specs(vdu: descriptor.Vdu) -> Values:
    """Returns the extra specs of an OS::Nova::Flavor made for this VDU."""
    specs: Values = dict(vdu.extra_specs)
    if vdu.carrier is not descriptor.Carrier.HINTS:
        specs.update({reservation.FLAVOR_PREFIX + key: value
                      for key, value in _heat(vdu.hints).items()})
    return specs


def _heat(values: Mapping[str, int | descriptor.Input]) -> Values:
    return {key: {'get_param': value.name}
            if isinstance(value, descriptor.Input) else value
            for key, value in values.items()}
