# SPDX-License-Identifier: Apache-2.0

"""Parses the reservation that a server asks for.

The project has no other parser of runtimes and periods.  The parser reads
flavor extra specs, and scheduler hints in the form of an API request or of a
stored RequestSpec.  Hints replace values of the flavor.  Then the parser
checks the result.  The parser uses no data of Nova, hosts or kernels.
"""

from collections.abc import Mapping
import dataclasses
import enum
import re
from typing import Any

from nova_rt.rules import exception

PPM = 1_000_000

FLAVOR_PREFIX = 'hw:'
RUNTIME_KEY = 'cpu.rt_runtime_us'
PERIOD_KEY = 'cpu.rt_period_us'
KEYS = (RUNTIME_KEY, PERIOD_KEY)
HINT_PREFIX = 'cpu.rt_'

#: No kernel interface works outside these two limits: SCHED_DEADLINE refuses
#: a runtime below 1024 ns and a period above 4194304 us.
MIN_RUNTIME_US = 2
MAX_PERIOD_US = 4_194_304

_NUMBER = re.compile(r'[0-9]+')
_DIGITS = 18
#: Extra spec with the largest share that a hint may ask for on this flavor,
#: for example 0.5; with 0 the flavor takes no hints.
HINT_SHARE_KEY = 'hw:cpu.rt_hint_max_share'
#: Extra specs: the shares between which a loop may change the reservation.
AUTO_LEAST_KEY = f'{FLAVOR_PREFIX}cpu.rt_auto_min_share'
AUTO_MOST_KEY = f'{FLAVOR_PREFIX}cpu.rt_auto_max_share'
#: Extra specs: the response time that a loop keeps, and its percentile.
AUTO_TARGET_KEY = f'{FLAVOR_PREFIX}cpu.rt_auto_target_ms'
AUTO_PERCENTILE_KEY = f'{FLAVOR_PREFIX}cpu.rt_auto_percentile'
#: Extra spec that names the vCPUs with the reservation, see rules.mask.
MASK_KEY = 'hw:cpu.rt_mask'
#: Extra spec that chooses hosts by how they count siblings, see rules.smt.
SMT_KEY = 'hw:cpu.rt_smt'
#: Extra spec that makes a reservation hard or soft, see rules.soft.
KIND_KEY = 'hw:cpu.rt_reservation'
SHARE_PATTERN = r'(0(\.[0-9]{1,6})?|1(\.0{1,6})?)'

FLAVOR = 'flavor extra spec'
_HINT = 'scheduler hint'
_CHOOSE = 'choose a flavor with the reservation you need'


class HintOverride(enum.StrEnum):
    """The extent to which a tenant's hint may change a reservation."""

    ANY = 'any'
    LOWER = 'lower'
    NONE = 'none'


