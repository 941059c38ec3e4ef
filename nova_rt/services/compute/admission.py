# SPDX-License-Identifier: Apache-2.0

"""Checks once whether a flavor and an image may have a reservation.

The check is made for a new server, for the new flavor of a resize and for the
new image of a rebuild.  A server that holds a claim was already admitted, and
moves without a new check.  Otherwise a stricter rule could keep the server
from leaving a lost host.

Nova's own functions decide what dedicates CPUs to a server.
``rules.conflicts`` has the common keys, so that a refusal can name them.
"""

from typing import Any

from nova import exception as nova_exception
from nova import objects
from nova.scheduler import utils as scheduler_utils
from nova.virt import hardware

from nova_rt.rules import conflicts
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.services.compute import vcpus


def holds(instance: Any) -> bool:
    """Checks whether a server was admitted: it then has a claim."""
    return any(resource.resource_class == hostmap.RESOURCE_CLASS
               for resource in instance.resources or ())


def check(flavor: Any, image_meta: Any = None) -> None:
    """Refuses a flavor or an image that conflicts with a reservation.

    :param flavor: an objects.Flavor
    :param image_meta: an objects.ImageMeta; None for no image
    :raises InvalidReservation: when there is a conflict, or no vCPU for the
        reservation; the message names the key if it is a known one
    """
    conflicts.check(flavor.extra_specs, None if image_meta is None else
                    conflicts.image_properties_of(image_meta))
    if _is_all_dedicated(flavor, image_meta or image({})):
        raise exception.InvalidReservation(
            source='flavor or image', key='flavor', value=repr(flavor.name),
            rule=conflicts.BOUND, advice=conflicts.ADVICE)
    vcpus.split(flavor, _topology(flavor, image_meta or image({})))


def check_image(flavor: Any, image_meta: Any) -> None:
    """Refuses an image for a server that already has the flavor.

    If the flavor itself has a conflict, only the known keys of the image are
    checked.

    :param image_meta: None for no image
    :raises InvalidReservation: when there is a conflict, as for check
    """
    try:
        check(flavor)
    except exception.InvalidReservation:
        conflicts.check({}, conflicts.image_properties_of(image_meta))
    else:
        check(flavor, image_meta)


def image(properties: Any) -> Any:
    """Returns the objects.ImageMeta of an image of Glance.

    :raises ValueError: when Nova refuses a property of the image
    """
    return objects.ImageMeta.from_dict(properties)


def _is_all_dedicated(flavor: Any, image_meta: Any) -> bool:
    """Checks whether Nova dedicates a pCPU to each vCPU of the server."""
    try:
        amounts = _placement_amounts(flavor, image_meta)
        return 'PCPU' in amounts and 'VCPU' not in amounts
    except (nova_exception.NovaException, ValueError):
        return False  # Nova's API refuses the server, with its own reason.


def _topology(flavor: Any, image_meta: Any) -> Any:
    """Returns the topology that Nova gives the server, or None."""
    try:
        return hardware.numa_get_constraints(flavor, image_meta)
    except (nova_exception.NovaException, ValueError):
        return None  # Nova's API refuses the server, with its own reason.


def _placement_amounts(flavor: Any, image_meta: Any) -> Any:
    """Returns what Nova asks of Placement, by class, in all groups."""
    return scheduler_utils.ResourceRequest.from_request_spec(
        objects.RequestSpec(flavor=flavor, image=image_meta)
    ).merged_resources()
