# SPDX-License-Identifier: Apache-2.0

"""What a RequestSpec says of the workload, and the matrices to weigh it."""

from collections.abc import Iterator
from typing import Any

from nova_rt import exception
from nova_rt.interference import document
from nova_rt.interference import forecast
from nova_rt.interference import matrix
from nova_rt.interference import neighbours
from nova_rt.scheduler import request
from nova_rt import workload


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
        return neighbours.Server(matrix.Kind.SHARED, said), 0
    return (neighbours.Server(matrix.Kind.RESERVED, said),
            spec.flavor.vcpus * wanted.bandwidth)


def model(conf: Any) -> forecast.Model:
    """The model with the files that the options name.

    :raises InvalidMatrix: one of them is bad
    :raises InvalidConfiguration: one is for servers of the other kind
    """
    return forecast.Model(_matrices(conf))


def _matrices(conf: Any) -> Iterator[matrix.Matrix]:
    for option, path, kind in (
            ('interference_matrix', conf.nova_rt.interference_matrix
             or document.SHIPPED, matrix.Kind.SHARED),
            ('interference_matrix_reserved',
             conf.nova_rt.interference_matrix_reserved,
             matrix.Kind.RESERVED)):
        if path:
            found = document.load(path)
            if found.kind is not kind:
                raise exception.InvalidConfiguration(
                    option=option, value=path, rule=f'the file applies to '
                    f'{found.kind} servers, and this is for {kind} ones')
            yield found
