# SPDX-License-Identifier: Apache-2.0

"""The exact distribution of the response times at a CBS server.

The kernel follows this rule.  A server that wakes up keeps its budget q and
its deadline d if q / (d - now) <= Q / P; otherwise it starts again with budget
Q and deadline now + P.  A server that has used its budget waits until d and
gets budget Q and deadline d + P.  At the time d - q P / Q, the *fluid queue*
(``fluid``) would have done the work that the server has done.  This has the
following consequences:

* A server starts again exactly where the fluid queue is empty.  From this
  moment on, the deadlines of the server cut the busy period of the fluid queue
  into windows of length P.
* In a window, the server does at most the work Q, as early as possible.  At
  the end of a window it has done the same work as the fluid queue.

If the server finishes a request in the window of its arrival, the request
takes as long as the work before it and its own work (``window``).  The end of
any other request follows from the work at the beginning of its last window,
which is the same as in the fluid queue.  The CPU times of the requests before
it are exponential, so the module uses Poisson and Erlang probabilities.

The model assumes that nothing delays the budget in its window: the CPU has no
other reservation with an earlier deadline.
"""

from collections.abc import Sequence
import functools
import math

import numpy as np

from rt_models.model import fluid as rt_fluid
from rt_models.model import load as rt_load
from rt_models.model import numeric
from rt_models.model import roots
from rt_models.model import window as rt_window

_RELATIVE = 1e-6


