# SPDX-License-Identifier: Apache-2.0

"""The equations of the paper (section 4.2), as written, and their inverse.

They take a reservation of Q us every P us for a CPU that is slower by Q/P
all the time.  This is right where a request takes far longer than P; where
it does not they say more than will be seen.  ``exact`` has no such limit.

Rates are in Hz, times in us.
"""

from collections.abc import Iterable
import fractions
import math

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load


def schedulable(reservations: Iterable[rt_reservation.Reservation]) -> bool:
    """Eq. (1): sum of Q_i / P_i <= 1, for the reservations of one CPU."""
    return sum((fractions.Fraction(one.runtime_us, one.period_us)
                for one in reservations), fractions.Fraction()) <= 1


def completion_us(cpu_time_us: float,
                  reservation: rt_reservation.Reservation) -> float:
    """Eq. (2): t = C / (Q / P), with nothing queued."""
    return cpu_time_us / reservation.share


def completion_bounds_us(cpu_time_us: float,
                         reservation: rt_reservation.Reservation
                         ) -> tuple[float, float]:
    """Proof of Eq. (2): floor(C / Q) P <= t <= ceil(C / Q) P."""
    periods = cpu_time_us / reservation.runtime_us
    return (math.floor(periods) * reservation.period_us,
            math.ceil(periods) * reservation.period_us)


def mean_us(load: rt_load.Load,
            reservation: rt_reservation.Reservation) -> float:
    """Eq. (3): E[t] = 1 / (mu Q / P - lambda).

    :raises InvalidLoad: unstable
    """
    rt_load.check_stable(load, reservation)
    return mm1_mean_us(load.arrival_rate_hz,
                       load.service_rate_hz * reservation.share)


def percentile_us(load: rt_load.Load,
                  reservation: rt_reservation.Reservation,
                  percentile: float) -> float:
    """Eq. (3): P_phi[t] = -ln(1 - phi) / (mu Q / P - lambda).

    :raises InvalidLoad: unstable, or phi is not between 0 and 1
    """
    rt_load.check_percentile(percentile)
    return -math.log1p(-percentile) * mean_us(load, reservation)


def mm1_mean_us(arrival_rate_hz: float, service_rate_hz: float) -> float:
    """Eq. (4): E[R] = 1 / (mu - lambda)."""
    return rt_load.US_PER_S / (service_rate_hz - arrival_rate_hz)


def mm1_percentile_us(arrival_rate_hz: float, service_rate_hz: float,
                      percentile: float) -> float:
    """Eq. (4): P_phi[R] = -ln(1 - phi) / (mu - lambda)."""
    return -math.log1p(-percentile) * mm1_mean_us(arrival_rate_hz,
                                                  service_rate_hz)


class RoundTrip:
    """Distribution of round trips: Eq. (5); Eq. (6) to (10) with a network.

    Two M/M/1 queues in a row (Eq. (8)) where the network has a rate; the
    percentile is then a bound.

    :raises InvalidLoad: unstable
    """

    def __init__(self, load: rt_load.Load,
                 reservation: rt_reservation.Reservation,
                 network: rt_load.Network = rt_load.NO_NETWORK) -> None:
        self._queued_us = (_transmission_us(load, network)
                           + mean_us(load, reservation))
        self._network = network

    @property
    def mean_us(self) -> float:
        """E = 2 delta [+ 1 / (nu - lambda)] + E[t]."""
        return 2 * self._network.delay_us + self._queued_us

    def percentile_us(self, percentile: float) -> float:
        """2 delta - ln(1 - phi) E[t]; by Eq. (10) where requests queue.

        :raises InvalidLoad: phi is not between 0 and 1
        """
        rt_load.check_percentile(percentile)
        return (2 * self._network.delay_us
                + _factor(percentile, self._network) * self._queued_us)

    def survival(self, time_us: float) -> float:
        """Pr[R > time], or what it is at most by Eq. (9):

        Pr[R <= D] >= (1 - exp(-alpha (D - 2 delta)))^2.
        """
        left = max(0.0, time_us - 2 * self._network.delay_us)
        within = -math.expm1(-left / self._queued_us)
        return 1 - within ** (2 if _queues(self._network) else 1)


