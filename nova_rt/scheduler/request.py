# SPDX-License-Identifier: Apache-2.0

"""What a RequestSpec asks for."""

from collections.abc import Mapping
from typing import Any

import nova.conf
from nova import context as nova_context
from nova import exception as nova_exception
from nova import objects

from nova_rt import conf as rt_conf
from nova_rt import exception
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

    The operator's limits hold for new servers.  One that was admitted under
    others must not be stranded when it has to move.

    :raises InvalidReservation: the request makes no sense
    """
    if not asks(spec):
        return None
    try:
        return _reservation_of(spec, rt_conf.limits(CONF))
    except exception.InvalidReservation:
        if not _is_move(spec):
            raise
        return _reservation_of(spec, reservation.Limits())


def _reservation_of(spec: Any, limits: reservation.Limits
                    ) -> reservation.Reservation | None:
    specs = spec.flavor.extra_specs
    wanted = reservation.from_flavor_and_hints(specs, hints(spec), limits)
    image = spec.image if 'image' in spec else None
    policy = image.properties.get('hw_cpu_policy') if image else None
    reservation.check_conflicts(specs, {'hw_cpu_policy': policy})
    return wanted


def _is_move(spec: Any) -> bool:
    """Whether this is a server that exists, with the flavor it has."""
    context = nova_context.get_admin_context()
    try:
        mapping = objects.InstanceMapping.get_by_instance_uuid(
            context, spec.instance_uuid)
        if mapping.cell_mapping is None:
            return False  # being created
        with nova_context.target_cell(context, mapping.cell_mapping) as cell:
            instance = objects.Instance.get_by_uuid(
                cell, spec.instance_uuid, expected_attrs=['flavor'])
    except (nova_exception.InstanceMappingNotFound,
            nova_exception.InstanceNotFound):
        return False
    return bool(instance.flavor.flavorid == spec.flavor.flavorid)
