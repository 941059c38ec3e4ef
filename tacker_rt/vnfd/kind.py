# SPDX-License-Identifier: Apache-2.0

"""Reads whether the reservation of a VDU is hard or soft.

Nova reads the kind from a flavor only, so that a VDU with this key gets a
flavor that is made for it.
"""

from collections.abc import Mapping
from typing import Any

from nova_rt.rules import exception as rt_exception
from nova_rt.rules import reservation
from nova_rt.rules import soft

from tacker_rt import problem
from tacker_rt.vnfd import inputs as tosca_inputs
from tacker_rt.vnfd import statements


def extra_specs(place: problem.Place, raw: Mapping[Any, Any],
                inputs: tosca_inputs.Inputs) -> dict[str, str]:
    """Returns the extra spec of the kind in *raw*; {} without one.

    Adds problems to *place*.
    """
    if statements.KIND not in raw:
        return {}
    value = inputs.resolve(place, statements.KIND, raw[statements.KIND])
    if value is None:
        return {}
    specs = {reservation.KIND_KEY: value}
    try:
        soft.is_soft(specs)
    except rt_exception.InvalidReservation as error:
        place.add(statements.KIND, value, error.kwargs['rule'],
                  error.kwargs['advice'])
        return {}
    return specs
