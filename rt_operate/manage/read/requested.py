# SPDX-License-Identifier: Apache-2.0

"""Finds the reservation that a server asks for, whatever it holds.

``services.compute.request`` takes the hints from the claim.  This module does
not trust the claim, so the hints that were stored when the server was built
take precedence.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.compute import request


def reservation_of(instance: Any, flavor: Any,
                   server_claims: Sequence[claims.RTClaim]
                   ) -> tuple[reservation.Reservation | None, str]:
    """Returns the reservation, or None and why it is not valid.

    :param flavor: in a resize the old or the new flavor
    :param server_claims: the claims of the server that can be read
    """
    try:
        return reservation.from_flavor_and_hints(
            flavor.extra_specs, _hints(instance, flavor, server_claims)), ''
    except (exception.InvalidReservation, ValueError, TypeError) as error:
        return None, exception.clause(error)


def _hints(instance: Any, flavor: Any, server_claims: Sequence[claims.RTClaim]
           ) -> Mapping[str, Any]:
    noted = request.read_note(instance, flavor)
    if noted is not None:
        return noted
    # A stale write of the metadata may have lost the note.
    return server_claims[0].hints if server_claims else {}
