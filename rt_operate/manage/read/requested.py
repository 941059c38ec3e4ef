# SPDX-License-Identifier: Apache-2.0

"""What a server asks for, whatever it holds.

``services.compute.request`` believes the claim about the hints; where a claim
is in doubt, what was noted when the server was built is asked first.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import claims
from nova_rt.services.compute import request


def reservation_of(instance: Any, flavor: Any, held: Sequence[claims.RTClaim]
                   ) -> tuple[reservation.Reservation | None, str]:
    """The reservation, or None and why it makes no sense.

    :param flavor: the old one or the new one in a resize
    :param held: its claims, as far as they can be read
    """
    try:
        return reservation.from_flavor_and_hints(
            flavor.extra_specs, _hints(instance, flavor, held)), ''
    except (exception.InvalidReservation, ValueError, TypeError) as error:
        return None, exception.clause(error)


def _hints(instance: Any, flavor: Any, held: Sequence[claims.RTClaim]
           ) -> Mapping[str, Any]:
    noted = request.of_note(instance, flavor)
    if noted is not None:
        return noted
    # A stale write of the metadata may have lost the note.
    return held[0].hints if held else {}
