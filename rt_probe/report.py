# SPDX-License-Identifier: Apache-2.0

"""The report of the probe, and its forms: JSON and Prometheus text."""

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
    """The results of the probe at one moment, as CPU time per wall time.

    :ivar at: the time of the report, in seconds since 1970
    :ivar method: the method of the estimate; with ``bound``, *available* is
        None
    :ivar lower: the lower bound of the available CPU time; None: unknown
    :ivar upper: the upper bound; None: unknown
    :ivar used: what the VNF used since the last report
    :ivar speed: the speed of each reference task relative to the calibration
    :ivar age_s: the age of the estimate, or of the upper bound
    :ivar source: the source which shows that all CPU time was wanted
    :ivar reason: why the probe knows no better estimate
    :ivar changed_from: the previous value of *available*, if the value has
        just changed
    :ivar absent: why a source is absent, by the name of the source
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
        """Returns the report as one line of JSON."""
        # The line is put together by hand, because this is done for each
        # reading and the encoder of the standard library would cost as much
        # as the reading itself.
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
        """Returns the report in the text format of Prometheus.

        A value that is not known has no line.
        """
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
    lines = [f'{_PREFIX}_{name}{label} {value:.{_DIGITS}f}'
             for label, value in values.items() if value is not None]
    return [f'# TYPE {_PREFIX}_{name} gauge', *lines] if lines else []


def _number(value: float | None) -> str:
    return 'null' if value is None else f'{value:.{_DIGITS}f}'


# The cache pays because the same few strings come in every report.
_string = functools.lru_cache(json.dumps)


@functools.lru_cache
def _object(pairs: tuple[tuple[str, str | float], ...]) -> str:
    return json.dumps({key: value if isinstance(value, str)
                       else round(value, _DIGITS) for key, value in pairs})


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """An estimate and the time at which it was made.

    :ivar made_at_ns: the time by the monotonic clock
    """

    estimate: supply.Estimate
    made_at_ns: int

    def age_s(self, now_ns: int) -> float:
        """Returns the age of the estimate at this time."""
        return (now_ns - self.made_at_ns) / 1e9
