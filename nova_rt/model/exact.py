# SPDX-License-Identifier: Apache-2.0

"""The model to plan with: as ``paper``, without its approximations.

The server has its budget and its period (``cbs``), network and server are
convolved (``tandem``), and replenishing may cost.  Where the period is
short against the requests the answers are those of the paper.

Rates are in Hz, times in us.
"""

import math

from nova_rt import exception
from nova_rt.model import cbs
from nova_rt.model import load as rt_load
from nova_rt.model import numeric
from nova_rt.model import tandem
from nova_rt import reservation as rt_reservation

#: Of a reservation.  Closer to saturation a per cent more or less of load
#: decides between any two response times.
MAX_UTILISATION = 0.98


def predict(load: rt_load.Load, reservation: rt_reservation.Reservation,
            network: rt_load.Network = rt_load.NO_NETWORK,
            overhead_us: float = 0.0) -> tandem.RoundTrip:
    """The distribution of round trips.

    :param overhead_us: what each period loses of the runtime
    :raises InvalidLoad: the overhead is not between 0 and the runtime, or
        the load is above MAX_UTILISATION of what is left
    """
    _check_overhead(overhead_us, reservation.runtime_us)
    runtime = reservation.runtime_us - overhead_us
    served = load.service_rate_hz * runtime / reservation.period_us
    if load.arrival_rate_hz > MAX_UTILISATION * served:
        raise exception.InvalidLoad(
            name='arrival rate in Hz', value=load.arrival_rate_hz,
            rule=f'the reservation serves {served:g} requests a second, and '
            f'above {MAX_UTILISATION:g} of that nothing can be said; give '
            'more runtime')
    return tandem.RoundTrip(load, network, cbs.ResponseTime(
        load, runtime, reservation.period_us))


def runtime_for_mean(*, arrival_rate_hz: float, service_rate_hz: float,
                     period_us: int, target_us: float,
                     network_delay_us: float = 0.0,
                     network_rate_hz: float = math.inf,
                     max_share: float = 1.0,
                     overhead_us: float = 0.0) -> int:
    """The smallest runtime, in us, whose mean meets the target.

    :param network_delay_us: delta, one way
    :param network_rate_hz: nu; infinite: requests do not queue there
    :param max_share: the largest runtime over period there may be
    :param overhead_us: what each period loses of the runtime
    :raises InvalidLoad: a rate, the period, the share or the overhead makes
        no sense
    :raises NoAnswer: no runtime within max_share does
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
    """The smallest runtime, in us, whose percentile meets the target.

    :param network_delay_us: delta, one way
    :param network_rate_hz: nu; infinite: requests do not queue there
    :param max_share: the largest runtime over period there may be
    :param overhead_us: what each period loses of the runtime
    :raises InvalidLoad: a rate, the percentile, the period, the share or
        the overhead makes no sense
    :raises NoAnswer: no runtime within max_share does
    """
    return smallest_runtime_us(
        rt_load.Load(arrival_rate_hz, service_rate_hz),
        rt_load.Target(target_us, percentile), period_us, max_share,
        rt_load.Network(network_delay_us, network_rate_hz), overhead_us)


def smallest_runtime_us(load: rt_load.Load, target: rt_load.Target,
                        period_us: int, max_share: float = 1.0,
                        network: rt_load.Network = rt_load.NO_NETWORK,
                        overhead_us: float = 0.0) -> int:
    """As the two above.

    It also keeps the load within MAX_UTILISATION.

    :raises InvalidLoad: as there
    :raises NoAnswer: as there
    """
    largest = rt_load.largest_runtime_us(period_us, max_share)
    _check_overhead(overhead_us, period_us)
    target.left_us(network)
    rt_load.check_network(load, network)
    least = overhead_us + (period_us * load.arrival_rate_hz
                           / load.service_rate_hz / MAX_UTILISATION)
    smallest = max(math.ceil(least), rt_reservation.MIN_RUNTIME_US)
    if smallest > largest:
        raise exception.NoAnswer(
            target=target, reason='to serve these requests at all takes a '
            f'share of {smallest / period_us:.3f} and there is '
            f'{largest / period_us:.3f}')

    def trip(runtime_us: float) -> tandem.RoundTrip:
        return tandem.RoundTrip(load, network, cbs.ResponseTime(
            load, runtime_us - overhead_us, period_us))

    def margin(runtime_us: float) -> float:
        return _margin(target, trip(runtime_us))

    if margin(largest) < 0:
        raise exception.NoAnswer(
            target=target, reason=f'with {largest} us every {period_us} us, '
            f'the most allowed, it is {_reached_us(target, trip(largest)):g}'
            ' us')
    runtime = math.ceil(numeric.root(margin, smallest, largest, 0.5))
    while runtime > smallest and margin(runtime - 1) >= 0:
        runtime -= 1
    return runtime


def _reached_us(target: rt_load.Target, trip: tandem.RoundTrip) -> float:
    if target.percentile is None:
        return trip.mean_us
    return trip.percentile_us(target.percentile)


def _margin(target: rt_load.Target, trip: tandem.RoundTrip) -> float:
    """How far the target is met; grows with the runtime."""
    if target.percentile is None:
        return target.time_us - trip.mean_us
    return (numeric.tail(trip.survival(target.time_us))
            - numeric.tail(1 - target.percentile))


def _check_overhead(overhead_us: float, limit_us: float) -> None:
    if not 0 <= overhead_us < limit_us:
        raise exception.InvalidLoad(
            name='overhead in us', value=overhead_us, rule='it must be 0 or '
            f'more, and less than the {limit_us:g} us it is taken from')
