# SPDX-License-Identifier: Apache-2.0

"""Calculates the errors that a perfect model has by chance alone."""

from collections.abc import Sequence

import numpy as np

from paper import accuracy
from paper import bench
from paper import measured
from paper import points
from paper import predictions
from paper import published
from paper import report
from paper import samples
from paper import workload as rt_workload
from rt_models.model.simulator import lone
from rt_models.model.simulator import traffic

#: The number of repetitions for each seed.
REPEATS = 10
#: The ends of the shown range, as percentiles of all repetitions.
_RANGE = (10, 90)
HEADER = ('LD', 'Q/P', 'Published, 128 B', '2048 B', 'Chance',
          '80 % of repetitions')


def run(settings: bench.Settings) -> str:
    """Repeats the paper's measurement in the simulator; returns a table."""
    small, large = published.TABLE3[:3], published.TABLE3[3:]
    return report.table(HEADER, (
        _row(one, other, settings)
        for one, other in zip(small, large, strict=True)))


def _row(small: published.Row, large: published.Row,
         settings: bench.Settings) -> Sequence[str]:
    curve = points.curve(published.INTERVALS_US, small.size, small.load,
                         small.share)
    errors = np.array([
        _errors(curve, settings.effort.requests, settings.seed_base + number)
        for number in range(REPEATS * settings.effort.seeds)])
    low, high = np.percentile(errors, _RANGE, axis=0)
    return [str(small.load), str(small.share),
            *(f'{row.errors.mean_mape:.2f} / {row.errors.p99_mape:.2f} %'
              for row in (small, large)),
            '{:.2f} / {:.2f} %'.format(*errors.mean(axis=0)),
            ' / '.join(f'{least:.2f} to {most:.2f}' for least, most in zip(
                low, high, strict=True)) + ' %']


def _errors(curve: Sequence[points.Point], requests: int, seed: int
            ) -> list[float]:
    """Returns the MAPE of the exact model, for a run of each point, in %."""
    runs = [_run(point, requests, seed) for point in curve]
    models = [predictions.predict(point, 0.0)['exact'] for point in curve]
    both = ([times.mean() for times in runs],
            [np.quantile(times, measured.PERCENTILE) for times in runs])
    return [float(accuracy.mape(
        np.array(values), np.array([one.value(statistic) for one in models])))
        for statistic, values in zip(measured.STATISTICS, both, strict=True)]


def _run(point: points.Point, requests: int, seed: int) -> samples.Floats:
    """Returns response times in us, of a queue in its steady state."""
    if point.reservation is None:
        raise ValueError(f'{point.name} has no reservation')
    start = point.workload.waiting(seed)
    at, work, *_ = point.workload.schedule(start + requests, seed).T
    return lone.responses_us(
        traffic.Arrivals(at / rt_workload.NS_PER_US,
                         work / rt_workload.NS_PER_US),
        point.reservation.runtime_us, point.reservation.period_us)[start:]
