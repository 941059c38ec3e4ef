# SPDX-License-Identifier: Apache-2.0

"""Keeps a percentile target of a server by changes of its reservation.

The loop is pure: it takes one measurement after another, and returns what to
do and why.  A measurement with a doubt about its meaning changes nothing.  The
reservation grows at once and shrinks slowly: a target that is missed harms the
server, and a reservation that is too large harms nobody now.
"""

import collections
from collections.abc import Mapping
import dataclasses
import functools
import math
import statistics

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import varied
from rt_operate import advice

LEAST_KEY = rt_reservation.AUTO_LEAST_KEY
MOST_KEY = rt_reservation.AUTO_MOST_KEY
TARGET_KEY = rt_reservation.AUTO_TARGET_KEY
PERCENTILE_KEY = rt_reservation.AUTO_PERCENTILE_KEY
#: The percentile of a flavor that names none.
DEFAULT_PERCENTILE = 0.99
_US_PER_MS = 1000

#: The part of the target that the loop plans for, because each window in which
#: the target must hold has few requests.
_PLANNED = 0.66
#: A change smaller than this part of the reservation is not made.
_HYSTERESIS = 0.03
#: The most by which the runtime changes at a time.
_UP, _DOWN = 3.0, 0.80
#: The factor where the target is missed and the model does not know why.
_MISSED = 1.2
#: The largest number of measurements from which the load is taken, and by how
#: many standard deviations their rates may differ.
_REMEMBERED, _ALIKE = 4, 2.5
#: The number of measurements from which the variation of requests is taken.
_VARIED = 12
#: The rate may be this many standard deviations above the measured one.
_CAUTION = 1.0
#: Requests that take this many times the target wait behind others.  The loop
#: gives the CPU time that the waiting requests need within this time.
_WAITING, _DRAIN_S = 2.0, 1.0
#: The part of the requests that are faster than those that came last, when
#: each request waits behind more others than the one before.
_LAST = 0.98
#: The range of the measured percentile divided by the percentile of the model,
#: which is a bound for any neighbours.  The loop plans for the target divided
#: by this ratio.
_LEAST_RATIO, _MOST_RATIO = 0.5, 1.5
#: The median of this many ratios counts.
_RATIOS = 40
#: At least this many requests must be above the percentile.
_ENOUGH = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The shares between which a server's reservation may change."""

    least: float
    most: float

    def runtime_us(self, wanted_us: float, period_us: int) -> int:
        """Returns the nearest runtime within the limits."""
        return round(min(max(wanted_us, self.least * period_us),
                         self.most * period_us))


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """A decision of the loop after a measurement.

    :ivar runtime_us: the new runtime; None to change nothing
    :ivar reason: why, for the operator
    :ivar doubt: why the measurement says nothing; '' if it says something
    """

    runtime_us: int | None
    reason: str
    doubt: str = ''


def _doubt(reason: str, kind: str) -> Decision:
    return Decision(None, reason, kind)


def target_of(extra_specs: Mapping[str, str]) -> rt_load.Target:
    """Returns the target that a flavor gives.

    :raises InvalidReservation: when the flavor has no target, or a bad one
    """
    texts = (extra_specs.get(TARGET_KEY),
             extra_specs.get(PERCENTILE_KEY, str(DEFAULT_PERCENTILE)))
    try:
        target_ms, percentile = (float(text or '') for text in texts)
        return rt_load.Target(target_ms * _US_PER_MS, percentile)
    except (ValueError, exception.RTError):
        raise exception.InvalidReservation(
            source='flavor extra spec', key=TARGET_KEY,
            value=f'{texts[0]} ({PERCENTILE_KEY}: {texts[1]})',
            rule='a target is a time above 0, in ms, for a percentile between '
            '0 and 1', advice=f'set {TARGET_KEY} of the flavor, for example '
            f'to 20') from None


def limits_of(extra_specs: Mapping[str, str]) -> Limits:
    """Returns the limits that a flavor gives.

    :raises InvalidReservation: when the flavor has no limits, or bad ones
    """
    least, most = (_share(extra_specs, key) for key in (LEAST_KEY, MOST_KEY))
    if not 0 < least <= most <= 1:
        raise _invalid(LEAST_KEY, least, f'it must be above 0 and at most '
                       f'{MOST_KEY} ({most}), which is at most 1')
    return Limits(least, most)


def _share(extra_specs: Mapping[str, str], key: str) -> float:
    text = extra_specs.get(key)
    try:
        return float(text or '')
    except ValueError:
        raise _invalid(key, text, 'a reservation changes by itself only '
                       'between two shares') from None


def _invalid(key: str, value: object, rule: str
             ) -> exception.InvalidReservation:
    return exception.InvalidReservation(
        source='flavor extra spec', key=key, value=value, rule=rule,
        advice=f'set {LEAST_KEY} and {MOST_KEY} of the flavor, for example '
        f'to 0.1 and 0.5')