class ResponseTime:
    """The distribution of the response time at a CBS server alone on a CPU.

    :param runtime_us: Q, less the cost of replenishing
    :param period_us: P
    """

    def __init__(self, load: rt_load.Load, runtime_us: float,
                 period_us: float) -> None:
        self._rate = load.service_rate_hz / rt_load.US_PER_S
        self._budget = self._rate * runtime_us
        self._period = self._rate * period_us
        self._share = runtime_us / period_us
        self._arrivals = load.arrival_rate_hz / load.service_rate_hz
        self._utilisation = self._arrivals / self._share
        self._fluid = rt_fluid.FluidQueue(self._utilisation, self._budget)
        self._window = rt_window.Window(self._fluid, self._arrivals,
                                        self._budget)

    def survival(self, time_us: float) -> float:
        """Returns Pr[R > time]."""
        if time_us <= 0:
            return 1.0
        time = self._rate * time_us
        done = (self._first_within(time) + self._same_window(time)
                + self._later_window(time))
        return max(0.0, 1.0 - (1.0 - self._utilisation) * done)

    def percentile_us(self, percentile: float) -> float:
        """Returns the time within which this share of all requests ends.

        The time is between the time on a whole CPU and the time in the fluid
        queue.  The fluid queue is never ahead of the server, and at most (1 -
        Q/P) P behind.
        """
        factor = -math.log1p(-percentile) / self._rate
        high = factor / (self._share - self._arrivals)
        low = max(factor / (1 - self._arrivals),
                  high - (1 - self._share) * self._period / self._rate)
        wanted = roots.tail(1 - percentile)
        return roots.root(
            lambda time: roots.tail(self.survival(time)) - wanted,
            low, high, _RELATIVE * high)

    @functools.cached_property
    def mean_us(self) -> float:
        """E[R]."""
        total = self._mean_of_first() + self._mean_same_window()
        total += self._mean_later_window()
        return (1.0 - self._utilisation) * total / self._rate

    # The values below are in units of the mean CPU time of a request, and are
    # summed over the requests of a busy period, whose mean number is
    # 1 / (1 - utilisation).

    def _first_within(self, time: float) -> float:
        """Counts the first arrival of the window, if it is served in time."""
        work = self._supply(np.array([time]))
        return float(numeric.erlang(work, 1)[0, 0])

    def _same_window(self, time: float) -> float:
        """Counts the arrivals that are served in time and in their window."""
        reach, total = min(time, self._budget), 0.0
        if reach < self._budget:
            used, weights = numeric.quadrature(0.0, self._budget - reach)
            requests = weights @ self._window.requests(used)
            total += float(requests @ numeric.erlang(
                np.array([reach]), self._window.size)[0])
        used, weights = numeric.quadrature(self._budget - reach,
                                           self._budget)
        served = numeric.erlang(self._budget - used, self._window.size)
        total += float(weights @ np.sum(
            self._window.requests(used) * served, axis=1))
        return self._arrivals * total

    def _later_window(self, time: float) -> float:
        """Counts the arrivals served in time, but after their window."""
        edges = self._edges(time)
        if len(edges) < 2:
            return 0.0
        progress, weights = numeric.quadrature(*edges)
        left = self._budget - progress
        beyond = time - left / self._share
        after = left + self._supply(np.maximum(beyond, 0.0))
        count = self._fluid.size + 1
        served = (numeric.erlang(after, count)
                  - numeric.erlang(left, count))[:, 1:]
        windows = self._fluid.windows(progress)
        return self._utilisation * float(
            weights @ np.sum(windows * served, axis=1))

    def _edges(self, time: float) -> Sequence[float]:
        """Returns the progress of the fluid queue where the supply has a kink.

        Between two kinks the supply is smooth.  Only arrivals whose window
        ends within *time* count.
        """
        start = max(0.0, self._period - time)
        kinks = [start, self._period]
        passed = math.floor((time - self._period) / self._period)
        for period in (passed, passed + 1):
            for offset in (0.0, self._budget):
                kink = (period + 1) * self._period + offset - time
                if start < kink < self._period:
                    kinks.append(kink)
        return [self._share * kink for kink in sorted(set(kinks))]

    def _supply(self, times: numeric.Floats) -> numeric.Floats:
        """Returns the work done in these times after a window's start."""
        periods = np.floor(times / self._period)
        return np.asarray(periods * self._budget + np.minimum(
            times - periods * self._period, self._budget))

    def _mean_of_first(self) -> float:
        served = float(numeric.erlang(np.array([self._budget]), 2)[0, 1])
        return served + math.exp(-self._budget) * (
            self._period + float(self._clearing[1]))

    def _mean_same_window(self) -> float:
        used, weights = numeric.quadrature(0.0, self._budget)
        # For the work W(n) of n requests,
        # E[W(n); W(n) <= w] = n Pr[W(n + 1) <= w].
        served = numeric.erlang(self._budget - used, self._window.size + 1)
        times = np.arange(1, self._window.size + 1) * served[:, 1:]
        return self._arrivals * float(weights @ np.sum(
            self._window.requests(used) * times, axis=1))

    def _mean_later_window(self) -> float:
        progress, weights = numeric.quadrature(0.0, self._budget)
        left = self._budget - progress
        windows = self._fluid.windows(progress)
        size = self._fluid.size
        leave = numeric.poisson(left, size + 1)
        total = np.zeros(len(progress))
        for left_before in range(size + 1):
            first = max(left_before, 1)
            waiting = windows[:, first - 1:]
            times = self._clearing[first + 1 - left_before:
                                   size + 2 - left_before]
            total += leave[:, left_before] * (
                waiting @ times + left / self._share * waiting.sum(axis=1))
        return self._utilisation * float(weights @ total)

    @functools.cached_property
    def _clearing(self) -> numeric.Floats:
        """The mean time to serve 0, 1, ... requests from a window's start."""
        size = self._fluid.size + 1
        budget = np.array([self._budget])
        leave = numeric.poisson(budget, size + 1)[0]
        served = numeric.erlang(budget, size + 1)[0]
        times = np.zeros(size + 1)
        for count in range(1, size + 1):
            times[count] = (
                count * served[count] + self._period * leave[:count].sum()
                + leave[1:count] @ times[count - 1:0:-1]
            ) / -math.expm1(-self._budget)
        return times
