# SPDX-License-Identifier: Apache-2.0

"""What holds for response times whatever else runs on the CPU.

``exact`` takes it that a server gets its budget as soon as it can use it.
Others on the CPU delay it, but no more than ``kernel.late_us`` behind the
fluid queue, the M/M/1 queue of the paper.  So the time at the server is at
most that of the fluid queue and this.  A queue of the network comes before
it; both are exponential and independent, so no Eq. (9) is needed.
"""

import math

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model import roots
from rt_models.model import search

_RELATIVE = 1e-9
#: Closer means of two queues are taken for equal.
_EQUAL = 1e-6


def predict(load: rt_load.Load, reservation: rt_reservation.Reservation,
            network: rt_load.Network = rt_load.NO_NETWORK,
            overhead_us: float = 0.0,
            kernel: rt_kernel.Kernel = rt_kernel.CBS) -> 'RoundTrip':
    """The bound of a reservation.

    :param overhead_us: what each period loses of the runtime
    :raises InvalidLoad: the overhead is not between 0 and the runtime,
        requests arrive faster than they are served, or the kernel does not
        keep such a period
    """
    search.check_overhead(overhead_us, reservation.runtime_us)
    kernel.check(reservation.runtime_us, reservation.period_us)
    return RoundTrip(load, reservation.runtime_us - overhead_us,
                     reservation.period_us, network, kernel)


class RoundTrip:
    """An upper bound of each percentile, and of the mean.

    :param runtime_us: Q, less what replenishing costs
    :param period_us: P
    :param kernel: what runs the servers
    :raises InvalidLoad: requests arrive faster than they are served
    """

    def __init__(self, load: rt_load.Load, runtime_us: float,
                 period_us: float, network: rt_load.Network,
                 kernel: rt_kernel.Kernel) -> None:
        rt_load.check_network(load, network)
        served = load.service_rate_hz * runtime_us / period_us
        rt_load.check_served(load, served)
        self._constant_us = 2 * network.delay_us + kernel.late_us(
            runtime_us, period_us)
        self._server_us = paper.mm1_mean_us(load.arrival_rate_hz, served)
        self._network_us = rt_load.US_PER_S / (
            network.rate_hz - load.arrival_rate_hz)

    @property
    def mean_us(self) -> float:
        """E[R]."""
        return self._constant_us + self._server_us + self._network_us

    def percentile_us(self, percentile: float) -> float:
        """The time that this share of all requests does not exceed.

        :raises InvalidLoad: not between 0 and 1
        """
        rt_load.check_percentile(percentile)
        wanted = roots.tail(1 - percentile)
        low = max(self._server_us, self._network_us) * wanted
        if not self._network_us:
            return self._constant_us + low
        # As in Eq. (10): each exceeds its own with 1 - sqrt(phi) at most.
        high = -math.log1p(-math.sqrt(percentile)) * (
            self._server_us + self._network_us)
        return self._constant_us + roots.root(
            lambda time: roots.tail(self._survival(time)) - wanted,
            low, high, _RELATIVE * high)

    def survival(self, time_us: float) -> float:
        """Pr[R > time], at most."""
        return self._survival(max(0.0, time_us - self._constant_us))

    def _survival(self, time: float) -> float:
        """Returns Pr[sum of two exponential times > time]."""
        one, other = self._server_us, self._network_us
        if not other:
            return math.exp(-time / one)
        if abs(one - other) < _EQUAL * one:
            return (1 + time / one) * math.exp(-time / one)
        return (one * math.exp(-time / one) - other * math.exp(-time / other)
                ) / (one - other)


def smallest_runtime_us(load: rt_load.Load, target: rt_load.Target,
                        period_us: int, max_share: float = 1.0,
                        network: rt_load.Network = rt_load.NO_NETWORK,
                        overhead_us: float = 0.0,
                        kernel: rt_kernel.Kernel = rt_kernel.CBS) -> int:
    """The smallest runtime, in us, that meets the target in any company.

    :param max_share: the largest runtime over period there may be
    :raises InvalidLoad: a part of the question makes no sense, or the
        kernel does not keep such a period
    :raises NoAnswer: no runtime within max_share does
    """
    kernel.check_period(period_us)
    bounds = search.bounds_us(
        load, target, period_us, max_share, network, overhead_us,
        kernel.largest_share(period_us))
    return search.smallest_runtime_us(
        lambda runtime_us: RoundTrip(load, runtime_us - overhead_us,
                                     period_us, network, kernel),
        target, bounds, period_us)
