# SPDX-License-Identifier: Apache-2.0

"""Parses the type and the class of the workload of a server.

The type of network function (``vnf_type``) tells which neighbours disturb a
server, and the class (``app_class``) tells how much a container loses on a
large host.  Neither the type nor the class reserves anything.  The project has
no other parser of types and classes, for flavors, scheduler hints and VNF
descriptors.
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
#: How similar a known word must be to be suggested, as difflib counts it.
_ALIKE = 0.2


class AppClass(enum.StrEnum):
    """The way in which a workload uses its CPUs (paper 001, section III)."""

    CPU = 'cpu'
    IO = 'io'
    ULTRA_IO = 'ultra-io'


@dataclasses.dataclass(frozen=True, slots=True)
class Workload:
    """The type and the class of a server; None if it does not give one."""

    vnf_type: str | None = None
    app_class: AppClass | None = None


NOTHING = Workload()


def is_type(text: str) -> bool:
    """Checks whether *text* may be the name of a type of network function."""
    return re.fullmatch(TYPE_PATTERN, text) is not None


def parse_type(source: str, key: str, value: Any) -> str:
    """Returns the name of a type of network function.

    :param source: where the value stands, for messages
    :raises InvalidWorkload: when *value* may not be such a name
    """
    if isinstance(value, str) and is_type(value):
        return value
    near = re.sub(r'[^A-Za-z0-9_.-]+', '-', str(value))[:_LONGEST].strip('-')
    raise _error(source, key, value,
                 f'it must be 1 to {_LONGEST} letters, digits, _, . or -',
                 f'give for example {near or "dpi"}')


def parse_class(source: str, key: str, value: Any) -> AppClass:
    """Returns the class of a workload.

    :param source: where the value stands, for messages
    :raises InvalidWorkload: when no class has the name *value*
    """
    try:
        return AppClass(value)
    except ValueError:
        names = [str(app_class) for app_class in AppClass]
        near = difflib.get_close_matches(
            str(value).lower(), names, 1, _ALIKE)
        raise _error(
            source, key, value, f'it must be {", ".join(names[:-1])} or '
            f'{names[-1]}', f'the nearest is {near[0]}' if near else
            'give the class that fits') from None


def from_flavor_and_hints(extra_specs: Mapping[str, Any],
                          hints: Mapping[str, Any] | None = None
                          ) -> Workload:
    """Returns the workload of a server; a hint replaces the flavor's value.

    :param extra_specs: the extra specs of the flavor
    :param hints: scheduler hints, as in the body of a request
    :raises InvalidWorkload: when a type or a class is bad
    """
    return Workload(_find(TYPE_KEY, parse_type, extra_specs, hints or {}),
                    _find(CLASS_KEY, parse_class, extra_specs, hints or {}))


def _find(key: str, parse: Any, extra_specs: Mapping[str, Any],
          hints: Mapping[str, Any]) -> Any:
    """Returns the value of the hint, else that of the flavor, else None.

    The function parses the values of both, so that a bad value of a flavor is
    refused even if a hint replaces this value.
    """
    result = None
    for source, name, values in (
            (reservation.FLAVOR, reservation.FLAVOR_PREFIX + key,
             extra_specs), (_HINT, key, hints)):
        if name in values:
            result = parse(source, name, values[name])
    return result


def _error(source: str, key: str, value: Any, rule: str, advice: str
           ) -> exception.InvalidWorkload:
    return exception.InvalidWorkload(
        source=source, key=key, value=repr(value)[:80], rule=rule,
        advice=advice)