def runtime_for_mean(*, arrival_rate_hz: float, service_rate_hz: float,
                     period_us: int, target_us: float,
                     network_delay_us: float = 0.0,
                     network_rate_hz: float = math.inf,
                     max_share: float = 1.0) -> int:
    """The smallest runtime, in us, whose mean of Eq. (5) meets the target.

    Of Eq. (6) where the network has a rate.

    :param network_delay_us: delta, one way
    :param network_rate_hz: nu; infinite: requests do not queue there
    :param max_share: the largest runtime over period there may be
    :raises InvalidLoad: a rate, the period or the share makes no sense
    :raises NoAnswer: no runtime within max_share does
    """
    return smallest_runtime_us(
        rt_load.Load(arrival_rate_hz, service_rate_hz),
        rt_load.Target(target_us), period_us, max_share,
        rt_load.Network(network_delay_us, network_rate_hz))


def runtime_for_percentile(*, arrival_rate_hz: float, service_rate_hz: float,
                           period_us: int, percentile: float,
                           target_us: float, network_delay_us: float = 0.0,
                           network_rate_hz: float = math.inf,
                           max_share: float = 1.0) -> int:
    """The smallest runtime, in us, whose percentile of Eq. (5) does.

    Of Eq. (6) where the network has a rate.

    :param network_delay_us: delta, one way
    :param network_rate_hz: nu; infinite: requests do not queue there
    :param max_share: the largest runtime over period there may be
    :raises InvalidLoad: a rate, the percentile, the period or the share
        makes no sense
    :raises NoAnswer: no runtime within max_share does
    """
    return smallest_runtime_us(
        rt_load.Load(arrival_rate_hz, service_rate_hz),
        rt_load.Target(target_us, percentile), period_us, max_share,
        rt_load.Network(network_delay_us, network_rate_hz))


def smallest_runtime_us(load: rt_load.Load, target: rt_load.Target,
                        period_us: int, max_share: float = 1.0,
                        network: rt_load.Network = rt_load.NO_NETWORK
                        ) -> int:
    """Returns the smallest runtime: Q = P (lambda + 1 / queued) / mu.

    queued is what the target leaves to the mean of the server.

    :raises InvalidLoad: as there
    :raises NoAnswer: as there
    """
    largest = rt_load.largest_runtime_us(period_us, max_share)
    factor = (1.0 if target.percentile is None
              else _factor(target.percentile, network))
    queued = (target.left_us(network) / factor
              - _transmission_us(load, network))
    if queued <= 0:
        raise exception.NoAnswer(target=target,
                                 reason='the network alone takes longer')
    rate = load.arrival_rate_hz + rt_load.US_PER_S / queued
    share = rate / load.service_rate_hz
    # To a millionth of a us, so that rounding does not cost a whole one.
    runtime = max(math.ceil(round(share * period_us, 6)),
                  rt_reservation.MIN_RUNTIME_US)
    if runtime > largest:
        raise exception.NoAnswer(
            target=target, reason=f'it takes a share of {share:.3f} and '
            f'there is {largest / period_us:.3f}')
    return runtime


def refuse_overhead(overhead_us: float) -> None:
    """:raises InvalidLoad: there is one, and no equation has it"""
    if overhead_us:
        raise exception.InvalidLoad(
            name='overhead in us', value=overhead_us,
            rule='the model of the paper knows none; use the exact one')


def _transmission_us(load: rt_load.Load, network: rt_load.Network) -> float:
    """Proof of Eq. (6): 1 / (nu - lambda); 0 where it is negligible."""
    if not _queues(network):
        return 0.0
    rt_load.check_network(load, network)
    return mm1_mean_us(load.arrival_rate_hz, network.rate_hz)


def _factor(percentile: float, network: rt_load.Network) -> float:
    """The percentile over the mean of what is queued."""
    return -math.log1p(-(math.sqrt(percentile) if _queues(network)
                         else percentile))


def _queues(network: rt_load.Network) -> bool:
    return not math.isinf(network.rate_hz)
