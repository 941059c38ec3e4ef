# SPDX-License-Identifier: Apache-2.0

"""What one place of a descriptor says about the reservation of a VDU.

The numbers are parsed by :mod:`nova_rt.rules.reservation`; here are the names
they have in a descriptor, their inputs, and what is refused for its spelling.
"""

from collections.abc import Callable, Iterable, Mapping
import dataclasses
import difflib
import enum
from typing import Any

from nova_rt.rules import exception as rt_exception
from nova_rt.rules import reservation

from tacker_rt import problem

RUNTIME, PERIOD = reservation.RUNTIME_KEY, reservation.PERIOD_KEY
CARRIER_KEY = 'cpu.rt_carrier'
#: In a descriptor, and in a policy.
_CARRIER_KEYS = (CARRIER_KEY, 'carrier')


class Source(enum.StrEnum):
    """The place where a reservation stands, the strongest first."""

    REQUEST = 'request'
    POLICY = 'policy'
    REQUIREMENTS = 'vdu_cpu_requirements'
    CAPABILITY = 'target_performance_parameters'
    ALLOCATION = 'cpu_allocation'
    FLAVOR = 'flavor'


class Carrier(enum.StrEnum):
    """What takes a reservation to Nova."""

    HINTS = 'hints'
    FLAVOR = 'flavor'
    BOTH = 'both'


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """The value of an input that is not known yet."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Statement:
    """*values* by the keys of Nova's hints; *place* is where it stands."""

    source: Source
    values: Mapping[str, int | Input]
    carrier: Carrier | None = None
    place: problem.Place | None = dataclasses.field(
        default=None, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """How a place writes a reservation.

    *names* are its words for RUNTIME and PERIOD, and for CARRIER_KEY in a
    request.  In an *open* mapping other keys belong to others, unless they
    look like one of these.
    *strings*: its TOSCA type takes numbers in quotes only.
    """

    source: Source
    names: Mapping[str, str]
    open: bool = True
    strings: bool = False


_HINTS = {key: key for key in reservation.KEYS}
REQUEST = Form(Source.REQUEST, {**_HINTS, CARRIER_KEY: CARRIER_KEY})
REQUIREMENTS = Form(Source.REQUIREMENTS, _HINTS, strings=True)
CAPABILITY = Form(Source.CAPABILITY, _HINTS, strings=True)
ALLOCATION = Form(Source.ALLOCATION, _HINTS)
POLICY = Form(Source.POLICY, {RUNTIME: 'runtime_us', PERIOD: 'period_us'},
              open=False)

#: Gives the value of an input, see :class:`tacker_rt.vnfd.inputs.Inputs`.
Resolve = Callable[[problem.Place, str, Any], Any]


def read(place: problem.Place, form: Form, raw: Mapping[Any, Any],
         resolve: Resolve) -> Statement | None:
    """The statement in *raw*, or None where it says nothing.

    None also where something is wrong; the problems are left in *place*.
    """
    before = len(place.found)
    check_names(place, form, raw)
    values: dict[str, int | Input] = {}
    for key in reservation.KEYS:
        if form.names[key] in raw:
            value = read_number(place, form, key, raw, resolve)
            if value is not None:
                values[key] = value
    carrier = (_read_carrier(place, raw) if CARRIER_KEY in form.names
               else None)
    check_pair(place, values, form.names)
    if len(place.found) > before or not (values or carrier):
        return None
    return Statement(form.source, values, carrier, place)


def check_names(place: problem.Place, form: Form, raw: Mapping[Any, Any],
                more: Iterable[str] = ()) -> None:
    """Leave a problem for each key that is neither ours nor *more*."""
    known = {*form.names.values(), *more}
    for key, value in raw.items():
        if key in known or form.open and not is_like_ours(key):
            continue
        if key in _CARRIER_KEYS:
            refuse_carrier(place, key, value)
            continue
        place.add(key, value, 'there is no such key',
                  problem.nearest(key, known))


def refuse_carrier(place: problem.Place, key: str, value: Any) -> None:
    """Leave the problem of a descriptor that names one."""
    place.add(key, value, 'it is a matter of the cloud and not of the VNF',
              f'remove it, and give {CARRIER_KEY} in additionalParams of the '
              'request')


def is_like_ours(key: Any) -> bool:
    """Ours, or so much like ours that it cannot be meant otherwise?"""
    if not isinstance(key, str):
        return False
    word = key.lower()
    return word.startswith(reservation.HINT_PREFIX) or bool(
        difflib.get_close_matches(word, reservation.KEYS, n=1, cutoff=0.8))


def read_number(place: problem.Place, form: Form, key: str,
                raw: Mapping[Any, Any], resolve: Resolve
                ) -> int | Input | None:
    """The value of one of KEYS, or None with the problem left in *place*."""
    name = form.names[key]
    value = resolve(place, name, raw.get(name))
    if value is None or isinstance(value, Input):
        return value
    try:
        number = reservation.parse('', key, value)
    except rt_exception.InvalidReservation as error:
        _refused(place, error, form.names)
        return None
    if form.strings and value is raw[name] and not isinstance(value, str):
        place.add(name, value, 'it must be a string in SOL001',
                  f"write '{number}'")
        return None
    return number


def _read_carrier(place: problem.Place, raw: Mapping[Any, Any]
                  ) -> Carrier | None:
    """None where a request leaves it open."""
    if CARRIER_KEY not in raw:
        return None
    value = raw[CARRIER_KEY]
    if value in list(Carrier):
        return Carrier(value)
    place.add(CARRIER_KEY, value, 'there is no such carrier',
              problem.nearest(value, Carrier))
    return None


def check_pair(place: problem.Place, values: Mapping[str, int | Input],
               names: Mapping[str, str] = _HINTS) -> None:
    """Leave a problem where runtime and period do not go together."""
    runtime, period = values.get(RUNTIME), values.get(PERIOD)
    if isinstance(runtime, int) and isinstance(period, int):
        try:
            reservation.combine('', runtime, period)
        except rt_exception.InvalidReservation as error:
            _refused(place, error, names)


def _refused(place: problem.Place, error: rt_exception.InvalidReservation,
             names: Mapping[str, str]) -> None:
    said = error.kwargs
    place.put(problem.Problem(
        place.file, said['rule'], said['advice'], vdu=place.vdu,
        policy=place.policy, key=names[said['key']], value=said['value']))
