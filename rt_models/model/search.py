# SPDX-License-Identifier: Apache-2.0

"""Searches the smallest runtime that meets a target, with any model."""

from collections.abc import Callable
import math

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load
from rt_models.model import roots

#: The largest utilisation of a reservation.  Closer to saturation, a change of
#: the load by one percent may change the response time by any factor.
MAX_UTILISATION = 0.98

Meets = Callable[[rt_load.Prediction, rt_load.Target], float]


def bounds_us(load: rt_load.Load, target: rt_load.Target, period_us: int,
              max_share: float, network: rt_load.Network, overhead_us: float,
              kept_share: float = 1.0) -> tuple[int, int]:
    """Returns the smallest and the largest runtime of the search, in us.

    The smallest runtime keeps the load within MAX_UTILISATION.

    :param max_share: the largest share that is allowed
    :param kept_share: the largest share that the kernel keeps
    :raises InvalidLoad: when the period, the share, the network or the
        overhead is out of range
    :raises NoAnswer: when *max_share* does not suffice to serve the requests
    """
    largest = min(rt_load.largest_runtime_us(period_us, max_share),
                  rt_load.largest_runtime_us(period_us, kept_share))
    check_overhead(overhead_us, period_us)
    target.left_us(network)
    rt_load.check_network(load, network)
    least = overhead_us + (period_us * load.arrival_rate_hz
                           / load.service_rate_hz / MAX_UTILISATION)
    smallest = max(math.ceil(least), rt_reservation.MIN_RUNTIME_US)
    if smallest > largest:
        raise exception.NoAnswer(
            target=target, reason='serving these requests at all needs a '
            f'share of {smallest / period_us:.3f}, and the largest share is '
            f'{largest / period_us:.3f}')
    return smallest, largest


def likely(given: rt_load.Prediction, target: rt_load.Target) -> float:
    """Returns the margin to the target, as a number of late requests."""
    if target.percentile is None:
        return target.time_us - given.mean_us
    return (roots.tail(given.survival(target.time_us))
            - roots.tail(1 - target.percentile))


def timely(given: rt_load.Prediction, target: rt_load.Target) -> float:
    """Returns the margin to the target, as a time in us."""
    return target.time_us - _reached_us(given, target)


def smallest_runtime_us(trip: Callable[[float], rt_load.Prediction],
                        target: rt_load.Target, bounds: tuple[int, int],
                        period_us: int, meets: Meets = likely,
                        step_us: int = 1) -> int:
    """Returns the smallest runtime, in us, whose *trip* meets the target.

    :param trip: a function from a runtime to the distribution of round trips
    :param meets: a function that returns the margin to the target: 0 or more
        where the target is met, and growing with the runtime
    :param step_us: how far the result may be above the smallest runtime
    :raises NoAnswer: when no runtime within *bounds* meets the target
    """
    smallest, largest = bounds

    def margin(runtime_us: float) -> float:
        return meets(trip(runtime_us), target)

    if margin(largest) < 0:
        raise exception.NoAnswer(
            target=target, reason=f'with {largest} us every {period_us} us, '
            'the most that is allowed, the response time is '
            f'{_reached_us(trip(largest), target):g} us')
    runtime = math.ceil(roots.root(margin, smallest, largest,
                                   step_us / 2))
    while step_us == 1 and runtime > smallest and margin(runtime - 1) >= 0:
        runtime -= 1
    return runtime


def check_overhead(overhead_us: float, limit_us: float) -> None:
    """Checks that an overhead is between 0 and a limit.

    :raises InvalidLoad: when the overhead is out of range
    """
    if not 0 <= overhead_us < limit_us:
        raise exception.InvalidLoad(
            name='overhead in us', value=overhead_us, rule='it must be 0 or '
            f'more, and less than {limit_us:g} us, because the overhead is a '
            f'part of this time')


def _reached_us(given: rt_load.Prediction, target: rt_load.Target) -> float:
    if target.percentile is None:
        return given.mean_us
    return given.percentile_us(target.percentile)
