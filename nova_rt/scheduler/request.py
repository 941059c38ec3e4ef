# SPDX-License-Identifier: Apache-2.0

"""What a RequestSpec asks for."""

from collections.abc import Mapping
from typing import Any

import nova.conf

from nova_rt import conf as rt_conf
from nova_rt import reservation

CONF = nova.conf.CONF


def hints(spec: Any) -> Mapping[str, Any]:
    """The scheduler hints; old servers have none set."""
    return reservation.stored_hints(
        spec.scheduler_hints if 'scheduler_hints' in spec else None)


def asks(spec: Any) -> bool:
    """Whether a request says anything about reservations; cheap."""
    specs = spec.flavor.extra_specs
    return (any('hw:' + key in specs for key in reservation.KEYS)
            or any(key.startswith(reservation.HINT_PREFIX)
                   for key in hints(spec)))


def reservation_of(spec: Any) -> reservation.Reservation | None:
    """The reservation for each vCPU of the server.

    :raises InvalidReservation: the request makes no sense
    """
    if not asks(spec):
        return None
    specs = spec.flavor.extra_specs
    wanted = reservation.from_flavor_and_hints(
        specs, hints(spec), rt_conf.limits(CONF))
    image = spec.image if 'image' in spec else None
    policy = image.properties.get('hw_cpu_policy') if image else None
    reservation.check_conflicts(specs, {'hw_cpu_policy': policy})
    return wanted
