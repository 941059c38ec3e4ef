# SPDX-License-Identifier: Apache-2.0

"""Reads what one place of a descriptor says about a reservation.

:mod:`nova_rt.rules.reservation` parses the numbers.  This module knows the
keys of each place, resolves inputs, and refuses misspelt keys.
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
#: The vCPUs of a VDU that its reservation is for, see vnfd.mask.
MASK = reservation.MASK_KEY.removeprefix(reservation.FLAVOR_PREFIX)
#: Whether the reservation is hard or soft, see vnfd.kind.
KIND = reservation.KIND_KEY.removeprefix(reservation.FLAVOR_PREFIX)
#: The key of the carrier in a descriptor, and in a policy.
_CARRIER_KEYS = (CARRIER_KEY, 'carrier')


class StatementSource(enum.StrEnum):
    """The places where a reservation can stand, the strongest first."""

    REQUEST = 'request'
    POLICY = 'policy'
    REQUIREMENTS = 'vdu_cpu_requirements'
    CAPABILITY = 'target_performance_parameters'
    ALLOCATION = 'cpu_allocation'
    FLAVOR = 'flavor'


class Carrier(enum.StrEnum):
    """The way in which a reservation travels to Nova."""

    HINTS = 'hints'
    FLAVOR = 'flavor'
    BOTH = 'both'


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """An input whose value is not known yet."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Statement:
    """The values of a reservation that one place gives.

    :ivar values: the values by the keys of Nova's hints
    :ivar place: the place, for messages
    """

    source: StatementSource
    values: Mapping[str, int | Input]
    carrier: Carrier | None = None
    place: problem.Place | None = dataclasses.field(
        default=None, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
    """The form in which a place has a reservation.

    :ivar names: the keys there for RUNTIME and PERIOD, and in a request for
        CARRIER_KEY
    :ivar open: whether the mapping may have other keys that do not resemble
        these keys
    :ivar strings: whether the TOSCA type only takes numbers in quotes
    :ivar more: other keys, which are read elsewhere
    """

    source: StatementSource
    names: Mapping[str, str]
    open: bool = True
    strings: bool = False
    more: tuple[str, ...] = ()


_HINTS = {key: key for key in reservation.KEYS}
REQUEST = Form(StatementSource.REQUEST, {**_HINTS, CARRIER_KEY: CARRIER_KEY})
REQUIREMENTS = Form(StatementSource.REQUIREMENTS, _HINTS, strings=True,
                    more=(MASK, KIND))
CAPABILITY = Form(StatementSource.CAPABILITY, _HINTS, strings=True)
ALLOCATION = Form(StatementSource.ALLOCATION, _HINTS, more=(MASK, KIND))
POLICY = Form(StatementSource.POLICY,
              {RUNTIME: 'runtime_us', PERIOD: 'period_us'}, open=False)

#: Returns the value of an input, see :class:`tacker_rt.vnfd.inputs.Inputs`.
Resolve = Callable[[problem.Place, str, Any], Any]


def read(place: problem.Place, form: Form, raw: Mapping[Any, Any],
         resolve: Resolve) -> Statement | None:
    """Returns the statement in *raw*.

    :returns: None if *raw* says nothing, or if something is wrong, with the
        problems in *place*
    """
    before = len(place.problems)
    check_names(place, form, raw, form.more)
    values: dict[str, int | Input] = {}
    for key in reservation.KEYS:
        if form.names[key] in raw:
            value = read_number(place, form, key, raw, resolve)
            if value is not None:
                values[key] = value
    carrier = (_read_carrier(place, raw) if CARRIER_KEY in form.names
               else None)
    check_pair(place, values, form.names)
    if len(place.problems) > before or not (values or carrier):
        return None
    return Statement(form.source, values, carrier, place)


def check_names(place: problem.Place, form: Form, raw: Mapping[Any, Any],
                more: Iterable[str] = ()) -> None:
    """Adds a problem for each key that neither *form* nor *more* has."""
    names = {*form.names.values(), *more}
    for key, value in raw.items():
        if key in names or form.open and not is_like_ours(key):
            continue
        if key in _CARRIER_KEYS:
            refuse_carrier(place, key, value)
            continue
        place.add(key, value, 'this key is not known here',
                  problem.nearest(key, names))


def refuse_carrier(place: problem.Place, key: str, value: Any) -> None:
    """Adds the problem that a descriptor names a carrier."""
    place.add(key, value, 'the carrier depends on the cloud, not on the VNF',
              f'remove the key, and give {CARRIER_KEY} in additionalParams '
              'of the request')


def is_like_ours(key: Any) -> bool:
    """Tells whether a key is one of ours, or a misspelt one of ours."""
    if not isinstance(key, str):
        return False
    word = key.lower()
    return word.startswith(reservation.HINT_PREFIX) or bool(
        difflib.get_close_matches(word, reservation.KEYS, n=1, cutoff=0.8))


def read_number(place: problem.Place, form: Form, key: str,
                raw: Mapping[Any, Any], resolve: Resolve
                ) -> int | Input | None:
    """Returns the value of one of KEYS.

    :returns: None if there is none, with the problem in *place*
    """
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
        place.add(name, value, 'the value must be a string in SOL001',
                  f"write '{number}'")
        return None
    return number


def _read_carrier(place: problem.Place, raw: Mapping[Any, Any]
                  ) -> Carrier | None:
    """Returns the carrier of a request; None if it names none."""
    if CARRIER_KEY not in raw:
        return None
    value = raw[CARRIER_KEY]
    if value in list(Carrier):
        return Carrier(value)
    place.add(CARRIER_KEY, value, 'the value is not a carrier',
              problem.nearest(value, Carrier))
    return None


def check_pair(place: problem.Place, values: Mapping[str, int | Input],
               names: Mapping[str, str] = _HINTS) -> None:
    """Adds a problem if runtime and period do not fit each other."""
    runtime, period = values.get(RUNTIME), values.get(PERIOD)
    if isinstance(runtime, int) and isinstance(period, int):
        try:
            reservation.combine('', runtime, period)
        except rt_exception.InvalidReservation as error:
            _refused(place, error, names)


def _refused(place: problem.Place, error: rt_exception.InvalidReservation,
             names: Mapping[str, str]) -> None:
    arguments = error.kwargs
    place.put(problem.Problem(
        place.file, arguments['rule'], arguments['advice'], vdu=place.vdu,
        policy=place.policy, key=names[arguments['key']],
        value=arguments['value']))
