# SPDX-License-Identifier: Apache-2.0

"""What the probe says, in each form."""

from collections.abc import Mapping
import dataclasses
import json
from typing import Any

from nova_rt.probe import supply

THROTTLED, BURST, BOUND = 'throttled', 'burst', 'bound'
_DIGITS = 5
_PREFIX = 'rt_probe'


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
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
        return json.dumps({
            name: _short(getattr(self, name)) for name in self.__slots__})

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


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, Mapping):
        return {key: _short(one) for key, one in value.items()}
    return value


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """An estimate and what it was made of.

    :ivar made_at_ns: of the monotonic clock
    """

    estimate: supply.Estimate
    made_at_ns: int

    def age_s(self, now_ns: int) -> float:
        return (now_ns - self.made_at_ns) / 1e9
