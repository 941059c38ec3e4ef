# SPDX-License-Identifier: Apache-2.0

"""What the probe says, in each form."""

from collections.abc import Mapping
import dataclasses
import functools
import json
from typing import NamedTuple

from rt_probe import supply

THROTTLED, BURST, BOUND = 'throttled', 'burst', 'bound'
_DIGITS = 5
_PREFIX = 'rt_probe'


class Report(NamedTuple):
    """What is known at one moment; ratios are CPU time per wall time.

    :ivar at: seconds since 1970
    :ivar method: how it is known; with ``bound`` *available* is None
    :ivar lower: the truth is no less; *upper*: and no more, None: unknown
    :ivar used: what was used since the last report
    :ivar speed: of each reference task, against the calibration
    :ivar age_s: how old the estimate, or the upper bound, is
    :ivar source: what says that all was wanted
    :ivar reason: why nothing better is known
    :ivar changed_from: what was available before, where that has just changed
    :ivar absent: sources that are not there, and why
    """

    at: float
    method: str
    available: float | None
    lower: float | None
    upper: float | None
    used: float | None
    speed: Mapping[str, float]
    age_s: float | None
    period_us: int | None
    source: str
    reason: str
    changed_from: float | None
    absent: Mapping[str, str]

    def as_json(self) -> str:
        """One line."""
        # Written out, as it is done for each reading: the encoder of the
        # standard library would cost as much as the reading.
        return (f'{{"at": {_number(self.at)}, "method": "{self.method}", '
                f'"available": {_number(self.available)}, '
                f'"lower": {_number(self.lower)}, '
                f'"upper": {_number(self.upper)}, '
                f'"used": {_number(self.used)}, '
                f'"speed": {_object(tuple(self.speed.items()))}, '
                f'"age_s": {_number(self.age_s)}, '
                f'"period_us": {_string(self.period_us)}, '
                f'"source": {_string(self.source)}, '
                f'"reason": {_string(self.reason)}, '
                f'"changed_from": {_number(self.changed_from)}, '
                f'"absent": {_object(tuple(self.absent.items()))}}}')

    def as_prometheus(self) -> str:
        """The text format; what is not known has no line."""
        ratios = {'available': self.available, 'lower': self.lower,
                  'upper': self.upper, 'used': self.used}
        label = f'{{method="{self.method}"}}'
        lines = []
        for name, ratio in ratios.items():
            lines += _metric(
                f'cpu_{name}_ratio' if name in ('available', 'used')
                else f'cpu_available_{name}_ratio', {label: ratio})
        lines += _metric('speed_ratio', {
            f'{{method="{self.method}",task="{task}"}}': ratio
            for task, ratio in self.speed.items()})
        lines += _metric('estimate_age_seconds', {label: self.age_s})
        return ''.join(f'{line}\n' for line in lines)


def _metric(name: str, values: Mapping[str, float | None]) -> list[str]:
    told = [f'{_PREFIX}_{name}{label} {value:.{_DIGITS}f}'
            for label, value in values.items() if value is not None]
    return [f'# TYPE {_PREFIX}_{name} gauge', *told] if told else []


def _number(value: float | None) -> str:
    return 'null' if value is None else f'{value:.{_DIGITS}f}'


#: The same words come again and again.
_string = functools.lru_cache(json.dumps)


@functools.lru_cache
def _object(pairs: tuple[tuple[str, str | float], ...]) -> str:
    return json.dumps({key: value if isinstance(value, str)
                       else round(value, _DIGITS) for key, value in pairs})


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """An estimate and what it was made of.

    :ivar made_at_ns: of the monotonic clock
    """

    estimate: supply.Estimate
    made_at_ns: int

    def age_s(self, now_ns: int) -> float:
        return (now_ns - self.made_at_ns) / 1e9