class Loop:
    """Decides about one server, one measurement after another."""

    def __init__(self, target: rt_load.Target, limits: Limits,
                 kernel: rt_kernel.Kernel) -> None:
        self._target, self._limits, self._kernel = target, limits, kernel
        self._seen: collections.deque[advice.MeasuredLoad] = (
            collections.deque(maxlen=_VARIED))
        self._ratios: collections.deque[float] = collections.deque(
            [1.0], maxlen=_RATIOS)
        self._delay_s = 0.0

    def step(self, measured: advice.MeasuredLoad) -> Decision:
        """Returns what to do after a measurement."""
        reserved = measured.reservation
        if reserved is None:
            return _doubt('the server has no reservation now', 'none')
        if measured.unclear:
            return _doubt(f'{measured.unclear} exchanges are unclear, so '
                          f'requests cannot be told apart', 'unclear')
        if measured.lacks_requests:
            return _doubt(f'the kernel did not give {measured.missed} events '
                          f'of connections to the monitor, so requests are '
                          f'missing', 'missed')
        self._seen.append(self._with_arrivals(measured))
        lately = self._lately()
        above = lately.requests * (1 - self._part)
        if above < _ENOUGH:
            return _doubt(f'only {lately.requests} requests were seen, '
                          f'{above:.1f} of them above the percentile', 'few')
        return self._decide(reserved, lately)

    @property
    def _part(self) -> float:
        return self._target.percentile or 0.99

    @property
    def _late_s(self) -> float:
        return _WAITING * self._target.time_us / rt_load.US_PER_S

    def _with_arrivals(self, measured: advice.MeasuredLoad
                       ) -> advice.MeasuredLoad:
        """Returns a measurement with the time in which its requests arrived.

        Only answers are counted.  If the last answers came later after their
        requests than the last answers of the measurement before, the requests
        arrived in a shorter time, and so at a higher rate.
        """
        before = self._delay_s
        self._delay_s = measured.took.quantile_ns(_LAST) / 1e9
        if self._delay_s < self._late_s:
            self._delay_s = 0.0
        return dataclasses.replace(measured, span_s=max(
            measured.span_s / _UP ** 2,
            measured.span_s - self._delay_s + before))

    def _lately(self) -> advice.MeasuredLoad:
        """Returns the last measurements that have the present rate."""
        lately, *earlier = reversed(self._seen)
        for each in earlier[:_REMEMBERED - 1]:
            if not _alike(lately, each):
                break
            lately = advice.joined(each, lately)
        return lately

    def _decide(self, reserved: rt_reservation.Reservation,
                lately: advice.MeasuredLoad) -> Decision:
        reached_us = self._reached_us(reserved)
        need = self._need_us(lately, reserved)
        if reached_us > self._target.time_us and need <= reserved.runtime_us:
            need = _MISSED * reserved.runtime_us
        return self._towards(need, reserved, (
            f'{self._part:.0%} of the requests took up to '
            f'{reached_us / 1000:.1f} ms, the target is '
            f'{self._target.time_us / 1000:.1f} ms'))

    def _reached_us(self, reserved: rt_reservation.Reservation) -> float:
        """Returns the percentile with the present reservation."""
        took = self._seen[-1].took
        for each in list(self._seen)[-2:-_REMEMBERED - 1:-1]:
            if each.reservation != reserved:
                break
            took += each.took
        return took.quantile_ns(self._part) / 1000

    def _need_us(self, lately: advice.MeasuredLoad,
                 reserved: rt_reservation.Reservation) -> float:
        """Returns the runtime that the load needs, with this period."""
        variation = functools.reduce(advice.joined, self._seen).variation
        load = lately.load
        load = dataclasses.replace(
            load, arrival_rate_hz=load.arrival_rate_hz * (
                1 + _CAUTION / math.sqrt(lately.requests)))
        if not self._delay_s:
            self._compare(load, variation, reserved)
        waiting = (load.arrival_rate_hz / load.service_rate_hz
                   * self._delay_s / _DRAIN_S)
        return self._model_us(load, variation, reserved.period_us
                              ) + waiting * reserved.period_us

    def _model_us(self, load: rt_load.Load, variation: float, period_us: int
                  ) -> float:
        """Returns the runtime that the model asks for."""
        planned_us = (_PLANNED * self._target.time_us
                      / statistics.median(self._ratios))
        try:
            return varied.runtime_us(
                load, dataclasses.replace(self._target, time_us=planned_us),
                period_us, variation, self._kernel, self._limits.most,
                varied.Interpolated)
        except exception.RTError:
            # No reservation within the limits is enough for the load.
            return self._limits.most * period_us

    def _compare(self, load: rt_load.Load, variation: float,
                 reserved: rt_reservation.Reservation) -> None:
        """Notes how far the model is from what was measured."""
        try:
            predicted_us = varied.Interpolated(
                load, reserved.runtime_us, reserved.period_us, variation,
                self._kernel).percentile_us(self._part)
        except exception.RTError:
            return  # More requests arrive than the reservation serves.
        reached_us = self._seen[-1].took.quantile_ns(self._part) / 1000
        self._ratios.append(min(_MOST_RATIO, max(
            _LEAST_RATIO, reached_us / predicted_us)))

    def _towards(self, need: float, reserved: rt_reservation.Reservation,
                 why: str) -> Decision:
        now, period = reserved.runtime_us, reserved.period_us
        if need > now * (1 + _HYSTERESIS):
            wanted, text = min(need, _UP * now), 'the load needs more'
        elif need < now * (1 - _HYSTERESIS):
            wanted, text = max(need, _DOWN * now), 'the load needs less'
        else:
            wanted, text = now, 'it is enough'
        runtime_us = self._limits.runtime_us(wanted, period)
        if runtime_us == now:
            return Decision(None, f'{why}; the reservation stays {reserved}')
        return Decision(runtime_us, f'{why}; {text}: {now} us -> '
                                    f'{runtime_us} us every {period} us')


def _alike(one: advice.MeasuredLoad, other: advice.MeasuredLoad) -> bool:
    """Checks whether two rates may be equal."""
    return abs(one.rate_hz - other.rate_hz) <= _ALIKE * math.sqrt(
        one.rate_hz / one.span_s + other.rate_hz / other.span_s)
