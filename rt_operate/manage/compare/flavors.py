# SPDX-License-Identifier: Apache-2.0

"""Finds flavors that look meant to be reserved, and are not.

Pure code.  ``openstack flavor create --property`` ends with status 0 where
Nova refuses the properties (python-openstackclient 5.8 to 10.5, tried), and
leaves a flavor without any.  A name is no proof: what is found here is for
people to look at.
"""

from collections.abc import Iterable, Iterator, Mapping
import re

from nova_rt.rules import conflicts
from nova_rt.rules import exception
from nova_rt.rules import hostmap
from nova_rt.rules import reservation
from rt_operate.manage import snapshot

_KEYS = tuple(reservation.FLAVOR_PREFIX + key for key in reservation.KEYS)
_BOTH = ' and '.join(_KEYS)
_ALMOST = re.compile(r'rt_(runtime|period)', re.IGNORECASE)
#: As in flavor_rt1 and rt-5397-10000, which the documentation has.
_NAME = re.compile(r'(?<![a-z])rt(?![a-z])|real-?time', re.IGNORECASE)
_PLACEMENT = hostmap.TRAITS | set(hostmap.CLASSES)


def suspects(flavors: Iterable[snapshot.Flavor], limits: reservation.Limits
             ) -> Iterator[snapshot.Suspect]:
    """One sentence at most for each flavor.

    :param limits: the operator's rules of today
    """
    for flavor in flavors:
        specs = flavor.extra_specs
        found = (_broken(specs, limits) if any(key in specs for key in _KEYS)
                 else _missing(flavor))
        if found is not None:
            yield snapshot.Suspect(flavor.name, *found)


def _broken(specs: Mapping[str, str], limits: reservation.Limits
            ) -> tuple[str, str] | None:
    """What is wrong with the keys of a flavor that has one or both."""
    present = [key for key in _KEYS if key in specs]
    if len(present) < len(_KEYS):
        absent, = set(_KEYS) - set(present)
        if _takes_hints(specs):
            return None
        return (f'it has {present[0]} and no {absent}',
                'give it both by openstack flavor set, or take it away')
    try:
        reservation.from_flavor_and_hints(specs, None, limits)
        conflicts.check(specs)
    except exception.InvalidReservation as error:
        return (f'no server can be created with it: '
                f'{exception.clause(error)}', 'correct its properties')
    return None


def _missing(flavor: snapshot.Flavor) -> tuple[str, str] | None:
    """What says that a flavor without our keys should have them."""
    specs = flavor.extra_specs
    for key in specs:
        if _ALMOST.search(key):
            return (f'it has {key}, which nothing reads',
                    f'give it {_BOTH} in its place')
    if _takes_hints(specs):
        return None
    for key, value in specs.items():
        if key.rpartition(':')[2] in _PLACEMENT and value != 'forbidden':
            return (f'it has {key} and reserves nothing',
                    f'give it {_BOTH}, or take that away')
    if _NAME.search(flavor.name) and not _conflicts(specs):
        return ('by its name it is reserved, and it reserves nothing',
                f'give it {_BOTH} by openstack flavor set; if it is to '
                'reserve nothing, this can be ignored')
    return None


def _takes_hints(specs: Mapping[str, str]) -> bool:
    """Whether its servers may have a reservation by their hints."""
    try:
        return bool(reservation.hint_share(
            specs.get(reservation.HINT_SHARE_KEY, '0')))
    except exception.InvalidReservation:
        return False


def _conflicts(specs: Mapping[str, str]) -> bool:
    """Whether it has what no reservation goes with."""
    try:
        conflicts.check(specs)
    except exception.InvalidReservation:
        return True
    return False
