# SPDX-License-Identifier: Apache-2.0

"""Finds the vCPUs of a flavor that have its reservation.

By default a reservation is for every vCPU.  The mask of a flavor names only
some of them; the other vCPUs are ordinary, for the housekeeping of the guest.
The grammar is the one of Nova's ``hw:cpu_realtime_mask``.  This project has a
parser of its own, because Tacker and the command line read flavors on machines
without Nova; a test compares this parser with Nova's.

A scheduler hint cannot give a mask.  The operating system of the guest has to
know which of its CPUs do the housekeeping, so the mask belongs to the flavor
that was made for the image.  Only the flavor has the number of vCPUs.
"""

from collections.abc import Mapping
import re
from typing import Any

from nova_rt.rules import cpulist
from nova_rt.rules import exception
from nova_rt.rules import reservation
from nova_rt.rules import words

#: What the API accepts before the number of vCPUs is known.
PATTERN = (r'\^?[0-9]{1,5}(-[0-9]{1,5})?'
           r'(,\^?[0-9]{1,5}(-[0-9]{1,5})?)*')
_ELEMENT = re.compile(r'(\^?)([0-9]{1,5})(?:-([0-9]{1,5}))?')

_ADVICE = 'give for example ^0 for every vCPU but the first one, or 1-3'


def unreserved(extra_specs: Mapping[str, Any], vcpus: int
               ) -> tuple[int, ...]:
    """Returns the vCPUs without the reservation of a flavor, ascending.

    :param vcpus: the number of vCPUs of the flavor
    :returns: () without a mask
    :raises InvalidReservation: when the mask is not of the grammar, or names
        no vCPU, every vCPU, or a vCPU that the flavor does not have
    """
    if reservation.MASK_KEY not in extra_specs:
        return ()
    value = extra_specs[reservation.MASK_KEY]
    named = named_by(value, vcpus)
    if not named:
        raise _error(value, 'it leaves no vCPU with the reservation', _ADVICE)
    if len(named) == vcpus:
        raise _error(
            value, f'it names every vCPU of the flavor ({vcpus})',
            'remove the key: without it the reservation is for every vCPU')
    return tuple(vcpu for vcpu in range(vcpus) if vcpu not in named)


def named_by(value: Any, vcpus: int, key: str = reservation.MASK_KEY
             ) -> set[int]:
    """Returns the vCPUs that a mask names.

    A mask that begins with "^" names all vCPUs that it does not exclude.

    :param key: the key of the mask in the flavor
    :raises InvalidReservation: when the mask is not of the grammar, or names
        a vCPU that the flavor does not have
    """
    if not isinstance(value, str) or not re.fullmatch(PATTERN, value):
        raise _error(value, 'it is not a list of vCPUs', _ADVICE, key)
    named = set(range(vcpus)) if value.startswith('^') else set()
    excluded: set[int] = set()
    for element in value.split(','):
        match = _ELEMENT.fullmatch(element)
        assert match  # noqa: S101 - the pattern above has accepted it.
        first, last = int(match[2]), int(match[3] or match[2])
        if first > last:
            raise _error(value, f'the range {element} ends before it begins',
                         _ADVICE, key)
        if last >= vcpus:
            raise _error(
                value, f'the flavor has no vCPU {last}: its '
                f'{words.noun(vcpus, "vCPU is", "vCPUs are")} '
                f'{cpulist.format_ids(range(vcpus))}',
                'name only vCPUs of the flavor', key)
        (excluded if match[1] else named).update(range(first, last + 1))
    return named - excluded


def _error(value: Any, rule: str, advice: str,
           key: str = reservation.MASK_KEY) -> exception.InvalidReservation:
    return exception.InvalidReservation(
        source=reservation.FLAVOR, key=key,
        value=repr(value)[:80], rule=rule, advice=advice)
