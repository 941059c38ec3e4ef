# SPDX-License-Identifier: Apache-2.0

"""Reads which hosts a flavor needs if cores have several threads.

A host counts siblings in one way for all servers (``[nova_rt] smt``), because
otherwise a later server could take CPU time that an earlier server relies on.
So a flavor can only choose among hosts. With ``core``, servers of the flavor
go only to hosts on which all reservations on a core together take no more than
one pCPU may give.
"""

from collections.abc import Mapping
from typing import Any

from nova_rt.rules import cpus
from nova_rt.rules import exception
from nova_rt.rules import reservation

#: The values of the extra spec.
VALUES = (cpus.Smt.IGNORE, cpus.Smt.CORE)


def needs_core(extra_specs: Mapping[str, Any]) -> bool:
    """Checks whether a flavor needs hosts that count siblings as one.

    :raises InvalidReservation: when the value is unknown
    """
    value = extra_specs.get(reservation.SMT_KEY, cpus.Smt.IGNORE)
    if value not in VALUES:
        raise exception.InvalidReservation(
            source=reservation.FLAVOR, key=reservation.SMT_KEY,
            value=repr(value)[:80], rule='it is not one of '
            + ', '.join(VALUES), advice='give core for hosts where the '
            'reservations on the threads of a core count as one')
    return bool(value == cpus.Smt.CORE)
