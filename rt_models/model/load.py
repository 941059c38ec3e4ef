# SPDX-License-Identifier: Apache-2.0

"""What the models are asked about: requests, the network, targets."""

import dataclasses
import math
from typing import Protocol

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation

US_PER_S = 1e6
#: What is asked about lies between; floats lose what the models add up else.
LEAST, MOST = 1e-9, 1e12


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """Requests to one vCPU: Poisson arrivals, exponential CPU times.

    :param arrival_rate_hz: lambda, requests a second
    :param service_rate_hz: mu, requests a second that a whole physical CPU
        serves
    :raises InvalidLoad: a rate is not positive and finite, or absurd
    """

    arrival_rate_hz: float
    service_rate_hz: float

    def __post_init__(self) -> None:
        check_positive('arrival rate in Hz', self.arrival_rate_hz)
        check_positive('service rate in Hz', self.service_rate_hz)


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    """The way to the server and back.

    :param delay_us: delta, one way; counted twice
    :param rate_hz: nu, requests a second that the narrowest link passes on
        (throughput over mean size); infinite: they never queue there
    :raises InvalidLoad: a negative delay, a rate that is not positive, or
        absurd ones
    """

    delay_us: float = 0.0
    rate_hz: float = math.inf

    def __post_init__(self) -> None:
        if not self.delay_us >= 0:
            raise exception.InvalidLoad(
                name='network delay in us', value=self.delay_us,
                rule='it must be 0 or more')
        if self.delay_us:
            check_positive('network delay in us', self.delay_us)
        if self.rate_hz != math.inf:
            check_positive('network rate in Hz', self.rate_hz)


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """What a response time, from the client's side, must not exceed.

    :param time_us: the most there may be
    :param percentile: of which percentile, 0.99 for one; None: of the mean
    :raises InvalidLoad: not positive, or no percentile
    """

    time_us: float
    percentile: float | None = None

    def __post_init__(self) -> None:
        check_positive('target in us', self.time_us)
        if self.percentile is not None:
            check_percentile(self.percentile)

    def __str__(self) -> str:
        what = ('mean' if self.percentile is None
                else f'percentile {self.percentile:g}')
        return f'a {what} of {self.time_us:g} us'

    def left_us(self, network: Network) -> float:
        """What remains for the server and for queues.

        :raises NoAnswer: nothing does
        """
        left = self.time_us - 2 * network.delay_us
        if left <= 0:
            raise exception.NoAnswer(
                target=self, reason='the way there and back alone takes '
                f'{2 * network.delay_us:g} us')
        return left


class Prediction(Protocol):
    """A distribution of response times, of whatever model."""

    @property
    def mean_us(self) -> float:
        """E[R]."""

    def percentile_us(self, percentile: float) -> float:
        """The time that this share of all requests does not exceed.

        :raises InvalidLoad: not between 0 and 1
        """

    def survival(self, time_us: float) -> float:
        """Pr[R > time]."""


NO_NETWORK = Network()


def check_positive(name: str, value: float) -> None:
    """:raises InvalidLoad: not a positive, finite number, or absurd"""
    if not (math.isfinite(value) and value > 0):
        raise exception.InvalidLoad(name=name, value=value,
                                    rule='it must be positive and finite')
    if not LEAST <= value <= MOST:
        raise exception.InvalidLoad(
            name=name, value=value,
            rule=f'it must lie between {LEAST:g} and {MOST:g}')


def largest_runtime_us(period_us: int, max_share: float) -> int:
    """What max_share allows in a period.

    :raises InvalidLoad: the period or the share is out of range
    """
    if not 0 < period_us <= rt_reservation.MAX_PERIOD_US:
        raise exception.InvalidLoad(
            name='period in us', value=period_us, rule='it must lie between '
            f'1 and {rt_reservation.MAX_PERIOD_US}')
    if not 0 < max_share <= 1:
        raise exception.InvalidLoad(
            name='maximum share', value=max_share,
            rule='it must be above 0 and at most 1')
    # 0.7 * 10 is a little less than 7.
    return math.floor(round(period_us * max_share, 6))


def check_percentile(percentile: float) -> None:
    """:raises InvalidLoad: not between 0 and 1"""
    if not 0 < percentile < 1:
        raise exception.InvalidLoad(
            name='percentile', value=percentile,
            rule='it must lie between 0 and 1, as 0.99 does')


def check_stable(load: Load, reservation: rt_reservation.Reservation
                 ) -> None:
    """Paper 4.2.2, Eq. (7), the reservation: lambda < mu Q / P.

    :raises InvalidLoad: requests arrive faster than they are served
    """
    check_served(load, load.service_rate_hz * reservation.share)


def check_served(load: Load, rate_hz: float) -> None:
    """Checks the same of a server that takes *rate_hz* requests a second."""
    _check_rate(load, 'reservation', rate_hz, 'give more runtime')


def check_network(load: Load, network: Network) -> None:
    """Paper 4.2.2, Eq. (7), the network: lambda < nu.

    :raises InvalidLoad: requests arrive faster than they are passed on
    """
    _check_rate(load, 'network', network.rate_hz,
                'send fewer or smaller ones')


def _check_rate(load: Load, place: str, rate: float, advice: str) -> None:
    if load.arrival_rate_hz >= rate:
        raise exception.InvalidLoad(
            name='arrival rate in Hz', value=load.arrival_rate_hz,
            rule=f'the {place} takes {rate:g} requests a second, so ever '
            f'more would wait; {advice}')
