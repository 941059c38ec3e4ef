# SPDX-License-Identifier: Apache-2.0

"""The workload that a RequestSpec names."""

from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import neighbours
from nova_rt.rules import workload
from nova_rt.services.scheduler import request


def workload_of(spec: Any) -> workload.Workload:
    """What flavor and hints say; nothing where they make no sense.

    nova-api refuses those; a preference is no reason to refuse a server.
    """
    specs, hints = spec.flavor.extra_specs, request.hints(spec)
    if not (any(key in specs for key in workload.FLAVOR_KEYS)
            or any(key in hints for key in workload.KEYS)):
        return workload.NOTHING
    try:
        return workload.from_flavor_and_hints(specs, hints)
    except exception.InvalidWorkload:
        return workload.NOTHING


def placed(spec: Any) -> tuple[neighbours.Server, int] | None:
    """What counts of a server being placed, and the ppm that it reserves.

    :returns: None where it has no type, or RTShareFilter would refuse it
    """
    said = workload_of(spec).vnf_type
    if said is None:
        return None
    try:
        wanted = request.reservation_of(spec)
    except exception.InvalidReservation:
        return None
    if wanted is None:
        return neighbours.Server(neighbours.Kind.SHARED, said), 0
    return (neighbours.Server(neighbours.Kind.RESERVED, said),
            spec.flavor.vcpus * wanted.bandwidth)
