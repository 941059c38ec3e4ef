# SPDX-License-Identifier: Apache-2.0

"""The input of the models: requests, the network and targets."""

import dataclasses
import math
from typing import Protocol

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation

US_PER_S = 1e6
#: The range of the numbers that the models accept.  Beyond this range, sums of
#: floats lose too many digits.
LEAST, MOST = 1e-9, 1e12


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """Requests to one vCPU: Poisson arrivals, exponential CPU times.

    :param arrival_rate_hz: lambda, the requests per second
    :param service_rate_hz: mu, the requests per second that a whole pCPU
        serves
    :raises InvalidLoad: when a rate is not positive and finite, or beyond the
        range of the models
    """

    arrival_rate_hz: float
    service_rate_hz: float

    def __post_init__(self) -> None:
        check_positive('arrival rate in Hz', self.arrival_rate_hz)
        check_positive('service rate in Hz', self.service_rate_hz)


@dataclasses.dataclass(frozen=True, slots=True)
class Network:
    """The network between a client and the server.

    :param delay_us: delta, the delay in one direction; it counts twice
    :param rate_hz: nu, the requests per second that the narrowest link passes
        on (throughput divided by mean size); infinite: requests never queue
        there
    :raises InvalidLoad: when the delay is negative, the rate is not positive,
        or one of them is beyond the range of the models
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
    """The response time, seen from the client, that must not be exceeded.

    :param time_us: the longest response time
    :param percentile: the percentile that must not exceed it, for example
        0.99; None: the mean must not exceed it
    :raises InvalidLoad: when the time is not positive, or *percentile* is not
        between 0 and 1
    """

    time_us: float
    percentile: float | None = None

    def __post_init__(self) -> None:
        check_positive('target in us', self.time_us)
        if self.percentile is not None:
            check_percentile(self.percentile)

    def __str__(self) -> str:
        statistic = ('mean' if self.percentile is None
                     else f'percentile {self.percentile:g}')
        return f'a {statistic} of {self.time_us:g} us'

    def left_us(self, network: Network) -> float:
        """Returns the time that remains for the server and for queues.

        :raises NoAnswer: when no time remains
        """
        left = self.time_us - 2 * network.delay_us
        if left <= 0:
            raise exception.NoAnswer(
                target=self, reason='the network alone takes '
                f'{2 * network.delay_us:g} us in both directions')
        return left


class Prediction(Protocol):
    """A distribution of response times, from any of the models."""

    @property
    def mean_us(self) -> float:
        """E[R]."""

    def percentile_us(self, percentile: float) -> float:
        """Returns the time within which this share of all requests ends.

        :raises InvalidLoad: when *percentile* is not between 0 and 1
        """

    def survival(self, time_us: float) -> float:
        """Returns Pr[R > time]."""


NO_NETWORK = Network()


def check_positive(name: str, value: float) -> None:
    """Checks that a number is positive and in the range of the models.

    :param name: the quantity with its unit, for the message
    :raises InvalidLoad: when the number or the percentile is out of range
    """
    if not (math.isfinite(value) and value > 0):
        raise exception.InvalidLoad(name=name, value=value,
                                    rule='it must be positive and finite')
    if not LEAST <= value <= MOST:
        raise exception.InvalidLoad(
            name=name, value=value,
            rule=f'it must lie between {LEAST:g} and {MOST:g}')


def largest_runtime_us(period_us: int, max_share: float) -> int:
    """Returns the largest runtime that *max_share* allows in a period.

    :raises InvalidLoad: when the period or the share is out of range
    """
    if not 0 < period_us <= rt_reservation.MAX_PERIOD_US:
        raise exception.InvalidLoad(
            name='period in us', value=period_us, rule='it must lie between '
            f'1 and {rt_reservation.MAX_PERIOD_US}')
    if not 0 < max_share <= 1:
        raise exception.InvalidLoad(
            name='maximum share', value=max_share,
            rule='it must be above 0 and at most 1')
    # Rounding first: as a float, 0.7 * 10 is a little less than 7.
    return math.floor(round(period_us * max_share, 6))


def check_percentile(percentile: float) -> None:
    """Checks that a percentile is between 0 and 1.

    :raises InvalidLoad: when the number or the percentile is out of range
    """
    if not 0 < percentile < 1:
        raise exception.InvalidLoad(
            name='percentile', value=percentile,
            rule='it must lie between 0 and 1, as 0.99 does')


def check_stable(load: Load, reservation: rt_reservation.Reservation
                 ) -> None:
    """Checks lambda < mu Q / P: Eq. (7) for the reservation, paper 4.2.2.

    :raises InvalidLoad: when requests arrive faster than they are served
    """
    check_served(load, load.service_rate_hz * reservation.share)


def check_served(load: Load, rate_hz: float) -> None:
    """Checks that a server serves the requests.

    :param rate_hz: the requests per second that the server serves
    :raises InvalidLoad: when requests arrive faster than they are served
    """
    _check_rate(load, 'reservation', rate_hz, 'give more runtime')


def check_network(load: Load, network: Network) -> None:
    """Checks lambda < nu: Eq. (7) for the network, paper 4.2.2.

    :raises InvalidLoad: when requests arrive faster than they are passed on
    """
    _check_rate(load, 'network', network.rate_hz,
                'send fewer or smaller requests')


def _check_rate(load: Load, place: str, rate: float, advice: str) -> None:
    if load.arrival_rate_hz >= rate:
        raise exception.InvalidLoad(
            name='arrival rate in Hz', value=load.arrival_rate_hz,
            rule=f'the {place} takes {rate:g} requests per second, so that '
            f'the queue would grow without end; {advice}')
