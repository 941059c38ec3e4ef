# SPDX-License-Identifier: Apache-2.0

"""Messages about a server for which no host has room.

Messages to a tenant name neither hosts nor free amounts.
"""

from typing import Any

from nova_rt.rules import reservation
from nova_rt.rules import words


def does_not_fit(wanted: reservation.Reservation, vcpus: int) -> str:
    """Returns the statement that a reservation fits on no host.

    :param vcpus: the number of vCPUs with the reservation
    """
    return f'{wanted} does not fit on {words.count(vcpus, "pCPU")} of any host'


def reason(spec: Any, wanted: reservation.Reservation, vcpus: int) -> str:
    """Returns the message for the tenant, with advice."""
    without = (f', or without {reservation.MASK_KEY}'
               if reservation.MASK_KEY in spec.flavor.extra_specs else '')
    return (f'{does_not_fit(wanted, vcpus)}; choose a flavor with a smaller '
            f'share (runtime / period) or fewer vCPUs{without}')
