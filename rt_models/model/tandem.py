# SPDX-License-Identifier: Apache-2.0

"""Round trips: the way there and back, the network's queue, the server.

The queue of the network is an M/M/1 queue (paper, section 4.2.2).  The time
in it is exponential and does not depend on the time at the server, so the
sum of both is a convolution: no bound as Eq. (9) is needed.
"""

import math

import numpy as np

from rt_models.model import cbs
from rt_models.model import load as rt_load
from rt_models.model import numeric
from rt_models.model import roots

_POINTS = 64
_RELATIVE = 1e-6


class RoundTrip:
    """Distribution of the time from sending a request to its answer.

    :raises InvalidLoad: requests arrive faster than the network passes on
    """

    def __init__(self, load: rt_load.Load, network: rt_load.Network,
                 server: cbs.ResponseTime) -> None:
        rt_load.check_network(load, network)
        self._server = server
        self._constant_us = 2 * network.delay_us
        self._network_us = rt_load.US_PER_S / (
            network.rate_hz - load.arrival_rate_hz)

    @property
    def mean_us(self) -> float:
        """E[R], as in Eq. (6)."""
        return self._constant_us + self._network_us + self._server.mean_us

    def survival(self, time_us: float) -> float:
        """Pr[R > time]."""
        time = time_us - self._constant_us
        if time <= 0:
            return 1.0
        if not self._network_us:
            return self._server.survival(time)
        return self._convolve(*self._table(time))

    def percentile_us(self, percentile: float) -> float:
        """The time that this share of all requests does not exceed.

        :raises InvalidLoad: not between 0 and 1
        """
        rt_load.check_percentile(percentile)
        low = self._server.percentile_us(percentile)
        if not self._network_us:
            return self._constant_us + low
        # As in Eq. (10): each exceeds its own with 1 - sqrt(phi) at most.
        each = math.sqrt(percentile)
        high = (self._server.percentile_us(each)
                - self._network_us * math.log1p(-each))
        times, logs = self._table(high)
        wanted = roots.tail(1 - percentile)

        def missing(time: float) -> float:
            upto = np.append(times[times < time], time)
            return roots.tail(self._convolve(
                upto, np.interp(upto, times, logs))) - wanted

        return self._constant_us + roots.root(missing, low, high,
                                              _RELATIVE * high)

    def _table(self, time: float) -> tuple[numeric.Floats, numeric.Floats]:
        """The log of the survival at the server, up to a time."""
        times = time * np.linspace(0.0, 1.0, _POINTS) ** 2
        return times, np.array([-roots.tail(self._server.survival(one))
                                for one in times])

    def _convolve(self, times: numeric.Floats, logs: numeric.Floats) -> float:
        """Pr[both > last time]; exponential between the points."""
        lengths = np.diff(times)
        left = (times[-1] - times) / self._network_us
        # log of what is integrated, survival(t) exp(-(last - t) / mean).
        inner = logs - left
        slopes = np.diff(inner)
        steep = np.where(np.abs(slopes) < 1e-9, 1e-9, slopes)
        # expm1 where the difference would lose digits, and only there: it
        # overflows where the network takes next to no time.
        gains = np.where(
            np.abs(steep) < 1,
            np.exp(inner[:-1]) * np.expm1(np.clip(steep, -1, 1)),
            np.exp(inner[1:]) - np.exp(inner[:-1]))
        pieces = lengths * gains / steep
        return float(np.exp(-left[0]) + pieces.sum() / self._network_us)
