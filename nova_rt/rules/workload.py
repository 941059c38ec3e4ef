# SPDX-License-Identifier: Apache-2.0

"""What a server says of its workload: parse, overlay, validate.

A type of network function (``vnf_type``) tells who disturbs whom; a class
(``app_class``) tells how much a container loses on a large host.  Neither is
a reservation, nor makes one.  The one parser of both: flavors, scheduler
hints and VNF descriptors.
"""

from collections.abc import Mapping
import dataclasses
import difflib
import enum
import re
from typing import Any

from nova_rt.rules import exception
from nova_rt.rules import reservation

TYPE_KEY = 'cpu.vnf_type'
CLASS_KEY = 'cpu.app_class'
KEYS = (TYPE_KEY, CLASS_KEY)
FLAVOR_KEYS = tuple(reservation.FLAVOR_PREFIX + key for key in KEYS)

TYPE_PATTERN = r'[A-Za-z0-9_.-]{1,32}'

_HINT = 'scheduler hint'
_LONGEST = 32
#: How alike words must be to name one for the other, as difflib has it.
_ALIKE = 0.2


class AppClass(enum.StrEnum):
    """How a workload uses its CPUs (paper 001, section III)."""

    CPU = 'cpu'
    IO = 'io'
    ULTRA_IO = 'ultra-io'


@dataclasses.dataclass(frozen=True, slots=True)
class Workload:
    """What a server says; None for what it does not."""

    vnf_type: str | None = None
    app_class: AppClass | None = None


NOTHING = Workload()


def is_type(text: str) -> bool:
    """Whether it may name a type of network function."""
    return re.fullmatch(TYPE_PATTERN, text) is not None


def parse_type(source: str, key: str, value: Any) -> str:
    """The name of a type of network function.

    :param source: where it stands, for messages
    :raises InvalidWorkload: one sentence with key, value, rule, advice
    """
    if isinstance(value, str) and is_type(value):
        return value
    near = re.sub(r'[^A-Za-z0-9_.-]+', '-', str(value))[:_LONGEST].strip('-')
    raise _error(source, key, value,
                 f'it must be 1 to {_LONGEST} letters, digits, _, . or -',
                 f'give for example {near or "dpi"}')


def parse_class(source: str, key: str, value: Any) -> AppClass:
    """The class of a workload.

    :param source: where it stands, for messages
    :raises InvalidWorkload: one sentence with key, value, rule, advice
    """
    try:
        return AppClass(value)
    except ValueError:
        known = [str(each) for each in AppClass]
        near = difflib.get_close_matches(
            str(value).lower(), known, 1, _ALIKE)
        raise _error(
            source, key, value, f'it must be {", ".join(known[:-1])} or '
            f'{known[-1]}', f'the nearest is {near[0]}' if near else
            'give the one that fits') from None


def from_flavor_and_hints(extra_specs: Mapping[str, Any],
                          hints: Mapping[str, Any] | None = None
                          ) -> Workload:
    """What a server says; the hint wins per key.

    :param extra_specs: of the flavor
    :param hints: scheduler hints, as in the body of a request
    :raises InvalidWorkload: one sentence with key, value, rule, advice
    """
    return Workload(_find(TYPE_KEY, parse_type, extra_specs, hints or {}),
                    _find(CLASS_KEY, parse_class, extra_specs, hints or {}))


def _find(key: str, parse: Any, extra_specs: Mapping[str, Any],
          hints: Mapping[str, Any]) -> Any:
    """Both are parsed: a wrong flavor is wrong under any hint."""
    found = None
    for source, name, values in (
            (reservation.FLAVOR, reservation.FLAVOR_PREFIX + key,
             extra_specs), (_HINT, key, hints)):
        if name in values:
            found = parse(source, name, values[name])
    return found


def _error(source: str, key: str, value: Any, rule: str, advice: str
           ) -> exception.InvalidWorkload:
    return exception.InvalidWorkload(
        source=source, key=key, value=repr(value)[:80], rule=rule,
        advice=advice)
