# SPDX-License-Identifier: Apache-2.0

"""Asks once whether a flavor and an image may have a reservation.

It is asked of new servers, of other flavors, and of the image of a rebuild.
A server that holds a claim was asked, and moves under the rules of that day:
a rule that was made stricter since would strand it when its host is lost.

What binds a server to NUMA cells or dedicates CPUs to it is Nova's to say.
``nova_rt.rules.conflicts`` knows the common keys, and says them to the tenant.
"""

from typing import Any

from nova import exception as nova_exception
from nova import objects
from nova.scheduler import utils as scheduler_utils
from nova.virt import hardware

from nova_rt.rules import conflicts
from nova_rt.rules import exception
from nova_rt.rules import hostmap


def holds(instance: Any) -> bool:
    """Whether a server was admitted: it has a claim, readable or not."""
    return any(each.resource_class == hostmap.RESOURCE_CLASS
               for each in instance.resources or ())


def check(flavor: Any, image_meta: Any = None) -> None:
    """Refuse what cannot be combined with a reservation.

    :param flavor: an objects.Flavor
    :param image_meta: an objects.ImageMeta; None: of no image
    :raises InvalidReservation: naming the key, where it is a known one
    """
    conflicts.check(flavor.extra_specs, conflicts.of_image(image_meta))
    if _is_bound(flavor, image_meta or image({})):
        raise exception.InvalidReservation(
            source='flavor or image', key='flavor', value=repr(flavor.name),
            rule=conflicts.BOUND, advice=conflicts.ADVICE)


def check_image(flavor: Any, image_meta: Any) -> None:
    """The same of the image alone, for a server that has the flavor.

    :param image_meta: None: nothing is asked
    :raises InvalidReservation: as check
    """
    try:
        check(flavor)
    except exception.InvalidReservation:
        conflicts.check({}, conflicts.of_image(image_meta))
    else:
        check(flavor, image_meta)


def image(found: Any) -> Any:
    """The objects.ImageMeta of an image of Glance.

    :raises ValueError: it has a property that Nova refuses
    """
    return objects.ImageMeta.from_dict(found)


def _is_bound(flavor: Any, image_meta: Any) -> bool:
    """Whether Nova would give the server a topology, or dedicated CPUs."""
    try:
        return bool(
            hardware.numa_get_constraints(flavor, image_meta)
            or hardware.get_pci_numa_policy_constraint(flavor, image_meta)
            or 'PCPU' in _asked_of_placement(flavor, image_meta))
    except (nova_exception.NovaException, ValueError):
        return False  # Nova's API refuses it, with a reason of its own


def _asked_of_placement(flavor: Any, image_meta: Any) -> Any:
    """Amounts by resource class, of all request groups together."""
    return scheduler_utils.ResourceRequest.from_request_spec(
        objects.RequestSpec(flavor=flavor, image=image_meta)
    ).merged_resources()
