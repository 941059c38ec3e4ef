# SPDX-License-Identifier: Apache-2.0

"""What cannot be combined with a reservation, in a flavor or an image.

Dedicated pCPUs are taken out of the shared ones, where reservations live.
``hw:cpu_realtime`` has libvirt set a policy before there is a budget (EPERM).
The pCPUs of a reservation are chosen from all of a host, so that what binds
a server to NUMA cells would get its memory on one and its vCPUs on another.

These are the keys that can be named to a tenant.  That there is no other is
Nova's to say: see ``nova_rt.services.compute.admission``.
"""

from collections.abc import Iterator, Mapping
import re
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import reservation

_DEDICATED = 'a CPU reservation needs shared pCPUs, not dedicated ones'
_REALTIME = 'real-time vCPUs of Nova run outside of any CPU reservation'
_NUMA = ('a CPU reservation takes pCPUs of any NUMA cell, and this binds the '
         'server to cells')
#: Of what has no known key, and what to do about each conflict.
BOUND = ('with it Nova binds the server to NUMA cells or dedicates pCPUs to '
         'it, and a CPU reservation takes shared pCPUs of any cell')
ADVICE = 'remove it, or the reservation'

_POLICIES = ('dedicated', 'mixed')
_TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))
#: Of flavors with ``hw:`` before them, of images with ``hw_``.
_NUMA_KEYS = ('numa_nodes', 'mem_page_size', 'pci_numa_affinity_policy')
_NUMA_SPECS = (*('hw:' + key for key in _NUMA_KEYS), 'hw:pmem')
_POLICY_SPEC, _REALTIME_SPEC = 'hw:cpu_policy', 'hw:cpu_realtime'
#: Of any request group.
_PCPU = re.compile(r'resources([a-zA-Z0-9_-]{1,64})?:PCPU')
_POLICY_PROPERTY = 'hw_cpu_policy'

#: The image properties that are looked at.
IMAGE_PROPERTIES = (_POLICY_PROPERTY, *('hw_' + key for key in _NUMA_KEYS))


def check(extra_specs: Mapping[str, Any],
          image_properties: Mapping[str, Any] | None = None) -> None:
    """Refuse what cannot be combined with a reservation.

    :param image_properties: those of IMAGE_PROPERTIES that are set; None
        counts as not set
    :raises InvalidReservation: naming the first conflicting key
    """
    for source, key, value, rule in (
            *_of_flavor(extra_specs), *_of_image(image_properties or {})):
        raise exception.InvalidReservation(
            source=source, key=key, value=repr(value)[:80], rule=rule,
            advice=ADVICE)


def of_image(image_meta: Any) -> dict[str, Any]:
    """IMAGE_PROPERTIES of an objects.ImageMeta; None where there is none."""
    if image_meta is None:
        return {}
    return {key: image_meta.properties.get(key) for key in IMAGE_PROPERTIES}


def _of_flavor(specs: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    source = reservation.FLAVOR
    if specs.get(_POLICY_SPEC) in _POLICIES:
        yield source, _POLICY_SPEC, specs[_POLICY_SPEC], _DEDICATED
    realtime = specs.get(_REALTIME_SPEC)
    if str(realtime).strip().lower() in _TRUE:
        yield source, _REALTIME_SPEC, realtime, _REALTIME
    for key in filter(_PCPU.fullmatch, specs):
        yield source, key, specs[key], _DEDICATED
    for key in _NUMA_SPECS:
        if key in specs:
            yield source, key, specs[key], _NUMA


def _of_image(properties: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    source = 'image property'
    for key in IMAGE_PROPERTIES:
        value = properties.get(key)
        if key != _POLICY_PROPERTY and value is not None:
            yield source, key, value, _NUMA
        elif value in _POLICIES:
            yield source, key, value, _DEDICATED
