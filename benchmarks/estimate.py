# SPDX-License-Identifier: Apache-2.0

"""Estimates mean and percentiles of a lone server, with intervals.

Each of several independent runs also simulates the fluid queue with the same
requests.  The fluid queue is an M/M/1 queue whose true values are known
(paper, Eq.  (4)).  If the queue was slow by chance, the server was slow for
the same reason.  So the error of the queue is subtracted from the result
(control variate).
"""

from collections.abc import Sequence
import dataclasses
import statistics

import numpy as np

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load
from rt_models.model import numeric
from rt_models.model import paper
from rt_models.model.simulator import lone
from rt_models.model.simulator import traffic

#: The part of each run that is dropped, because the run starts with an empty
#: queue.
_WARM_UP = 0.1


@dataclasses.dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its margin of error at the requested confidence, in us."""

    value_us: float
    margin_us: float


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """The extent of a simulation; it must have at least ten runs."""

    runs: int = 20
    requests: int = 100_000
    seed: int = 1
    confidence: float = 0.95


def estimate(load: rt_load.Load, reservation: rt_reservation.Reservation,
             percentiles: Sequence[float] = (0.99,), plan: Plan | None = None
             ) -> tuple[Estimate, ...]:
    """Returns the mean, then each of the percentiles.

    :raises InvalidLoad: when requests arrive faster than they are served, or a
        percentile is not between 0 and 1
    """
    plan = plan or Plan()
    known = np.array([paper.mean_us(load, reservation), *(
        paper.percentile_us(load, reservation, percentile)
        for percentile in percentiles)])
    seen, fluid = [], []
    for run in range(plan.runs):
        requests = traffic.poisson(load, plan.requests, plan.seed + run)
        seen.append(_summary(lone.responses_us(
            requests, reservation.runtime_us, reservation.period_us),
            percentiles))
        slowed = traffic.Arrivals(requests.arrivals_us,
                                  requests.works_us / reservation.share)
        fluid.append(_summary(lone.responses_us(slowed, 1.0, 1.0),
                              percentiles))
    return tuple(
        _controlled(values, control - true, plan.confidence)
        for values, control, true in zip(
            np.array(seen).T, np.array(fluid).T, known, strict=True))


def _summary(responses: numeric.Floats, percentiles: Sequence[float]
             ) -> list[float]:
    steady = responses[int(_WARM_UP * len(responses)):]
    return [float(steady.mean()), *np.quantile(steady, percentiles).tolist()]


def _controlled(values: numeric.Floats, errors: numeric.Floats,
                confidence: float) -> Estimate:
    """Estimates the value at which a regression on the errors has error 0."""
    centred = errors - errors.mean()
    squares = float(centred @ centred)
    slope = float(centred @ values) / squares
    value = float(values.mean() - slope * errors.mean())
    rest = values - value - slope * errors
    freedom = len(values) - 2
    variance = float(rest @ rest) / freedom * (
        1 / len(values) + float(errors.mean()) ** 2 / squares)
    return Estimate(value, _student(confidence, freedom) * variance ** 0.5)


def _student(confidence: float, freedom: int) -> float:
    """Returns the two-sided quantile of Student's t distribution.

    The function approximates the quantile from that of the normal
    distribution.
    """
    normal = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    return (normal + (normal ** 3 + normal) / (4 * freedom)
            + (5 * normal ** 5 + 16 * normal ** 3 + 3 * normal)
            / (96 * freedom ** 2))
