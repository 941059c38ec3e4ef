# SPDX-License-Identifier: Apache-2.0

"""Finds keys of a flavor or an image that conflict with a reservation.

Reservations use shared pCPUs, and dedicated pCPUs are not shared.  If a server
has both kinds (``hw:cpu_policy=mixed``), its vCPUs on shared pCPUs have the
reservation.  With ``hw:cpu_realtime`` libvirt sets a real-time policy before
the control group has a budget, and the kernel refuses it (EPERM).  Persistent
memory was not tried with a reservation.

This module has the keys that a refusal can name.
``nova_rt.services.compute.admission`` asks Nova's own functions whether
anything else dedicates pCPUs to a server.
"""

from collections.abc import Iterator, Mapping
import re
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import reservation

_DEDICATED = 'a CPU reservation needs shared pCPUs, not dedicated ones'
_REALTIME = ("Nova's real-time vCPUs run outside of any CPU reservation, and "
             'a vCPU with a reservation runs in real time without the key')
_PMEM = 'persistent memory was not tried with a CPU reservation'
_ISOLATE = ('Nova isolates an emulator only if its server has dedicated '
            'pCPUs, because the emulator then gets a dedicated pCPU, too')
_ISOLATE_ADVICE = (
    'use the value share, or give some of the vCPUs dedicated pCPUs '
    '(hw:cpu_policy=mixed and hw:cpu_dedicated_mask), or remove this key: the '
    'host then keeps the emulator off the pCPUs of reservations')
#: The rule of a conflict whose key is not known.
BOUND = ('with this value Nova dedicates pCPUs to the server, but a CPU '
         'reservation takes shared pCPUs')
ADVICE = 'remove this key, or the reservation'
_MIXED = ('give only some of the vCPUs dedicated pCPUs (hw:cpu_policy=mixed '
          'and hw:cpu_dedicated_mask): the other vCPUs then have the '
          'reservation; or '
          + ADVICE)

_DEDICATED_POLICY, _MIXED_POLICY = 'dedicated', 'mixed'
_EMULATOR_SPEC, _ISOLATED = 'hw:emulator_threads_policy', 'isolate'
_TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))
_PMEM_SPEC = 'hw:pmem'
_POLICY_SPEC, _REALTIME_SPEC = 'hw:cpu_policy', 'hw:cpu_realtime'
#: The resource class PCPU, in any request group.
_PCPU = re.compile(r'resources([a-zA-Z0-9_-]{1,64})?:PCPU')
_POLICY_PROPERTY = 'hw_cpu_policy'

#: The image properties that can conflict with a reservation.
IMAGE_PROPERTIES = (_POLICY_PROPERTY,)


def check(extra_specs: Mapping[str, Any],
          image_properties: Mapping[str, Any] | None = None) -> None:
    """Refuses a flavor or an image that conflicts with a reservation.

    :param image_properties: values of IMAGE_PROPERTIES; a property with the
        value None counts as not set.  Instead of the values, None means that
        the image is not known; an unknown image may have all that the flavor
        needs
    :raises InvalidReservation: when a key conflicts; the message names the
        first key that does
    """
    for source, key, value, rule, advice in (
            *_flavor_conflicts(extra_specs),
            *_image_conflicts(image_properties or {}),
            *_emulator_conflicts(extra_specs, image_properties)):
        raise exception.InvalidReservation(
            source=source, key=key, value=repr(value)[:80], rule=rule,
            advice=advice)


def image_properties_of(image_meta: Any) -> dict[str, Any]:
    """Returns the values of IMAGE_PROPERTIES in an objects.ImageMeta.

    :param image_meta: None if the server has no image
    """
    if image_meta is None:
        return {}
    return {key: image_meta.properties.get(key) for key in IMAGE_PROPERTIES}


def _flavor_conflicts(specs: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    source = reservation.FLAVOR
    if specs.get(_POLICY_SPEC) == _DEDICATED_POLICY:
        yield source, _POLICY_SPEC, _DEDICATED_POLICY, _DEDICATED, _MIXED
    realtime = specs.get(_REALTIME_SPEC)
    if str(realtime).strip().lower() in _TRUE:
        yield source, _REALTIME_SPEC, realtime, _REALTIME, ADVICE
    for key in filter(_PCPU.fullmatch, specs):
        yield source, key, specs[key], _DEDICATED, _MIXED
    if _PMEM_SPEC in specs:
        yield source, _PMEM_SPEC, specs[_PMEM_SPEC], _PMEM, ADVICE


def _image_conflicts(properties: Mapping[str, Any]
                     ) -> Iterator[tuple[Any, ...]]:
    value = properties.get(_POLICY_PROPERTY)
    if value == _DEDICATED_POLICY:
        yield 'image property', _POLICY_PROPERTY, value, _DEDICATED, ADVICE


def _emulator_conflicts(specs: Mapping[str, Any],
                        properties: Mapping[str, Any] | None
                        ) -> Iterator[tuple[Any, ...]]:
    if properties is None:
        return
    policies = specs.get(_POLICY_SPEC), properties.get(_POLICY_PROPERTY)
    if (specs.get(_EMULATOR_SPEC) == _ISOLATED
            and _MIXED_POLICY not in policies):
        yield (reservation.FLAVOR, _EMULATOR_SPEC, _ISOLATED, _ISOLATE,
               _ISOLATE_ADVICE)
