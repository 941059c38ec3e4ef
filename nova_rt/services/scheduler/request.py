# SPDX-License-Identifier: Apache-2.0

"""Reads the reservation that a RequestSpec asks for."""

from collections.abc import Mapping
import contextlib
from typing import Any

import nova.conf
from nova import context as nova_context

from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.services.compute import admission
from nova_rt.services.compute import request as compute_request
from nova_rt.services.compute import vcpus
from nova_rt.services import conf as rt_conf
from nova_rt.services import servers

CONF = nova.conf.CONF

_FLAVOR_KEYS = tuple(reservation.FLAVOR_PREFIX + key
                     for key in reservation.KEYS)
#: The keys that ask for a reservation, or make no sense without one.
_ASKING = (*_FLAVOR_KEYS, reservation.MASK_KEY, reservation.SMT_KEY,
           reservation.KIND_KEY)


def hints(spec: Any) -> Mapping[str, Any]:
    """Returns the scheduler hints; {} for old servers, which have none set."""
    return reservation.stored_hints(
        spec.scheduler_hints if 'scheduler_hints' in spec else None)


def asks(spec: Any) -> bool:
    """Checks, at little cost, whether a request mentions a reservation."""
    specs = spec.flavor.extra_specs
    return (any(key in specs for key in _ASKING)
            or any(key.startswith(reservation.HINT_PREFIX)
                   for key in hints(spec)))


def reservation_of(spec: Any) -> reservation.Reservation | None:
    """Returns the reservation that the flavor and the hints ask for.

    The operator's limits and conflicts are not checked.

    :raises InvalidReservation: when the flavor and the hints make no sense
    """
    return reservation.from_flavor_and_hints(
        spec.flavor.extra_specs, hints(spec))


def topology_of(spec: Any) -> Any:
    """Returns the objects.InstanceNUMATopology asked for, or None."""
    return spec.numa_topology if 'numa_topology' in spec else None


def split(spec: Any) -> vcpus.Split:
    """Returns which vCPUs of the server have the reservation.

    :raises InvalidReservation: when the mask of the flavor is bad
    """
    return vcpus.split(spec.flavor, topology_of(spec))


def admitted(spec: Any) -> reservation.Reservation | None:
    """Returns the reservation of the server, after it was admitted.

    Today's limits hold for new servers and new flavors.  A server that was
    admitted under other limits must still be able to move.  For an existing
    server, the function uses the hints that nova-compute stored with the
    server.

    :raises InvalidReservation: when the request makes no sense or is not
        allowed
    """
    if not asks(spec):
        return None
    limits: reservation.Limits | None = rt_conf.limits(CONF)
    valid_hints = hints(spec)
    server = servers.find(nova_context.get_admin_context(),
                          spec.instance_uuid)
    if server is not None:
        valid_hints, limits = _hints_and_limits(server, spec.flavor,
                                                valid_hints)
    wanted = reservation.from_flavor_and_hints(
        spec.flavor.extra_specs, valid_hints, limits)
    if wanted is not None and not _is_admitted(server, spec.flavor):
        admission.check(spec.flavor, spec.image if 'image' in spec else None)
    return wanted


def _is_admitted(server: Any, flavor: Any) -> bool:
    """Checks whether a server holds a claim with the flavor of the request.

    :param server: None for a server that is being created
    """
    return (server is not None and admission.holds(server)
            and server.flavor.flavorid == flavor.flavorid)


def _hints_and_limits(server: Any, flavor: Any, spec_hints: Mapping[str, Any]
                      ) -> tuple[Mapping[str, Any], reservation.Limits | None]:
    """Returns the hints and the limits that hold for an existing server."""
    noted = None
    # nova-compute reports a note that cannot be read.
    with contextlib.suppress(exception.InvalidClaim):
        noted = compute_request.noted_hints(server)
    if noted is None:
        noted = {key: value for key, value in spec_hints.items()
                 if key.startswith(reservation.HINT_PREFIX)}
    if server.flavor.flavorid == flavor.flavorid:
        return noted, None
    limits = rt_conf.limits(CONF)
    return reservation.carried_hints(
        flavor.extra_specs, noted, limits), limits


def settle(spec: Any, wanted: reservation.Reservation | None) -> None:
    """Writes the reservation into the flavor of a request.

    The hints that concern reservations are removed, so that the flavor alone
    says what the server reserves.  Only the scheduler's copy of the request
    is changed.
    """
    if 'scheduler_hints' in spec:
        spec.scheduler_hints = {
            key: value for key, value in (spec.scheduler_hints or {}).items()
            if not key.startswith(reservation.HINT_PREFIX)}
    specs = {key: value for key, value in spec.flavor.extra_specs.items()
             if key not in _FLAVOR_KEYS}
    if wanted is not None:
        specs |= dict(zip(_FLAVOR_KEYS, map(str, (
            wanted.runtime_us, wanted.period_us)), strict=True))
    spec.flavor.extra_specs = specs
