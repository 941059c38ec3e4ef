# SPDX-License-Identifier: Apache-2.0

"""How far models are from what was measured, as in the paper's Table 3."""

from collections.abc import Mapping, Sequence
import dataclasses

import numpy as np

from paper import measured
from paper import samples

#: Bootstrap samples, and where they begin: the same at each call.
_TIMES, _SEED = 1000, 1

#: Points of one load.
Curve = Sequence[measured.Measured]
#: Some of the runs: weights of those of each point, by its name.
Weights = Mapping[str, samples.Floats]


def rmse(found: samples.Floats, predicted: samples.Floats) -> samples.Floats:
    """Root mean squared error of each column, in their unit."""
    return np.asarray(np.sqrt(np.mean(np.square(found - predicted), axis=0)))


def mape(found: samples.Floats, predicted: samples.Floats) -> samples.Floats:
    """Mean absolute percentage error of each column.

    :returns: per cent of what was found
    """
    return np.asarray(100 * np.mean(np.abs(found - predicted) / found,
                                    axis=0))


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """What models are held against.

    :param controlled: less the chance of the requests, as
        Measured.controlled
    """

    curves: Sequence[Curve]
    controlled: bool = False

    def errors(self, model: str, statistic: str,
               weights: Weights | None = None) -> samples.Floats:
        """MAPE in per cent, a line for each curve.

        :returns: with a column for each line of the weights
        """
        return np.array([
            mape(*self._values(curve, model, statistic, weights or {}))
            for curve in self.curves])

    def rmse(self, model: str, statistic: str) -> samples.Floats:
        """RMSE in us of each curve."""
        return np.array([
            rmse(*self._values(curve, model, statistic, {}))[0]
            for curve in self.curves])

    def interval(self, statistic: str) -> float:
        """Half a 95 % interval of a point, on average, in per cent."""
        estimates = [one.estimate(statistic, self.controlled)
                     for curve in self.curves for one in curve]
        return float(np.mean([100 * one.half / one.value
                              for one in estimates]))

    def _values(self, curve: Curve, model: str, statistic: str,
                weights: Weights) -> tuple[samples.Floats, samples.Floats]:
        found = np.array([
            (one.controlled if self.controlled else one.value)(
                statistic, weights.get(one.point.name)) for one in curve])
        said = [[one.said[model].value(statistic)] for one in curve]
        return found, np.array(said)

    def ratio(self, statistic: str, weights: Weights | None = None
              ) -> samples.Floats:
        """The exact model's errors over the paper's, both on average."""
        exact, paper = (self.errors(model, statistic, weights).mean(axis=0)
                        for model in ('exact', 'paper'))
        return np.asarray(exact / paper)

    def estimate(self, statistic: str) -> samples.Estimate:
        """The ratio, with a 95 % interval by the bootstrap of the runs.

        From the standard deviation of the samples, not from their
        percentiles: an error is a distance, samples of the runs scatter
        more than the runs, and so their ratios lie nearer to 1.
        """
        ratios = self.ratio(statistic, self._resampled())
        return samples.Estimate(float(self.ratio(statistic)[0]),
                                samples.NORMAL95 * float(ratios.std()))

    def _resampled(self) -> Weights:
        source = np.random.default_rng(_SEED)
        return {one.point.name: one.resampled(source, _TIMES)
                for curve in self.curves for one in curve}


def within(curve: Curve, intervals_us: Sequence[float]) -> Curve:
    """Those of its points that have one of these intervals."""
    return [one for one in curve if one.point.interval_us in intervals_us]
