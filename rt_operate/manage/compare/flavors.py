# SPDX-License-Identifier: Apache-2.0

"""Finds flavors whose reservation is wrong or seems to be missing.

This is pure code.  ``openstack flavor create --property`` ends with status 0
even when Nova refuses the properties (tried with python-openstackclient 5.8
to 10.5), and leaves a flavor without properties.  The name of a flavor proves
nothing, so a person has to look at the flavors that this module reports.
"""

from collections.abc import Iterable, Iterator, Mapping
import re

from nova_rt.rules import conflicts
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import mask
from nova_rt.rules import reservation
from nova_rt.rules import soft
from rt_operate.manage import snapshot

_KEYS = tuple(reservation.FLAVOR_PREFIX + key for key in reservation.KEYS)
_BOTH = ' and '.join(_KEYS)
_ALMOST = re.compile(r'rt_(runtime|period)', re.IGNORECASE)
#: Matches names such as flavor_rt1 and rt-5397-10000 of the documentation.
_NAME = re.compile(r'(?<![a-z])rt(?![a-z])|real-?time', re.IGNORECASE)
_PLACEMENT = hostmap.TRAITS | set(hostmap.CLASSES)


def suspects(flavors: Iterable[snapshot.Flavor], limits: reservation.Limits
             ) -> Iterator[snapshot.Suspect]:
    """Yields the suspicious flavors, each with one reason.

    :param limits: the operator's rules as they are now
    """
    for flavor in flavors:
        specs = flavor.extra_specs
        reason = (_broken(flavor, limits)
                  if any(key in specs for key in _KEYS)
                  else _missing(flavor))
        if reason is not None:
            yield snapshot.Suspect(flavor.name, *reason)


def _broken(flavor: snapshot.Flavor, limits: reservation.Limits
            ) -> tuple[str, str] | None:
    """Returns what is wrong with a flavor that has one or both keys.

    :returns: the mistake and the remedy; None if nothing is wrong
    """
    specs = flavor.extra_specs
    present = [key for key in _KEYS if key in specs]
    if len(present) < len(_KEYS):
        absent, = set(_KEYS) - set(present)
        if _accepts_hints(specs):
            return None
        return (f'it has {present[0]} but not {absent}',
                'set both keys with openstack flavor set, or remove the key')
    try:
        reservation.from_flavor_and_hints(specs, None, limits)
        mask.unreserved(specs, flavor.vcpus)
        soft.is_soft(specs)
        conflicts.check(specs)
    except exception.InvalidReservation as error:
        return (f'no server can be created with it: '
                f'{exception.clause(error)}', 'correct its properties')
    return None


def _missing(flavor: snapshot.Flavor) -> tuple[str, str] | None:
    """Returns why a flavor without nova-rt's keys may need these keys.

    :returns: the reason and the remedy; None if there is no reason
    """
    specs = flavor.extra_specs
    for key in specs:
        if _ALMOST.search(key):
            return (f'it has {key}, which no service reads',
                    f'set {_BOTH} instead')
    if _accepts_hints(specs):
        return None
    for key in (reservation.MASK_KEY, reservation.KIND_KEY):
        if key in specs:
            return (f'it has {key} but reserves nothing',
                    f'also set {_BOTH}, or remove {key}')
    for key, value in specs.items():
        if key.rpartition(':')[2] in _PLACEMENT and value != 'forbidden':
            return (f'it has {key} but reserves nothing',
                    f'set {_BOTH}, or remove {key}')
    if _NAME.search(flavor.name) and not _conflicts(specs):
        return ('its name suggests a reservation, but it reserves nothing',
                f'set {_BOTH} with openstack flavor set; ignore this if the '
                'flavor is meant to reserve nothing')
    return None


def _accepts_hints(specs: Mapping[str, str]) -> bool:
    """Tells whether hints may give servers of this flavor a reservation."""
    try:
        return bool(reservation.hint_share(
            specs.get(reservation.HINT_SHARE_KEY, '0')))
    except exception.InvalidReservation:
        return False


def _conflicts(specs: Mapping[str, str]) -> bool:
    """Tells whether a flavor has a property that excludes reservations."""
    try:
        conflicts.check(specs)
    except exception.InvalidReservation:
        return True
    return False
