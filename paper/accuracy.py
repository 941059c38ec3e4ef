# SPDX-License-Identifier: Apache-2.0

"""Calculates the errors of models, as in the paper's Table 3."""

from collections.abc import Mapping, Sequence
import dataclasses

import numpy as np

from paper import measured
from paper import samples

#: The number of bootstrap samples, and their seed: the same at each call.
_TIMES, _SEED = 1000, 1

#: The points of one load.
Curve = Sequence[measured.Measured]
#: A choice of runs: the weights of the runs of each point, by its name.
Weights = Mapping[str, samples.Floats]


def rmse(found: samples.Floats, predicted: samples.Floats) -> samples.Floats:
    """Returns the root mean squared error of each column, in their unit."""
    return np.asarray(np.sqrt(np.mean(np.square(found - predicted), axis=0)))


def mape(found: samples.Floats, predicted: samples.Floats) -> samples.Floats:
    """Returns the mean absolute percentage error of each column.

    :returns: per cent of the measured value
    """
    return np.asarray(100 * np.mean(np.abs(found - predicted) / found,
                                    axis=0))


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """The measured values with which models are compared.

    :param controlled: whether to remove the chance of the requests, see
        Measured.controlled
    """

    curves: Sequence[Curve]
    controlled: bool = False

    def errors(self, model: str, statistic: str,
               weights: Weights | None = None) -> samples.Floats:
        """Returns MAPE in per cent, a line for each curve.

        :returns: a column for each line of the weights
        """
        return np.array([
            mape(*self._values(curve, model, statistic, weights or {}))
            for curve in self.curves])

    def rmse(self, model: str, statistic: str) -> samples.Floats:
        """Returns the RMSE of each curve in us."""
        return np.array([
            rmse(*self._values(curve, model, statistic, {}))[0]
            for curve in self.curves])

    def interval(self, statistic: str) -> float:
        """Returns the average half width of 95 % intervals, in per cent."""
        estimates = [one.estimate(statistic, self.controlled)
                     for curve in self.curves for one in curve]
        return float(np.mean([100 * one.half / one.value
                              for one in estimates]))

    def _values(self, curve: Curve, model: str, statistic: str,
                weights: Weights) -> tuple[samples.Floats, samples.Floats]:
        values = np.array([
            (one.controlled if self.controlled else one.value)(
                statistic, weights.get(one.point.name)) for one in curve])
        predicted = [[one.predicted[model].value(statistic)]
                     for one in curve]
        return values, np.array(predicted)

    def ratio(self, statistic: str, weights: Weights | None = None
              ) -> samples.Floats:
        """Returns the mean error of the exact model over the paper's."""
        exact, paper = (self.errors(model, statistic, weights).mean(axis=0)
                        for model in ('exact', 'paper'))
        return np.asarray(exact / paper)

    def estimate(self, statistic: str) -> samples.Estimate:
        """Returns the ratio with a 95 % interval by bootstrap of the runs.

        The interval comes from the standard deviation of the samples, not
        from their percentiles.  Errors are never negative, and bootstrap
        samples scatter more than the runs, so the ratios of samples lie nearer
        to 1.
        """
        ratios = self.ratio(statistic, self._resampled())
        return samples.Estimate(float(self.ratio(statistic)[0]),
                                samples.NORMAL95 * float(ratios.std()))

    def _resampled(self) -> Weights:
        source = np.random.default_rng(_SEED)
        return {one.point.name: one.resampled(source, _TIMES)
                for curve in self.curves for one in curve}


def within(curve: Curve, intervals_us: Sequence[float]) -> Curve:
    """Returns the points of a curve that have one of these intervals."""
    return [one for one in curve if one.point.interval_us in intervals_us]
