# SPDX-License-Identifier: Apache-2.0

"""Finds keys of a flavor or an image that conflict with a reservation.

Reservations live on shared pCPUs, and Nova takes dedicated pCPUs out of the
shared ones.  With ``hw:cpu_realtime`` libvirt sets a real-time policy before
the control group has a budget, and the kernel refuses it (EPERM).  The pCPUs
of a reservation are chosen among all pCPUs of a host, so that a server that
Nova binds to NUMA cells could have its memory on one cell and its vCPUs on
another.

This module has the keys that a refusal can name.  Whether anything else binds
a server to NUMA cells or pCPUs is asked of Nova's own functions, see
``nova_rt.services.compute.admission``.
"""

from collections.abc import Iterator, Mapping
import re
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import reservation

_DEDICATED = 'a CPU reservation needs shared pCPUs, not dedicated ones'
_REALTIME = "Nova's real-time vCPUs run outside of any CPU reservation"
_NUMA = ('a CPU reservation takes pCPUs of any NUMA cell, but this value '
         'binds the server to NUMA cells')
#: The rule of a conflict whose key is not known.
BOUND = ('with this value Nova binds the server to NUMA cells or dedicates '
         'pCPUs to the server, but a CPU reservation takes shared pCPUs of '
         'any NUMA cell')
#: The advice for each conflict.
ADVICE = 'remove it, or the reservation'

_POLICIES = ('dedicated', 'mixed')
_TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))
#: Keys that have the prefix ``hw:`` in a flavor and ``hw_`` in an image.
_NUMA_KEYS = ('numa_nodes', 'mem_page_size', 'pci_numa_affinity_policy')
_NUMA_SPECS = (*('hw:' + key for key in _NUMA_KEYS), 'hw:pmem')
_POLICY_SPEC, _REALTIME_SPEC = 'hw:cpu_policy', 'hw:cpu_realtime'
#: The resource class PCPU, in any request group.
_PCPU = re.compile(r'resources([a-zA-Z0-9_-]{1,64})?:PCPU')
_POLICY_PROPERTY = 'hw_cpu_policy'

#: The image properties that can conflict with a reservation.
IMAGE_PROPERTIES = (_POLICY_PROPERTY, *('hw_' + key for key in _NUMA_KEYS))


def check(extra_specs: Mapping[str, Any],
          image_properties: Mapping[str, Any] | None = None) -> None:
    """Refuses a flavor or an image that conflicts with a reservation.

    :param image_properties: values of IMAGE_PROPERTIES; a value of None
        counts as not set
    :raises InvalidReservation: when a key conflicts; the message names the
        first key that does
    """
    for source, key, value, rule in (
            *_of_flavor(extra_specs), *_of_image(image_properties or {})):
        raise exception.InvalidReservation(
            source=source, key=key, value=repr(value)[:80], rule=rule,
            advice=ADVICE)


def image_properties_of(image_meta: Any) -> dict[str, Any]:
    """Returns the values of IMAGE_PROPERTIES in an objects.ImageMeta.

    :param image_meta: None if the server has no image
    """
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
