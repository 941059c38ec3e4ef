# SPDX-License-Identifier: Apache-2.0

"""What a server asks for: parse, overlay, validate.

The one parser of runtimes and periods.  It reads flavor extra specs and
scheduler hints, as they stand in an API request body or in a stored
RequestSpec, and knows nothing of Nova, hosts or kernels.
"""

from collections.abc import Mapping
import dataclasses
import enum
import re
from typing import Any

from nova_rt import exception

PPM = 1_000_000

FLAVOR_PREFIX = 'hw:'
RUNTIME_KEY = 'cpu.rt_runtime_us'
PERIOD_KEY = 'cpu.rt_period_us'
KEYS = (RUNTIME_KEY, PERIOD_KEY)
HINT_PREFIX = 'cpu.rt_'

#: Outside these no kernel interface works: SCHED_DEADLINE servers refuse a
#: runtime below 1024 ns and a period above 4194304 us.
MIN_RUNTIME_US = 2
MAX_PERIOD_US = 4_194_304

_NUMBER = re.compile(r'[0-9]+')
_DIGITS = 18
#: Extra specs that check_conflicts looks at.
CONFLICTING = ('hw:cpu_policy', 'hw:cpu_realtime', 'resources:PCPU')
_TRUE = frozenset(('1', 't', 'true', 'on', 'y', 'yes'))


_FLAVOR, _HINT = 'flavor extra spec', 'scheduler hint'


class HintOverride(enum.StrEnum):
    """What a tenant's hint may do to the reservation of a flavor."""

    ANY = 'any'
    LOWER = 'lower'
    NONE = 'none'


