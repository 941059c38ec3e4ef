# SPDX-License-Identifier: Apache-2.0

"""The equations of the paper (section 4.2) as published, and their inverse.

The equations treat a reservation of Q us every P us as a CPU that is always
slower by Q/P.  The equations are correct if a request takes far longer than P.
For shorter requests the equations predict times that are too long; ``exact``
also holds for shorter requests.

Rates are in Hz, times in us.
"""

from collections.abc import Iterable
import fractions
import math

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load


def schedulable(reservations: Iterable[rt_reservation.Reservation]) -> bool:
    """Returns whether Eq. (1) holds for one CPU: sum of Q_i / P_i <= 1."""
    return sum((fractions.Fraction(each.runtime_us, each.period_us)
                for each in reservations), fractions.Fraction()) <= 1


def completion_us(cpu_time_us: float,
                  reservation: rt_reservation.Reservation) -> float:
    """Returns t = C / (Q / P) by Eq. (2), with nothing queued."""
    return cpu_time_us / reservation.share


def completion_bounds_us(cpu_time_us: float,
                         reservation: rt_reservation.Reservation
                         ) -> tuple[float, float]:
    """Returns the bounds floor(C / Q) P <= t <= ceil(C / Q) P.

    The bounds are from the proof of Eq. (2).
    """
    periods = cpu_time_us / reservation.runtime_us
    return (math.floor(periods) * reservation.period_us,
            math.ceil(periods) * reservation.period_us)


def mean_us(load: rt_load.Load,
            reservation: rt_reservation.Reservation) -> float:
    """Returns E[t] = 1 / (mu Q / P - lambda) by Eq. (3).

    :raises InvalidLoad: when requests arrive faster than they are served
    """
    rt_load.check_stable(load, reservation)
    return mm1_mean_us(load.arrival_rate_hz,
                       load.service_rate_hz * reservation.share)


def percentile_us(load: rt_load.Load,
                  reservation: rt_reservation.Reservation,
                  percentile: float) -> float:
    """Returns P_phi[t] = -ln(1 - phi) / (mu Q / P - lambda) by Eq. (3).

    :raises InvalidLoad: when requests arrive faster than they are served, or
        phi is not between 0 and 1
    """
    rt_load.check_percentile(percentile)
    return -math.log1p(-percentile) * mean_us(load, reservation)


def mm1_mean_us(arrival_rate_hz: float, service_rate_hz: float) -> float:
    """Returns E[R] = 1 / (mu - lambda) by Eq. (4)."""
    return rt_load.US_PER_S / (service_rate_hz - arrival_rate_hz)


def mm1_percentile_us(arrival_rate_hz: float, service_rate_hz: float,
                      percentile: float) -> float:
    """Returns P_phi[R] = -ln(1 - phi) / (mu - lambda) by Eq. (4)."""
    return -math.log1p(-percentile) * mm1_mean_us(arrival_rate_hz,
                                                  service_rate_hz)


class RoundTrip:
    """The distribution of round trips by Eq. (5), or by Eq. (6) to (10).

    Where the network has a rate, the round trip passes two M/M/1 queues
    (Eq. (8)), and the percentile is a bound.

    :raises InvalidLoad: when requests arrive faster than they are served or
        passed on
    """

    def __init__(self, load: rt_load.Load,
                 reservation: rt_reservation.Reservation,
                 network: rt_load.Network = rt_load.NO_NETWORK) -> None:
        self._queued_us = (_transmission_us(load, network)
                           + mean_us(load, reservation))
        self._network = network

    @property
    def mean_us(self) -> float:
        """E[R] = 2 delta [+ 1 / (nu - lambda)] + E[t]."""
        return 2 * self._network.delay_us + self._queued_us

    def percentile_us(self, percentile: float) -> float:
        """Returns 2 delta - ln(1 - phi) E[t].

        Where requests queue in the network, returns the bound of Eq. (10).

        :raises InvalidLoad: when phi is not between 0 and 1
        """
        rt_load.check_percentile(percentile)
        return (2 * self._network.delay_us
                + _factor(percentile, self._network) * self._queued_us)

    def survival(self, time_us: float) -> float:
        """Returns Pr[R > time].

        Where requests queue in the network, returns the bound that follows
        from Eq. (9): Pr[R <= D] >= (1 - exp(-alpha (D - 2 delta)))^2.
        """
        left = max(0.0, time_us - 2 * self._network.delay_us)
        within = -math.expm1(-left / self._queued_us)
        return 1 - within ** (2 if _queues(self._network) else 1)


def runtime_for_mean(*, arrival_rate_hz: float, service_rate_hz: float,
                     period_us: int, target_us: float,
                     network_delay_us: float = 0.0,
                     network_rate_hz: float = math.inf,
                     max_share: float = 1.0) -> int:
    """Returns the smallest runtime, in us, whose mean meets the target.

    The mean comes from Eq. (5) or, if the network has a rate, from Eq. (6).

    :param network_delay_us: delta, in one direction
    :param network_rate_hz: nu; infinite: requests do not queue there
    :param max_share: the largest runtime over period that is allowed
    :raises InvalidLoad: when a rate, the period or the share is out of range
    :raises NoAnswer: when no runtime within *max_share* meets the target
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
    """Returns the smallest runtime, in us, whose percentile meets the target.

    The percentile comes from Eq. (5) or, if the network has a rate, is the
    bound of Eq. (10).

    :param network_delay_us: delta, in one direction
    :param network_rate_hz: nu; infinite: requests do not queue there
    :param max_share: the largest runtime over period that is allowed
    :raises InvalidLoad: when a rate, the percentile, the period or the share
        is out of range
    :raises NoAnswer: when no runtime within *max_share* meets the target
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

    In this formula, queued is the time that the target leaves to the mean of
    the server.

    :raises InvalidLoad: as :func:`runtime_for_percentile`
    :raises NoAnswer: as :func:`runtime_for_percentile`
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
    # Rounding to a millionth of a us first, so that an error of the floats
    # does not cost a whole us.
    runtime = max(math.ceil(round(share * period_us, 6)),
                  rt_reservation.MIN_RUNTIME_US)
    if runtime > largest:
        raise exception.NoAnswer(
            target=target, reason=f'this takes a share of {share:.3f}, and '
            f'the largest share is {largest / period_us:.3f}')
    return runtime


def refuse_overhead(overhead_us: float) -> None:
    """Checks that there is no overhead, which the equations do not have.

    :raises InvalidLoad: when there is an overhead
    """
    if overhead_us:
        raise exception.InvalidLoad(
            name='overhead in us', value=overhead_us,
            rule='the model of the paper has no overhead; use the exact '
            'model')


def _transmission_us(load: rt_load.Load, network: rt_load.Network) -> float:
    """Returns 1 / (nu - lambda), from the proof of Eq. (6).

    :returns: 0 where requests do not queue in the network
    """
    if not _queues(network):
        return 0.0
    rt_load.check_network(load, network)
    return mm1_mean_us(load.arrival_rate_hz, network.rate_hz)


def _factor(percentile: float, network: rt_load.Network) -> float:
    """Returns the percentile divided by the mean of the queueing time."""
    return -math.log1p(-(math.sqrt(percentile) if _queues(network)
                         else percentile))


def _queues(network: rt_load.Network) -> bool:
    return not math.isinf(network.rate_hz)
