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
import statistics

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import varied
from rt_operate import advice

LEAST_KEY = rt_reservation.AUTO_LEAST_KEY
MOST_KEY = rt_reservation.AUTO_MOST_KEY

#: The loop gives this many times what the model asks for, because the load may
#: grow until the next measurement.
_HEADROOM = 1.10
#: A change smaller than this part of the reservation is not made.
_HYSTERESIS = 0.05
#: The most by which the runtime changes at a time.
_UP, _DOWN = 3.0, 0.80
#: The factor where the target is missed and the model does not know why.
_MISSED = 1.5
#: The reservation shrinks to the largest need of this many measurements.
_REMEMBERED = 3
#: The range of the measured percentile divided by the percentile of the model,
#: which is a bound for any neighbours.  The loop plans for the target divided
#: by this ratio.
_LEAST_RATIO, _MOST_RATIO = 0.5, 1.5
#: The median of this many ratios counts.
_RATIOS = 5
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
    """

    runtime_us: int | None
    reason: str


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
        self._needs: collections.deque[float] = collections.deque(
            maxlen=_REMEMBERED)
        self._ratios: collections.deque[float] = collections.deque(
            [1.0], maxlen=_RATIOS)
        self._before = 0.0

    def step(self, measured: advice.MeasuredLoad) -> Decision:
        """Returns what to do after a measurement."""
        reserved, doubt = measured.reservation, self._doubt(measured)
        if reserved is None or doubt:
            return Decision(None, doubt)
        reached_us = measured.took.quantile_ns(self._part) / 1000
        self._compare(measured, reserved, reached_us)
        missed = reached_us > self._target.time_us
        need = self._expected_us(_HEADROOM * self._need_us(measured, reserved))
        if missed and need <= reserved.runtime_us:
            need = _MISSED * reserved.runtime_us
        self._needs.append(need)
        return self._decide(reserved, max(self._needs), need, (
            f'{self._part:.0%} of the requests took up to '
            f'{reached_us / 1000:.1f} ms, the target is '
            f'{self._target.time_us / 1000:.1f} ms'))

    def _expected_us(self, need: float) -> float:
        """Returns the runtime that the next measurement is expected to need.

        A load that has grown is expected to grow again by as much.  A load
        that has become smaller is expected to stay as it is.
        """
        before, self._before = self._before or need, need
        return need + max(0.0, need - before)

    @property
    def _part(self) -> float:
        return self._target.percentile or 0.99

    def _doubt(self, measured: advice.MeasuredLoad) -> str:
        """Returns why a measurement changes nothing; '' if it may."""
        if measured.reservation is None:
            return 'the server has no reservation now'
        if measured.unclear:
            return (f'{measured.unclear} exchanges are unclear, so requests '
                    f'cannot be told apart')
        above = measured.requests * (1 - self._part)
        if above < _ENOUGH:
            return (f'only {measured.requests} requests were seen, '
                    f'{above:.1f} of them above the percentile')
        return ''

    def _compare(self, measured: advice.MeasuredLoad,
                 reserved: rt_reservation.Reservation, reached_us: float
                 ) -> None:
        """Notes how far the model is from what was measured."""
        try:
            predicted_us = varied.RoundTrip(
                measured.load, reserved.runtime_us, reserved.period_us,
                measured.variation, self._kernel).percentile_us(self._part)
        except exception.RTError:
            return  # More requests arrive than the reservation serves.
        self._ratios.append(min(_MOST_RATIO, max(
            _LEAST_RATIO, reached_us / predicted_us)))

    def _need_us(self, measured: advice.MeasuredLoad,
                 reserved: rt_reservation.Reservation) -> float:
        """Returns the runtime that the model asks for, with this period."""
        try:
            return varied.runtime_us(
                measured.most, dataclasses.replace(
                    self._target, time_us=self._target.time_us
                    / statistics.median_high(self._ratios)),
                reserved.period_us,
                measured.variation, self._kernel, self._limits.most)
        except exception.RTError:
            # No reservation within the limits is enough for the load.
            return self._limits.most * reserved.period_us

    def _decide(self, reserved: rt_reservation.Reservation, largest: float,
                need: float, why: str) -> Decision:
        now, period = reserved.runtime_us, reserved.period_us
        if need > now * (1 + _HYSTERESIS):
            wanted = self._limits.runtime_us(min(need, _UP * now), period)
            text = 'the load needs more'
        elif largest < now * (1 - _HYSTERESIS):
            wanted = self._limits.runtime_us(max(largest, _DOWN * now),
                                             period)
            text = f'the load needed less in {len(self._needs)} measurements'
        else:
            wanted, text = self._limits.runtime_us(now, period), 'it is enough'
        if wanted == now or (len(self._needs) < _REMEMBERED
                             and wanted < now <= round(
                                 self._limits.most * period)):
            return Decision(None, f'{why}; the reservation stays {reserved}')
        return Decision(wanted, f'{why}; {text}: {now} us -> {wanted} us '
                                f'every {period} us')
