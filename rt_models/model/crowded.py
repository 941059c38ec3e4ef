# SPDX-License-Identifier: Apache-2.0

"""Response times beside a busy server that has the rest of the pCPU.

The bounds of ``varied`` hold for any neighbours, and no known neighbours make
a server so late.  This module simulates one neighbour instead: it has the same
period and priority, and always uses all that the kernel can give beside the
server.  nova-rt may admit less.  CPU times are distributed as in ``varied``.
The same input always gives the same result.
"""

from collections.abc import Sequence

import numpy as np

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import numeric
from rt_models.model import search
from rt_models.model.simulator import cbs
from rt_models.model.simulator import cpu
from rt_models.model.simulator import lone
from rt_models.model.simulator import rt_group
from rt_models.model.simulator import ticks as rt_ticks
from rt_models.model.simulator import traffic
from rt_models.model import varied

#: The number of independent runs, the requests in a run, and the part of a run
#: that is dropped, because the run starts with an empty queue.
_RUNS, _REQUESTS, _WARM_UP = 2, 3_000, 0.1
#: A search finds a runtime to one of this many parts of the period.
_STEPS = 100


class RoundTrip:
    """The simulated distribution of response times.

    :param variation: the squared coefficient of variation of CPU times
    :param room: the part of the pCPU that both servers have together
    :raises InvalidLoad: when requests arrive faster than they are served
    """

    def __init__(self, load: rt_load.Load, runtime_us: float, period_us: int,
                 variation: float, kernel: rt_kernel.Kernel, room: float
                 ) -> None:
        rt_load.check_served(
            load, load.service_rate_hz * runtime_us / period_us)
        own = rt_reservation.Reservation(round(runtime_us), period_us)
        self._times = np.concatenate([
            _responses_us(load, own, variation, kernel, room, run)
            for run in range(_RUNS)])

    @property
    def mean_us(self) -> float:
        """E[R]."""
        return float(self._times.mean())

    def percentile_us(self, percentile: float) -> float:
        """Returns the time within which this share of the requests ends.

        :raises InvalidLoad: when *percentile* is not between 0 and 1
        """
        rt_load.check_percentile(percentile)
        return float(np.quantile(self._times, percentile))

    def survival(self, time_us: float) -> float:
        """Returns Pr[R > time]."""
        return float(np.mean(self._times > time_us))


def runtime_us(load: rt_load.Load, target: rt_load.Target, period_us: int,
               variation: float, kernel: rt_kernel.Kernel, max_share: float
               ) -> int:
    """Returns the smallest runtime for the target with one period.

    :param max_share: the largest share of the server, and the part of the
        pCPU that the server and its neighbour have together
    :raises NoAnswer: when no runtime up to *max_share* meets the target
    """
    bounds = search.bounds_us(
        load, target, period_us, max_share, rt_load.NO_NETWORK, 0.0,
        kernel.largest_share(period_us))
    return search.smallest_runtime_us(
        lambda runtime: RoundTrip(load, runtime, period_us, variation, kernel,
                                  max_share),
        target, bounds, period_us, search.timely,
        max(2, period_us // _STEPS))


def _responses_us(load: rt_load.Load, own: rt_reservation.Reservation,
                  variation: float, kernel: rt_kernel.Kernel, room: float,
                  run: int) -> numeric.Floats:
    requests = _requests(load, variation, run)
    servers = [cpu.Station(own, requests)]
    left_us = int(min(room, kernel.largest_share(own.period_us))
                  * own.period_us) - own.runtime_us
    if left_us >= rt_reservation.MIN_RUNTIME_US:
        servers.append(cpu.Station(
            rt_reservation.Reservation(left_us, own.period_us),
            traffic.busy()))
    fluid = lone.responses_us(traffic.Arrivals(
        requests.arrivals_us, requests.works_us / own.share), 1.0, 1.0)
    until_us = float(requests.arrivals_us[-1] + fluid[-1]
                     + 2 * kernel.late_us(own.runtime_us, own.period_us))
    # A request that is not done at the end has taken at least this time.
    return np.minimum(_simulated(kernel, servers, until_us),
                      until_us - requests.arrivals_us
                      )[int(_WARM_UP * _REQUESTS):]


def _simulated(kernel: rt_kernel.Kernel, servers: Sequence[cpu.Station],
               until_us: float) -> numeric.Floats:
    """Returns the response times of the first server.

    The admission test of ``company`` would refuse the neighbour.
    """
    ticks = rt_ticks.Ticks(kernel.tick_us) if kernel.at_ticks else None
    if kernel.rule is rt_kernel.Rule.RT_GROUP_SCHED and ticks is not None:
        traces = rt_group.simulate(servers, ticks, until_us=until_us)
    else:
        traces = cbs.simulate(servers, ticks, until_us)
    return traces[0].responses_us


def _requests(load: rt_load.Load, variation: float, run: int
              ) -> traffic.Arrivals:
    random = np.random.default_rng(run)
    shape = 1 / min(varied.MOST, max(varied.LEAST, variation))
    return traffic.Arrivals(
        np.cumsum(random.exponential(
            rt_load.US_PER_S / load.arrival_rate_hz, _REQUESTS)),
        random.gamma(shape, rt_load.US_PER_S / load.service_rate_hz / shape,
                     _REQUESTS))
