# SPDX-License-Identifier: Apache-2.0

"""Combines the runs of a point: mean and 99th percentile."""

from collections.abc import Sequence
import dataclasses
import functools

import numpy as np

from paper import points
from paper import predictions
from paper import records
from paper import samples

PERCENTILE = 0.99
STATISTICS = ('mean', 'p99')
#: The number of times at which the distributions of runs are added up.
#: Neighbouring times are 0.2 % apart if the longest time is a thousand times
#: the shortest.
_TIMES = 4000


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """The disturbance that a run may have and still count.

    The limits do not depend on response times, so the rules cannot choose runs
    by their results.

    :param steal: a part of all CPU time.  If the hypervisor gave 0.5 % of a
        run to others, this machine stood still for this time, and a loaded
        queue needs many times this time to recover.
    :param late_us: a limit for the 99th percentile of how late the client
        sends, a quarter of the paper's period, multiplied by the scale of the
        point.  A client above the limit measures its own delay
    :param latest_us: a limit for the latest request of the client.  A client
        above the limit stood still in spite of its reservation, most likely
        together with the whole machine; the hypervisor's accounting does not
        show all these times
    """

    steal: float = 0.005
    late_us: float = 500
    latest_us: float = 5000

    def allow(self, run: records.Record) -> bool:
        """Returns whether a run counts."""
        return self.within(run.steal, run.late_p99_us / points.scale_of(
            run.point), run.latest_us)

    def within(self, steal: float, late_us: float, latest_us: float) -> bool:
        """Returns whether a run keeps all limits."""
        return (steal <= self.steal and late_us <= self.late_us
                and latest_us <= self.latest_us)


LIMITS = Limits()


class Pooled:
    """The response times of several runs, combined with any weights."""

    def __init__(self, runs: Sequence[records.Summary],
                 requests: Sequence[int]) -> None:
        self._means = np.array([one.mean_us for one in runs])
        shortest = min(one.quantiles_us[0] for one in runs)
        longest = max(one.quantiles_us[-1] for one in runs)
        self._times = np.geomspace(max(shortest, 1e-3), max(longest, 1e-3),
                                   _TIMES)
        self._survivals = np.array([
            one.survival(self._times, count)
            for one, count in zip(runs, requests, strict=True)])

    def value(self, statistic: str, weights: samples.Floats
              ) -> samples.Floats:
        """Returns a statistic in us for each line of weights.

        :param statistic: one of STATISTICS
        :param weights: a weight for each run; a line adds up to 1
        """
        if statistic == 'mean':
            return np.asarray(weights @ self._means)
        longer = weights @ self._survivals
        return np.asarray(
            self._times[np.argmax(longer <= 1 - PERCENTILE, axis=1)])


class Measured:
    """All runs of a point.

    :param runs: one run or more, including disturbed ones
    """

    def __init__(self, point: points.Point, runs: Sequence[records.Record],
                 limits: Limits = LIMITS) -> None:
        self.point = point
        self.runs = runs
        #: The runs that were not disturbed, or all if there is none.
        self.counted = [run for run in runs if limits.allow(run)] or runs

    @functools.cached_property
    def weights(self) -> samples.Floats:
        """Returns a line of weights: the part of all requests in each run."""
        counts = np.array([[run.requests for run in self.counted]], float)
        return np.asarray(counts / counts.sum())

    def resampled(self, source: np.random.Generator, times: int
                  ) -> samples.Floats:
        """Returns lines like *weights*, one for each bootstrap sample."""
        count = len(self.counted)
        counts = self.weights * source.multinomial(
            count, [1 / count] * count, times)
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    @functools.cached_property
    def _pooled(self) -> tuple[Pooled, Pooled | None]:
        requests = [run.requests for run in self.counted]
        replayed = [run.replayed for run in self.counted if run.replayed]
        return (Pooled([run.measured for run in self.counted], requests),
                Pooled(replayed, requests)
                if len(replayed) == len(requests) else None)

    @functools.cached_property
    def delay_us(self) -> float:
        """Returns 2 delta as measured with these runs."""
        return float(np.mean([run.delay_us for run in self.counted]))

    @functools.cached_property
    def predicted(self) -> dict[str, predictions.Prediction]:
        """Returns the predictions of the paper's model and the exact one."""
        return predictions.predict(self.point, self.delay_us)

    def value(self, statistic: str, weights: samples.Floats | None = None
              ) -> samples.Floats:
        """Returns the measured value in us."""
        return self._pooled[0].value(
            statistic, self.weights if weights is None else weights)

    def replayed(self, statistic: str, weights: samples.Floats | None = None
                 ) -> samples.Floats:
        """Returns the value of the simulator for the same requests, in us."""
        replay = self._pooled[1]
        if replay is None:
            raise ValueError(f'{self.point.name} was not simulated')
        return replay.value(
            statistic, self.weights if weights is None else weights)

    def controlled(self, statistic: str,
                   weights: samples.Floats | None = None) -> samples.Floats:
        """Returns the measured value in us, less the effect of chance.

        The simulator serves exactly the requests that were sent, and the exact
        model assumes average requests.  So the difference of the two is due
        only to chance in the requests (a control variate), and not to the
        machine.
        """
        return np.asarray(
            self.value(statistic, weights)
            - self.replayed(statistic, weights)
            + self.predicted['exact'].value(statistic))

    def estimate(self, statistic: str, controlled: bool = False
                 ) -> samples.Estimate:
        """Returns the value with a 95 % interval from differences of runs."""
        each = np.eye(len(self.counted))
        value = self.controlled if controlled else self.value
        return samples.Estimate(
            float(value(statistic)[0]),
            samples.estimate(value(statistic, each).tolist()).half)