@dataclasses.dataclass(frozen=True, order=True, slots=True)
class Reservation:
    """*runtime_us* of a pCPU in every *period_us*, for each vCPU."""

    runtime_us: int
    period_us: int

    @property
    def bandwidth(self) -> int:
        """The bandwidth of one vCPU in ppm of a pCPU, rounded up."""
        return -(-self.runtime_us * PPM // self.period_us)

    @property
    def share(self) -> float:
        """Runtime divided by period: a number to show, never to add up."""
        return self.runtime_us / self.period_us

    def __str__(self) -> str:
        return (f'{self.runtime_us} us every {self.period_us} us '
                f'(share {self.share:.3f})')


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The operator's rules; runtimes and periods in us, bandwidth in ppm.

    :ivar plain_hints: whether a flavor without a reservation accepts hints
    """

    min_runtime_us: int = MIN_RUNTIME_US
    min_period_us: int = MIN_RUNTIME_US
    max_period_us: int = MAX_PERIOD_US
    max_bandwidth: int = PPM
    hint_override: HintOverride = HintOverride.ANY
    plain_hints: bool = True


_NO_LIMITS = Limits()


@dataclasses.dataclass(frozen=True, slots=True)
class _Value:
    """A parsed value, with its source and its key for messages."""

    source: str
    key: str
    number: int

    def error(self, rule: str, advice: str) -> exception.InvalidReservation:
        """Returns the error that refuses this value."""
        return _error(self.source, self.key, self.number, rule, advice)


def _error(source: str, key: str, value: Any, rule: str, advice: str
           ) -> exception.InvalidReservation:
    # A tenant's value is shown, but never more than 80 characters of it.
    return exception.InvalidReservation(
        source=source, key=key, value=repr(value)[:80], rule=rule,
        advice=advice)


def decimal(ppm: int) -> str:
    """Returns a bandwidth as a share with three digits, to be shown."""
    return f'{ppm / PPM:.3f}'


def is_whole_number(value: Any) -> bool:
    """Checks for a positive integer, or a string of its decimal digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value > 0
    return (isinstance(value, str) and bool(_NUMBER.fullmatch(value))
            and bool(value.strip('0')))


def _parse(source: str, key: str, value: Any) -> _Value:
    """Parses a value of either key.

    :raises InvalidReservation: when *value* is not a positive whole number,
        or has more than 18 digits
    """
    if not is_whole_number(value):
        rule = 'it must be a positive whole number of microseconds'
    elif (isinstance(value, str) and len(value) > _DIGITS
            or int(value) >= 10 ** _DIGITS):
        rule = f'it has more than {_DIGITS} digits'
    else:
        return _Value(source, key, int(value))
    raise _error(source, key, value, rule,
                 'give for example 100000 for 100 ms')


def parse(source: str, key: str, value: Any) -> int:
    """Returns one value in us, checked against the kernels' limits for it.

    :param source: where the value stands, for messages
    :param key: one of KEYS
    :raises InvalidReservation: when the value is not a positive whole number
        or outside of those limits
    """
    parsed = _parse(source, key, value)
    if key == RUNTIME_KEY:
        _check_runtime(parsed, _NO_LIMITS)
    else:
        _check_period(parsed, _NO_LIMITS)
    return parsed.number


def combine(source: str, runtime_us: int, period_us: int) -> Reservation:
    """Returns the reservation of two parsed values from one source.

    :raises InvalidReservation: when the two values together are not a
        reservation that kernels can make
    """
    return _combine({RUNTIME_KEY: _Value(source, RUNTIME_KEY, runtime_us),
                     PERIOD_KEY: _Value(source, PERIOD_KEY, period_us)},
                    _NO_LIMITS)


def flavor_values(extra_specs: Mapping[str, Any]) -> dict[str, _Value]:
    """Returns the values of a flavor by key, without the prefix ``hw:``.

    :raises InvalidReservation: when a value is not a positive whole number
    """
    return {key: _parse(FLAVOR, FLAVOR_PREFIX + key,
                        extra_specs[FLAVOR_PREFIX + key])
            for key in KEYS if FLAVOR_PREFIX + key in extra_specs}


def hint_values(hints: Mapping[str, Any] | None) -> dict[str, _Value]:
    """Returns the values of the scheduler hints by key.

    Hints whose names do not begin with ``cpu.rt_`` are ignored.

    :raises InvalidReservation: when a value is not a positive whole number,
        or when a hint ``cpu.rt_*`` is unknown
    """
    values = {}
    for key, value in (hints or {}).items():
        if not key.startswith(HINT_PREFIX):
            continue
        if key not in KEYS:
            raise _error(_HINT, repr(key)[1:-1][:80], value,
                         'there is no such hint',
                         'use ' + ' or '.join(KEYS))
        values[key] = _parse(_HINT, key, value)
    return values


def stored_hints(hints: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the hints of a RequestSpec as they stood in the request.

    A RequestSpec stores each value as a list of strings.
    """
    return {key: value[0] if isinstance(value, list) and len(value) == 1
            else value for key, value in (hints or {}).items()}


def from_flavor_and_hints(
        extra_specs: Mapping[str, Any],
        hints: Mapping[str, Any] | None = None,
        limits: Limits | None = None) -> Reservation | None:
    """Returns the reservation of a server, or None if it asks for none.

    A hint replaces the value of the flavor, key by key (paper section 5,
    whose example overrides only the runtime).

    :param extra_specs: the extra specs of the flavor, as strings
    :param hints: scheduler hints, as in the body of a request
    :param limits: the operator's rules; None checks only the kernels' limits
    :raises InvalidReservation: when a value is bad, a value is missing, the
        reservation breaks a rule, or a hint asks for more than it may
    """
    from_flavor = flavor_values(extra_specs)
    from_hints = hint_values(hints)
    values = from_flavor | from_hints
    for key in () if values else (MASK_KEY, SMT_KEY, KIND_KEY):
        if key in extra_specs:
            raise _error(FLAVOR, key, extra_specs[key],
                         'the flavor and the hints ask for no reservation',
                         f'also give {FLAVOR_PREFIX}{RUNTIME_KEY} and '
                         f'{FLAVOR_PREFIX}{PERIOD_KEY}, or remove this key')
    hint = next(iter(from_hints.values()), None)
    if limits is None or hint is None:
        return _combine(values, limits or _NO_LIMITS) if values else None
    ceiling = _ceiling(extra_specs, from_flavor, limits)
    if not ceiling.bandwidth:
        raise hint.error(ceiling.rule, ceiling.advice)
    reservation = _combine(values, limits)
    if reservation.bandwidth > ceiling.bandwidth:
        raise hint.error(
            f'it raises the share to {_exact(reservation.bandwidth)}, which '
            f'is above {ceiling.rule}', ceiling.advice)
    return reservation


def carried_hints(extra_specs: Mapping[str, Any], hints: Mapping[str, Any],
                  limits: Limits) -> dict[str, Any]:
    """Returns the hints that a server keeps when it gets another flavor.

    The server loses its hints if the new flavor takes no hints, or if the
    hints and the new flavor together lack a runtime or a period.

    :param extra_specs: the extra specs of the new flavor
    :param hints: the hints of the server that concern reservations
    :raises InvalidReservation: when a value of the new flavor is bad
    """
    from_flavor = flavor_values(extra_specs)
    if not _ceiling(extra_specs, from_flavor, limits).bandwidth or (
            from_flavor.keys() | hints.keys() != set(KEYS)):
        return {}
    return dict(hints)


def _combine(values: Mapping[str, _Value], limits: Limits) -> Reservation:
    for key, other in (KEYS, KEYS[::-1]):
        if key not in values:
            raise values[other].error(
                f'neither the flavor nor a hint gives {key}',
                f'give both {RUNTIME_KEY} and {PERIOD_KEY}')
    runtime, period = values[RUNTIME_KEY], values[PERIOD_KEY]
    if runtime.number > period.number:
        if period.source != runtime.source == FLAVOR:
            raise period.error(
                f'it is less than the runtime of {runtime.number}',
                'give at least the runtime')
        raise runtime.error(f'it is more than the period of {period.number}',
                            'give at most the period')
    _check_limits(runtime, period, limits)
    return Reservation(runtime.number, period.number)


def _check_runtime(runtime: _Value, limits: Limits) -> None:
    if runtime.number < limits.min_runtime_us:
        raise runtime.error(
            f'the shortest runtime in this cloud is {limits.min_runtime_us} '
            'us',
            'give a longer runtime, and a longer period to keep the share')


def _check_period(period: _Value, limits: Limits) -> None:
    if not limits.min_period_us <= period.number <= limits.max_period_us:
        raise period.error(
            f'a period in this cloud must be {limits.min_period_us} to '
            f'{limits.max_period_us} us', 'give a period in that range')


def _check_limits(runtime: _Value, period: _Value, limits: Limits) -> None:
    _check_runtime(runtime, limits)
    _check_period(period, limits)
    bandwidth = Reservation(runtime.number, period.number).bandwidth
    if bandwidth > limits.max_bandwidth:
        raise runtime.error(
            f'with the period of {period.number} this is a share of '
            f'{_exact(bandwidth)}, which is above the maximum of '
            f'{_exact(limits.max_bandwidth)} for one vCPU',
            'give a shorter runtime')


def _exact(bandwidth: int) -> str:
    """Returns a bandwidth as a share with all six digits.

    Messages that compare two shares need all digits.
    """
    return f'{bandwidth / PPM:.6f}'


@dataclasses.dataclass(frozen=True, slots=True)
class _Ceiling:
    """The largest bandwidth that a hint may ask for.

    :ivar bandwidth: the bandwidth in ppm of a pCPU; 0 if hints are refused
    :ivar rule: why hints are refused, or which limit *bandwidth* is
    """

    bandwidth: int
    rule: str
    advice: str


def _ceiling(extra_specs: Mapping[str, Any],
             from_flavor: Mapping[str, _Value], limits: Limits) -> _Ceiling:
    """Returns how much a hint may ask for on a flavor.

    :raises InvalidReservation: when the value of HINT_SHARE_KEY is not a
        share
    """
    if limits.hint_override is HintOverride.NONE:
        return _Ceiling(0, 'this cloud does not accept reservations in '
                        'hints', _CHOOSE)
    if HINT_SHARE_KEY in extra_specs:
        bandwidth = hint_share(extra_specs[HINT_SHARE_KEY])
        return _Ceiling(bandwidth, f'the share of {_exact(bandwidth)} that '
                        'hints may ask for on this flavor' if bandwidth else
                        'this flavor takes no hints', _CHOOSE)
    if len(from_flavor) < len(KEYS):
        return _Ceiling(
            limits.max_bandwidth if limits.plain_hints else 0,
            'a hint counts only on a flavor that has a reservation or takes '
            'hints, and this flavor does neither', _CHOOSE)
    if limits.hint_override is HintOverride.ANY:
        return _Ceiling(limits.max_bandwidth, 'the maximum', _CHOOSE)
    bandwidth = Reservation(from_flavor[RUNTIME_KEY].number,
                            from_flavor[PERIOD_KEY].number).bandwidth
    return _Ceiling(bandwidth, f'the share of {_exact(bandwidth)} of the '
                    'flavor', 'in this cloud a hint may only lower the share')


def hint_share(value: Any) -> int:
    """Returns how much hints may ask for on a flavor, in ppm of a pCPU.

    :param value: the value of HINT_SHARE_KEY
    :raises InvalidReservation: when *value* is not a decimal from 0 to 1
    """
    if not isinstance(value, str) or not re.fullmatch(SHARE_PATTERN, value):
        raise _error(FLAVOR, HINT_SHARE_KEY, value,
                     'it must be a share from 0 to 1',
                     'give for example 0.5, or 0 for a flavor without hints')
    whole, _dot, digits = value.partition('.')
    return int(whole) * PPM + int(digits.ljust(6, '0'))
