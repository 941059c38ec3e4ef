# SPDX-License-Identifier: Apache-2.0

"""What holds for response times whatever else runs on the CPU.

``exact`` takes it that a server gets its budget as soon as it can use it.
Reservations on the same CPU with earlier deadlines delay it, but never
beyond its own deadline (Eq. (1)).  A server that has a budget of Q left of
a period is at most that period behind the fluid queue of the paper, so any
response time is at most that of the paper and one period.
"""

from nova_rt.model import load as rt_load
from nova_rt.model import paper
from nova_rt import reservation as rt_reservation


class RoundTrip:
    """An upper bound of each percentile, and of the mean.

    :param overhead_us: what each period loses of the runtime
    :raises InvalidLoad: unstable
    """

    def __init__(self, load: rt_load.Load,
                 reservation: rt_reservation.Reservation,
                 network: rt_load.Network = rt_load.NO_NETWORK,
                 overhead_us: float = 0.0) -> None:
        left = 1 - overhead_us / reservation.runtime_us
        slowed = rt_load.Load(load.arrival_rate_hz,
                              load.service_rate_hz * left)
        self._fluid = paper.RoundTrip(slowed, reservation, network)
        self._period_us = reservation.period_us

    @property
    def mean_us(self) -> float:
        return self._fluid.mean_us + self._period_us

    def percentile_us(self, percentile: float) -> float:
        """:raises InvalidLoad: not between 0 and 1"""
        return self._fluid.percentile_us(percentile) + self._period_us

    def survival(self, time_us: float) -> float:
        return self._fluid.survival(time_us - self._period_us)