@dataclasses.dataclass(frozen=True, order=True, slots=True)
class Reservation:
    """*runtime_us* of a physical CPU in every *period_us*, for each vCPU."""

    runtime_us: int
    period_us: int

    @property
    def bandwidth(self) -> int:
        """Parts per million of one pCPU, rounded up."""
        return -(-self.runtime_us * PPM // self.period_us)

    @property
    def share(self) -> float:
        """Runtime over period, for people; never for sums."""
        return self.runtime_us / self.period_us

    def __str__(self) -> str:
        return (f'{self.runtime_us} us every {self.period_us} us '
                f'(share {self.share:.3f})')


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The operator's rules; runtimes and periods in us, shares in ppm."""

    min_runtime_us: int = MIN_RUNTIME_US
    min_period_us: int = MIN_RUNTIME_US
    max_period_us: int = MAX_PERIOD_US
    max_bandwidth: int = PPM
    hint_override: HintOverride = HintOverride.ANY


@dataclasses.dataclass(frozen=True, slots=True)
class _Value:
    """A parsed value and where it came from, for messages."""

    source: str
    key: str
    number: int

    def error(self, rule: str, advice: str) -> exception.InvalidReservation:
        return _error(self.source, self.key, self.number, rule, advice)


def _error(source: str, key: str, value: Any, rule: str, advice: str
           ) -> exception.InvalidReservation:
    # Tenant input is shown, but not at any length.
    return exception.InvalidReservation(
        source=source, key=key, value=repr(value)[:80], rule=rule,
        advice=advice)


def is_whole_number(value: Any) -> bool:
    """A positive integer, or a string of its decimal digits?"""
    if isinstance(value, int) and not isinstance(value, bool):
        return value > 0
    return (isinstance(value, str) and bool(_NUMBER.fullmatch(value))
            and bool(value.strip('0')))


def _parse(source: str, key: str, value: Any) -> _Value:
    """:raises InvalidReservation: not a positive whole number"""
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
    """One value in us, within the kernels' limits that concern it alone.

    :param source: where it stands, for messages
    :param key: one of KEYS
    :raises InvalidReservation: one sentence with key, value, rule, advice
    """
    parsed = _parse(source, key, value)
    if key == RUNTIME_KEY:
        _check_runtime(parsed, Limits())
    else:
        _check_period(parsed, Limits())
    return parsed.number


def combine(source: str, runtime_us: int, period_us: int) -> Reservation:
    """The reservation of two parsed values from one source.

    :raises InvalidReservation: one sentence with key, value, rule, advice
    """
    return _combine({RUNTIME_KEY: _Value(source, RUNTIME_KEY, runtime_us),
                     PERIOD_KEY: _Value(source, PERIOD_KEY, period_us)},
                    Limits())


def flavor_values(extra_specs: Mapping[str, Any]) -> dict[str, _Value]:
    """Values of a flavor by key without the ``hw:`` prefix.

    :raises InvalidReservation: a value is no positive whole number
    """
    return {key: _parse(_FLAVOR, FLAVOR_PREFIX + key,
                        extra_specs[FLAVOR_PREFIX + key])
            for key in KEYS if FLAVOR_PREFIX + key in extra_specs}


def hint_values(hints: Mapping[str, Any] | None) -> dict[str, _Value]:
    """Values of the scheduler hints by key; other people's hints are skipped.

    :raises InvalidReservation: a bad value, or an unknown ``cpu.rt_*`` key
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
    """Hints as they were in the request, from those of a RequestSpec.

    Nova stores each value as a list of strings.
    """
    return {key: value[0] if isinstance(value, list) and len(value) == 1
            else value for key, value in (hints or {}).items()}


def from_flavor_and_hints(
        extra_specs: Mapping[str, Any],
        hints: Mapping[str, Any] | None = None,
        limits: Limits | None = None) -> Reservation | None:
    """The reservation of a server, or None where it asks for none.

    The hint wins per key (paper section 5: its example overrides only the
    runtime).

    :param extra_specs: of the flavor, values are strings
    :param hints: scheduler hints, as in the body of a request
    :param limits: the operator's rules; None checks the kernels' only
    :raises InvalidReservation: one sentence with key, value, rule, advice
    """
    limits = limits or Limits()
    from_flavor = flavor_values(extra_specs)
    from_hints = hint_values(hints)
    if from_hints and limits.hint_override is HintOverride.NONE:
        value = next(iter(from_hints.values()))
        raise value.error('this cloud does not accept reservations in hints',
                          'choose a flavor with the reservation you need')
    values = from_flavor | from_hints
    if not values:
        return None
    reservation = _combine(values, limits)
    if from_hints and limits.hint_override is HintOverride.LOWER:
        _check_lower(reservation, from_flavor, from_hints)
    return reservation


def _combine(values: Mapping[str, _Value], limits: Limits) -> Reservation:
    for key, other in (KEYS, KEYS[::-1]):
        if key not in values:
            raise values[other].error(
                f'neither the flavor nor a hint gives {key}',
                f'give both {RUNTIME_KEY} and {PERIOD_KEY}')
    runtime, period = values[RUNTIME_KEY], values[PERIOD_KEY]
    if runtime.number > period.number:
        if period.source != runtime.source == _FLAVOR:
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
            f'the least runtime here is {limits.min_runtime_us} us',
            'give more, with a longer period for the same share')


def _check_period(period: _Value, limits: Limits) -> None:
    if not limits.min_period_us <= period.number <= limits.max_period_us:
        raise period.error(
            f'periods here are {limits.min_period_us} to '
            f'{limits.max_period_us} us', 'give one in that range')


def _check_limits(runtime: _Value, period: _Value, limits: Limits) -> None:
    _check_runtime(runtime, limits)
    _check_period(period, limits)
    bandwidth = Reservation(runtime.number, period.number).bandwidth
    if bandwidth > limits.max_bandwidth:
        raise runtime.error(
            f'its share of {_exact(bandwidth)} of the period of '
            f'{period.number} is above the maximum of '
            f'{_exact(limits.max_bandwidth)} for one vCPU',
            'give a shorter runtime')


def _exact(bandwidth: int) -> str:
    """A share whose comparison with another must be seen."""
    return f'{bandwidth / PPM:.6f}'


def _check_lower(reservation: Reservation,
                 from_flavor: Mapping[str, _Value],
                 from_hints: Mapping[str, _Value]) -> None:
    value = next(iter(from_hints.values()))
    if len(from_flavor) < len(KEYS):
        raise value.error('a hint may only lower the share of a flavor that '
                          'has a reservation, and this one has none',
                          'choose a flavor with a reservation')
    bandwidth = Reservation(from_flavor[RUNTIME_KEY].number,
                            from_flavor[PERIOD_KEY].number).bandwidth
    if reservation.bandwidth > bandwidth:
        raise value.error(
            f'it raises the share to {_exact(reservation.bandwidth)}, above '
            f'the {_exact(bandwidth)} of the flavor',
            'a hint may only lower it here')


def check_conflicts(extra_specs: Mapping[str, Any],
                    image_properties: Mapping[str, Any] | None = None
                    ) -> None:
    """Refuse what cannot be combined with a reservation.

    Dedicated pCPUs are taken out of the shared ones, where reservations
    live, and ``hw:cpu_realtime`` has libvirt set a policy before there is a
    budget (EPERM).

    :raises InvalidReservation: naming the first conflicting key
    """
    advice = 'remove it, or the reservation'
    image = image_properties or {}
    for source, key, value in (
            (_FLAVOR, 'hw:cpu_policy',
             extra_specs.get('hw:cpu_policy')),
            ('image property', 'hw_cpu_policy', image.get('hw_cpu_policy'))):
        if value in ('dedicated', 'mixed'):
            raise _error(source, key, value, 'a CPU reservation needs shared '
                         'pCPUs, not dedicated ones', advice)
    realtime = extra_specs.get('hw:cpu_realtime')
    if str(realtime).strip().lower() in _TRUE:
        raise _error(_FLAVOR, 'hw:cpu_realtime', realtime,
                     'real-time vCPUs of Nova run outside of any CPU '
                     'reservation', advice)
    if 'resources:PCPU' in extra_specs:
        raise _error(_FLAVOR, 'resources:PCPU',
                     extra_specs['resources:PCPU'], 'a CPU reservation needs '
                     'shared pCPUs, not dedicated ones', advice)
