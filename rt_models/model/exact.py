# SPDX-License-Identifier: Apache-2.0

"""The exact model: the model of ``paper`` without its approximations.

The server has its budget and its period (``cbs``), the times of network and
server are convolved (``tandem``), and replenishing may cost time.  If the
period is short compared with the requests, the results equal those of the
paper.

Rates are in Hz, times in us.
"""

import math

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import cbs
from rt_models.model import load as rt_load
from rt_models.model import search
from rt_models.model import tandem


def predict(load: rt_load.Load, reservation: rt_reservation.Reservation,
            network: rt_load.Network = rt_load.NO_NETWORK,
            overhead_us: float = 0.0) -> tandem.RoundTrip:
    """Returns the distribution of round trips.

    :param overhead_us: the part of the runtime that each period loses
    :raises InvalidLoad: when the overhead is not between 0 and the runtime,
        or the load is above search.MAX_UTILISATION of what is left
    """
    search.check_overhead(overhead_us, reservation.runtime_us)
    runtime = reservation.runtime_us - overhead_us
    served = load.service_rate_hz * runtime / reservation.period_us
    if load.arrival_rate_hz > search.MAX_UTILISATION * served:
        raise exception.InvalidLoad(
            name='arrival rate in Hz', value=load.arrival_rate_hz,
            rule=f'the reservation serves {served:g} requests per second, '
            f'and above {search.MAX_UTILISATION:g} of this rate the model '
            'gives no result; give more runtime')
    return tandem.RoundTrip(load, network, cbs.ResponseTime(
        load, runtime, reservation.period_us))


def runtime_for_mean(*, arrival_rate_hz: float, service_rate_hz: float,
                     period_us: int, target_us: float,
                     network_delay_us: float = 0.0,
                     network_rate_hz: float = math.inf,
                     max_share: float = 1.0,
                     overhead_us: float = 0.0) -> int:
    """Returns the smallest runtime, in us, whose mean meets the target.

    :param network_delay_us: delta, in one direction
    :param network_rate_hz: nu; infinite: requests do not queue there
    :param max_share: the largest runtime over period that is allowed
    :param overhead_us: the part of the runtime that each period loses
    :raises InvalidLoad: when a rate, the period, the share or the overhead is
        out of range
    :raises NoAnswer: when no runtime within *max_share* meets the target
    """
    return smallest_runtime_us(
        rt_load.Load(arrival_rate_hz, service_rate_hz),
        rt_load.Target(target_us), period_us, max_share,
        rt_load.Network(network_delay_us, network_rate_hz), overhead_us)


def runtime_for_percentile(*, arrival_rate_hz: float, service_rate_hz: float,
                           period_us: int, percentile: float,
                           target_us: float, network_delay_us: float = 0.0,
                           network_rate_hz: float = math.inf,
                           max_share: float = 1.0,
                           overhead_us: float = 0.0) -> int:
    """Returns the smallest runtime, in us, whose percentile meets the target.

    :param network_delay_us: delta, in one direction
    :param network_rate_hz: nu; infinite: requests do not queue there
    :param max_share: the largest runtime over period that is allowed
    :param overhead_us: the part of the runtime that each period loses
    :raises InvalidLoad: when a rate, the percentile, the period, the share or
        the overhead is out of range
    :raises NoAnswer: when no runtime within *max_share* meets the target
    """
    return smallest_runtime_us(
        rt_load.Load(arrival_rate_hz, service_rate_hz),
        rt_load.Target(target_us, percentile), period_us, max_share,
        rt_load.Network(network_delay_us, network_rate_hz), overhead_us)


def smallest_runtime_us(load: rt_load.Load, target: rt_load.Target,
                        period_us: int, max_share: float = 1.0,
                        network: rt_load.Network = rt_load.NO_NETWORK,
                        overhead_us: float = 0.0) -> int:
    """Returns the smallest runtime, in us, that meets a target.

    The runtime also keeps the load within search.MAX_UTILISATION.

    :raises InvalidLoad: as :func:`runtime_for_percentile`
    :raises NoAnswer: as :func:`runtime_for_percentile`
    """
    bounds = search.bounds_us(load, target, period_us, max_share, network,
                              overhead_us)
    return search.smallest_runtime_us(
        lambda runtime_us: tandem.RoundTrip(load, network, cbs.ResponseTime(
            load, runtime_us - overhead_us, period_us)),
        target, bounds, period_us)
