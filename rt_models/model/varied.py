# SPDX-License-Identifier: Apache-2.0

"""Bounds for requests whose CPU times are not exponential.

As in ``contended``, a request ends at most ``kernel.late_us`` later than in
the fluid queue, whatever else runs on the CPU.  The bound does not depend on
how long requests are, so it holds for any M/G/1 queue.  In this module CPU
times have a gamma distribution with a given squared coefficient of variation:
0 if all are equal, 1 if they are exponential.  The queue is simulated, and the
same input always gives the same result.
"""

import functools
import math

import numpy as np

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import numeric
from rt_models.model import planner
from rt_models.model import search

#: The number of simulated requests, and of those dropped at the start.
_REQUESTS, _WARM_UP = 100_000, 5_000
#: The least and the most variation.
LEAST, MOST = 0.02, 25.0
#: A search finds a runtime to one of this many parts of the period.
_STEPS = 1000
#: The utilisations and variations at which Interpolated keeps percentiles.
_POINTS, _TENTHS = 100, 10
_MOST_POINT = 98


class RoundTrip:
    """An upper bound of each percentile.

    :param variation: the squared coefficient of variation of CPU times
    :raises InvalidLoad: when requests arrive faster than they are served, or
        the kernel does not keep the reservation
    """

    def __init__(self, load: rt_load.Load, runtime_us: float, period_us: int,
                 variation: float, kernel: rt_kernel.Kernel) -> None:
        served = load.service_rate_hz * runtime_us / period_us
        rt_load.check_served(load, served)
        self._late_us = kernel.late_us(runtime_us, period_us)
        self._unit_us = rt_load.US_PER_S / served
        self._utilisation = load.arrival_rate_hz / served
        self._variation = min(MOST, max(LEAST, variation))

    @functools.cached_property
    def _times(self) -> numeric.Floats:
        return _queue(self._utilisation, self._variation)

    @property
    def mean_us(self) -> float:
        """E[R]."""
        return self._late_us + self._unit_us * float(self._times.mean())

    def percentile_us(self, percentile: float) -> float:
        """Returns a time within which at least this share of requests ends.

        :raises InvalidLoad: when *percentile* is not between 0 and 1
        """
        rt_load.check_percentile(percentile)
        return self._late_us + self._unit_us * float(
            np.quantile(self._times, percentile))

    def survival(self, time_us: float) -> float:
        """Returns an upper bound of Pr[R > time]."""
        return float(np.mean(
            self._times > (time_us - self._late_us) / self._unit_us))


class Interpolated(RoundTrip):
    """The same bound for many similar loads: keeps what was simulated.

    The variation is rounded up.  Between two utilisations the percentile of
    the queue is interpolated, which makes the bound larger, because the
    percentile grows faster and faster with the utilisation.
    """

    def percentile_us(self, percentile: float) -> float:
        rt_load.check_percentile(percentile)
        below = min(_MOST_POINT, int(self._utilisation * _POINTS))
        part = self._utilisation * _POINTS - below
        variation = min(MOST, math.ceil(self._variation * _TENTHS) / _TENTHS)
        low, high = (_quantile(point, variation, percentile)
                     for point in (below, below + 1))
        return self._late_us + self._unit_us * (low + part * (high - low))


def plan(load: rt_load.Load, target: rt_load.Target, variation: float,
         kernel: rt_kernel.Kernel, max_share: float
         ) -> rt_reservation.Reservation:
    """Returns the reservation with the smallest share for the target.

    :raises NoAnswer: when no reservation meets the target
    """
    periods = [period for period in planner.PERIODS_US
               if period >= kernel.shortest_period_us]
    reservations: list[rt_reservation.Reservation] = []
    refusal = exception.NoAnswer(
        target=target, reason='the kernel cannot keep any of the periods')
    for period_us in periods or [kernel.shortest_period_us]:
        try:
            reservations.append(rt_reservation.Reservation(
                runtime_us(load, target, period_us, variation, kernel,
                           max_share), period_us))
        except exception.NoAnswer as error:
            refusal = error
    if not reservations:
        raise refusal
    # A period costs two switches and a timer at least.
    return min(reservations, key=lambda one: one.share
               + planner.LEAST_OVERHEAD_US / one.period_us)


def runtime_us(load: rt_load.Load, target: rt_load.Target, period_us: int,
               variation: float, kernel: rt_kernel.Kernel, max_share: float,
               trip: type[RoundTrip] = RoundTrip) -> int:
    """Returns the smallest runtime for the target with one period.

    :param trip: the bound, or Interpolated for many similar loads
    :raises NoAnswer: when no runtime up to *max_share* meets the target
    """
    bounds = search.bounds_us(
        load, target, period_us, max_share, rt_load.NO_NETWORK, 0.0,
        kernel.largest_share(period_us))
    return search.smallest_runtime_us(
        lambda runtime: trip(load, runtime, period_us, variation, kernel),
        target, bounds, period_us, search.timely,
        max(1, period_us // _STEPS))


@functools.lru_cache(maxsize=4096)
def _quantile(point: int, variation: float, percentile: float) -> float:
    """Returns a percentile of the times at one of the utilisations."""
    utilisation = max(point, 1) / _POINTS
    return float(np.quantile(_queue(utilisation, variation), percentile))


def _queue(utilisation: float, variation: float) -> numeric.Floats:
    """Returns the times in an M/G/1 queue, in mean CPU times."""
    between, works = _requests(variation)
    # Lindley's recursion as a running minimum.
    ahead = np.cumsum(works[:-1] - between[1:] / utilisation)
    ahead = np.concatenate(([0.0], ahead))
    waits = ahead - np.minimum.accumulate(ahead)
    return np.asarray((waits + works)[_WARM_UP:])


@functools.lru_cache(maxsize=4)
def _requests(variation: float) -> tuple[numeric.Floats, numeric.Floats]:
    random = np.random.default_rng(1)
    between = random.exponential(size=_REQUESTS)
    works = random.gamma(1 / variation, variation, size=_REQUESTS)
    return between / between.mean(), works / works.mean()
