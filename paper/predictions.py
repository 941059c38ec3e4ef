# SPDX-License-Identifier: Apache-2.0

"""The predictions of the models for a point."""

import dataclasses
import functools

from paper import points
from rt_models.model import exact
from rt_models.model import load as rt_load
from rt_models.model import paper

_BITS = 8
_P99 = 0.99


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction of a model, in us."""

    mean_us: float
    p99_us: float

    def value(self, statistic: str) -> float:
        """Returns the mean or the 99th percentile, in us."""
        return self.mean_us if statistic == 'mean' else self.p99_us


def predict(point: points.Point, delay_us: float) -> dict[str, Prediction]:
    """Returns the paper's prediction, by Eq. (5) or (6), and our model's.

    :param delay_us: the round trip (2 delta), which both models add
    :raises InvalidLoad: when more requests arrive than can be served or sent
    :raises ValueError: when the point has no reservation
    """
    return {model: Prediction(delay_us + one.mean_us, delay_us + one.p99_us)
            for model, one in _without_delay(point).items()}


@functools.cache
def _without_delay(point: points.Point) -> dict[str, Prediction]:
    if point.reservation is None:
        raise ValueError(f'{point.name} has no reservation')
    hertz = rt_load.US_PER_S
    workload = point.workload
    load = rt_load.Load(hertz / workload.intervals.mean,
                        hertz / workload.service.mean)
    network = rt_load.Network(rate_hz=(
        point.queueing_megabits * hertz / (_BITS * workload.size.mean)))
    trips: dict[str, rt_load.Prediction] = {
        'paper': paper.RoundTrip(load, point.reservation, network),
        'exact': exact.predict(load, point.reservation, network)}
    return {model: Prediction(trip.mean_us, trip.percentile_us(_P99))
            for model, trip in trips.items()}
