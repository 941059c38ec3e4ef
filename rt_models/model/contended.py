# SPDX-License-Identifier: Apache-2.0

"""Bounds of response times that hold whatever else runs on the CPU.

``exact`` assumes that a server gets its budget as soon as it can use it.
Other servers on the CPU may delay this server, but a request ends at most
``kernel.late_us`` later than in the fluid queue, the M/M/1 queue of the paper.
The time at the server is therefore at most the time in the fluid queue plus
this delay.  The queue of the network comes first.  The times in both queues
are exponential and independent, so the bound of Eq.  (9) is not needed for
their sum.
"""

import math

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model import roots
from rt_models.model import search

_RELATIVE = 1e-9
#: Two means whose relative difference is smaller are treated as equal.
_EQUAL = 1e-6


def predict(load: rt_load.Load, reservation: rt_reservation.Reservation,
            network: rt_load.Network = rt_load.NO_NETWORK,
            overhead_us: float = 0.0,
            kernel: rt_kernel.Kernel = rt_kernel.CBS) -> 'RoundTrip':
    """Returns the bound for a reservation.

    :param overhead_us: the part of the runtime that each period loses
    :raises InvalidLoad: when the overhead is not between 0 and the runtime,
        when requests arrive faster than they are served, or when the kernel
        does not keep the reservation
    """
    search.check_overhead(overhead_us, reservation.runtime_us)
    kernel.check(reservation.runtime_us, reservation.period_us)
    return RoundTrip(load, reservation.runtime_us - overhead_us,
                     reservation.period_us, network, kernel)


class RoundTrip:
    """An upper bound of each percentile, and of the mean.

    :param runtime_us: Q, less the cost of replenishing
    :param period_us: P
    :param kernel: the kernel that runs the servers
    :raises InvalidLoad: when requests arrive faster than they are served
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
        """Returns a time within which at least this share of requests ends.

        :raises InvalidLoad: when *percentile* is not between 0 and 1
        """
        rt_load.check_percentile(percentile)
        wanted = roots.tail(1 - percentile)
        low = max(self._server_us, self._network_us) * wanted
        if not self._network_us:
            return self._constant_us + low
        # As in Eq. (10): each of the two times exceeds its own part with a
        # probability of at most 1 - sqrt(phi).
        high = -math.log1p(-math.sqrt(percentile)) * (
            self._server_us + self._network_us)
        return self._constant_us + roots.root(
            lambda time: roots.tail(self._survival(time)) - wanted,
            low, high, _RELATIVE * high)

    def survival(self, time_us: float) -> float:
        """Returns an upper bound of Pr[R > time]."""
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
    """Returns the smallest runtime that meets the target beside any servers.

    :param max_share: the largest runtime over period that is allowed
    :returns: the runtime in us
    :raises InvalidLoad: when a number is out of range, or the kernel does not
        keep the period
    :raises NoAnswer: when no runtime within *max_share* meets the target
    """
    kernel.check_period(period_us)
    bounds = search.bounds_us(
        load, target, period_us, max_share, network, overhead_us,
        kernel.largest_share(period_us))
    return search.smallest_runtime_us(
        lambda runtime_us: RoundTrip(load, runtime_us - overhead_us,
                                     period_us, network, kernel),
        target, bounds, period_us)
