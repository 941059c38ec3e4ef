# SPDX-License-Identifier: Apache-2.0

"""Decides which resizes keep the guest running on its host.

Nova resizes a server on its host as between two hosts: Nova powers the guest
off, copies disks, and starts another guest.  If only the reservation differs,
all of this can be left out.  The claim makes this decision, and notes the
decision with the server: whatever happens later, Nova alone handles an
operation without the note.
"""

from collections.abc import Mapping
from typing import Any

from nova.compute import task_states
from nova.compute import vm_states

from nova_rt.rules import change
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from nova_rt.services.compute import claims

#: Key of Instance.system_metadata with the id of the migration of the resize.
_KEY = 'nova_rt_in_place'
_FLAVOR_KEYS = frozenset((*(f'hw:{key}' for key in reservation.KEYS),
                          reservation.KIND_KEY))
_FIELDS = ('vcpus', 'memory_mb', 'root_gb', 'ephemeral_gb', 'swap',
           'rxtx_factor')


def only_reservation_differs(old: Any, new: Any) -> bool:
    """Checks whether two flavors differ in runtime and period only."""
    return (old.id != new.id
            and all(old[name] == new[name] for name in _FIELDS)
            and _other_specs(old.extra_specs) == _other_specs(new.extra_specs))


def _other_specs(extra_specs: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in extra_specs.items()
            if key not in _FLAVOR_KEYS}


def fit(rt: Any, instance: Any, flavor: Any,
        wanted: reservation.Reservation) -> tuple[int, ...] | None:
    """Returns pCPUs on which the guest of a server can keep running.

    :param rt: the tracker of the host to which Nova resizes the server
    :param flavor: the new flavor
    :returns: None if the guest must be restarted, or if nothing fits
    """
    if not _may_stay(rt, instance, flavor):
        return None
    try:
        ours = rt.rt_server_claims(instance.uuid) or []
        if len(ours) != 1 or ours[0] != claims.instance_claim(instance):
            return None
        return change.fit(
            rt.rt_state(), ours[0].cpus, ours[0].in_kernel, wanted,
            rt.rt_policy.choose, rt.driver.rt_stays(instance),
            both=True)
    except exception.InvalidClaim:
        return None


def _may_stay(rt: Any, instance: Any, flavor: Any) -> bool:
    """Checks whether Nova's claim changes nothing but the reservation."""
    devices = instance.pci_requests and instance.pci_requests.requests
    return (instance.host == rt.host and flavor is not None
            and instance.vm_state == vm_states.ACTIVE
            and only_reservation_differs(instance.flavor, flavor)
            and instance.numa_topology is None and not devices
            and all(each.resource_class == hostmap.RESOURCE_CLASS
                    for each in instance.resources or ()))


def note(instance: Any, move: int, stays: bool) -> None:
    """Notes whether the guest stays; Nova's claim saves the instance."""
    instance.system_metadata.pop(_KEY, None)
    if stays:
        instance.system_metadata[_KEY] = str(move)


def stays(instance: Any) -> bool:
    """Checks whether the guest stays in the resize that is under way."""
    noted = instance.system_metadata.get(_KEY)
    context = instance.migration_context if noted else None
    return context is not None and noted == str(context.migration_id)


def is_reverting(instance: Any) -> bool:
    """Checks whether Nova reverts a resize in which the guest stays."""
    return (instance.task_state == task_states.RESIZE_REVERTING
            and stays(instance))


def old_claim(instance: Any) -> claims.RTClaim | None:
    """Returns the claim that a server had before its resize.

    :raises InvalidClaim: when the claim cannot be read
    """
    old = claims.parse_resources(instance.migration_context.old_resources)
    return old[0] if old else None
