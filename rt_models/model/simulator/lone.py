# SPDX-License-Identifier: Apache-2.0

"""Simulates a CBS server that has a CPU to itself, request by request.

The simulation is fast: nothing can delay the budget, so the end of each
request follows from the end of the request before.
"""

import math

import numpy as np

from rt_models.model import numeric
from rt_models.model.simulator import traffic


def responses_us(requests: traffic.Arrivals, runtime_us: float,
                 period_us: float) -> numeric.Floats:
    """Returns the response time of each request, in order.

    The rules are the rules of SCHED_DEADLINE: a wake-up keeps budget and
    deadline while budget / (deadline - now) <= Q / P, and a server without
    budget waits for its deadline.
    """
    if runtime_us == period_us:
        return _whole_cpu(requests)
    ends = []
    share = runtime_us / period_us
    end = budget = deadline = 0.0
    for arrival, work in zip(requests.arrivals_us.tolist(),
                             requests.works_us.tolist(), strict=True):
        if end <= arrival:
            end = arrival
            if end >= deadline or budget > (deadline - end) * share:
                budget, deadline = runtime_us, end + period_us
        if work <= budget:
            end += work
            budget -= work
        else:
            work -= budget
            periods = math.ceil(work / runtime_us) - 1
            work -= periods * runtime_us
            end = deadline + periods * period_us + work
            deadline += (periods + 1) * period_us
            budget = runtime_us - work
        ends.append(end)
    return np.asarray(np.array(ends) - requests.arrivals_us)


def _whole_cpu(requests: traffic.Arrivals) -> numeric.Floats:
    """Computes end = max(arrival, previous end) + work without a loop."""
    done = np.cumsum(requests.works_us)
    idle = np.maximum.accumulate(
        requests.arrivals_us - done + requests.works_us)
    return np.asarray(done + idle - requests.arrivals_us)
