# SPDX-License-Identifier: Apache-2.0

"""Round trips: the delay of the network, its queue, and the server.

The queue of the network is an M/M/1 queue (paper, section 4.2.2).  The time
in this queue is exponential and independent of the time at the server.  The
distribution of their sum is therefore a convolution, and the bound of Eq. (9)
is not needed.
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
    """The distribution of the time from sending a request to its answer.

    :raises InvalidLoad: when requests arrive faster than the network passes
        them on
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
        """Returns Pr[R > time]."""
        time = time_us - self._constant_us
        if time <= 0:
            return 1.0
        if not self._network_us:
            return self._server.survival(time)
        return self._convolve(*self._table(time))

    def percentile_us(self, percentile: float) -> float:
        """Returns the time within which this share of all requests ends.

        :raises InvalidLoad: when *percentile* is not between 0 and 1
        """
        rt_load.check_percentile(percentile)
        low = self._server.percentile_us(percentile)
        if not self._network_us:
            return self._constant_us + low
        # As in Eq. (10): each of the two times exceeds its own part with a
        # probability of at most 1 - sqrt(phi).
        of_each = math.sqrt(percentile)
        high = (self._server.percentile_us(of_each)
                - self._network_us * math.log1p(-of_each))
        times, logs = self._table(high)
        wanted = roots.tail(1 - percentile)

        def missing(time: float) -> float:
            upto = np.append(times[times < time], time)
            return roots.tail(self._convolve(
                upto, np.interp(upto, times, logs))) - wanted

        return self._constant_us + roots.root(missing, low, high,
                                              _RELATIVE * high)

    def _table(self, time: float) -> tuple[numeric.Floats, numeric.Floats]:
        """Returns times up to *time*, and the log of the server's survival."""
        times = time * np.linspace(0.0, 1.0, _POINTS) ** 2
        return times, np.array([-roots.tail(self._server.survival(point))
                                for point in times])

    def _convolve(self, times: numeric.Floats, logs: numeric.Floats) -> float:
        """Returns Pr[sum of both times > last time].

        The survival at the server is exponential between the points.
        """
        lengths = np.diff(times)
        left = (times[-1] - times) / self._network_us
        # The log of the integrand, survival(t) exp(-(last - t) / mean).
        inner = logs - left
        slopes = np.diff(inner)
        steep = np.where(np.abs(slopes) < 1e-9, 1e-9, slopes)
        # expm1 is used only where the difference would lose digits, because
        # it overflows where the network takes almost no time.
        gains = np.where(
            np.abs(steep) < 1,
            np.exp(inner[:-1]) * np.expm1(np.clip(steep, -1, 1)),
            np.exp(inner[1:]) - np.exp(inner[:-1]))
        pieces = lengths * gains / steep
        return float(np.exp(-left[0]) + pieces.sum() / self._network_us)
