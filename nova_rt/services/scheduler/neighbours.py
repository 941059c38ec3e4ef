# SPDX-License-Identifier: Apache-2.0

"""Reads the workload of a RequestSpec."""

from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from nova_rt.rules import workload
from nova_rt.services.scheduler import request


def workload_of(spec: Any) -> workload.Workload:
    """Returns the workload that the flavor and the hints give.

    :returns: NOTHING if a value is bad: nova-api refuses bad values, and the
        scheduler does not refuse a server because of a preference
    """
    specs, hints = spec.flavor.extra_specs, request.hints(spec)
    if not (any(key in specs for key in workload.FLAVOR_KEYS)
            or any(key in hints for key in workload.KEYS)):
        return workload.NOTHING
    try:
        return workload.from_flavor_and_hints(specs, hints)
    except exception.InvalidWorkload:
        return workload.NOTHING


def placed(spec: Any) -> tuple[neighbours.Typed, int] | None:
    """Returns kind and type of the server to place, and the ppm it reserves.

    :returns: None if the server has no type, or if RTShareFilter refuses it
    """
    vnf_type = workload_of(spec).vnf_type
    if vnf_type is None:
        return None
    try:
        wanted = request.reservation_of(spec)
        vcpus = request.split(spec).reserved if wanted else 0
    except exception.InvalidReservation:
        return None
    if wanted is None:
        return neighbours.Typed(neighbours.Kind.SHARED, vnf_type), 0
    return (neighbours.Typed(neighbours.Kind.RESERVED, vnf_type),
            vcpus * wanted.bandwidth)
