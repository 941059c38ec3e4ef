# SPDX-License-Identifier: Apache-2.0

"""Tests advice for random servers with the simulator.

usage: .venv/bin/python -m benchmarks.advice [servers] [seed]

The simulator runs each server for 10,000 requests.  The advice is made from
the values that the monitor would have measured.  Of 20 servers, 19 must meet
their targets with the advised runtime, which may be 10 % above the smallest
runtime that meets the target with the same period.  Exits with 1 if a
requirement is missed.
"""

from collections.abc import Iterator
import math
import random
import sys

import numpy as np

from benchmarks import estimate
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import exact
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import planner
from rt_models.model.simulator import lone
from rt_models.model.simulator import traffic
from rt_monitor import histogram
from rt_operate import advice

SERVERS, MET, ABOVE = 20, 0.95, 1.10
REQUESTS, PARTS, PERCENTILE = 10_000, 30, 0.99
#: The range of the search, as parts of the equation's runtime.
_AROUND, _STEPS = 0.05, 6
_PLAN = estimate.Plan(requests=40_000)


def questions(count: int, seed: int
              ) -> Iterator[tuple[rt_load.Load, rt_load.Target]]:
    """Yields random loads with targets that can be met."""
    draw = random.Random(seed)  # noqa: S311
    while count:
        length_us = 10 ** draw.uniform(2, 4)
        load = rt_load.Load(
            draw.uniform(0.05, 0.6) * rt_load.US_PER_S / length_us,
            rt_load.US_PER_S / length_us)
        target = rt_load.Target(length_us * draw.uniform(8, 60), PERCENTILE)
        try:
            wanted = planner.plan(planner.Question(load, target,
                                                   max_share=0.8))
        except exception.NoAnswer:
            continue
        if wanted.share < 1:
            count -= 1
            yield load, target


def measured_load(load: rt_load.Load, seed: int) -> advice.MeasuredLoad:
    """Returns what the monitor sees of a server with a whole CPU."""
    requests = traffic.poisson(load, REQUESTS, seed)
    span_us = float(requests.arrivals_us[-1])
    counts = np.histogram(requests.arrivals_us, PARTS, (0, span_us))[0]
    cpu_us = np.histogram(requests.arrivals_us, PARTS, (0, span_us),
                          weights=requests.works_us)[0]
    took = [0] * histogram.BUCKETS
    for response_us in lone.responses_us(requests, 1.0, 1.0):
        took[histogram.bucket_of(int(response_us * 1000))] += 1
    return advice.MeasuredLoad(
        counts.tolist(), span_us / rt_load.US_PER_S,
        (cpu_us / rt_load.US_PER_S).tolist(), 1,
        histogram.Histogram.from_counts(took, 0), None, 0)


def reached_us(load: rt_load.Load, runtime_us: int, period_us: int) -> float:
    """Returns the simulated percentile; infinite if there is overload."""
    try:
        return estimate.estimate(
            load, rt_reservation.Reservation(runtime_us, period_us),
            (PERCENTILE,), _PLAN)[1].value_us
    except exception.InvalidLoad:
        return math.inf


def smallest_us(load: rt_load.Load, target: rt_load.Target, period_us: int
                ) -> int:
    """Returns the smallest runtime that meets the target in the simulator."""
    near = exact.smallest_runtime_us(load, target, period_us)
    low, high = int(near * (1 - _AROUND)), math.ceil(near * (1 + _AROUND))
    for _ in range(_STEPS):
        middle = (low + high) // 2
        if reached_us(load, middle, period_us) <= target.time_us:
            high = middle
        else:
            low = middle
    return high


def main() -> int:
    """Tests all servers and returns the exit status."""
    count, seed = [*map(int, sys.argv[1:]), *(SERVERS, 1)[
        len(sys.argv) - 1:]]
    met = near = 0
    for number, (load, target) in enumerate(questions(count, seed)):
        advised = advice.advise(measured_load(load, 1_000 * seed + number),
                                target, rt_kernel.CBS)
        period_us = advised.wanted.period_us
        reached = reached_us(load, advised.wanted.runtime_us, period_us)
        above = (advised.wanted.runtime_us
                 / smallest_us(load, target, period_us))
        met += reached <= target.time_us
        near += above <= ABOVE
        print(f'{load.arrival_rate_hz:8.1f}/s of '
              f'{rt_load.US_PER_S / load.service_rate_hz:7.0f} us: p99 within '
              f'{target.time_us / 1000:7.2f} ms by {advised.wanted}: '
              f'{reached / 1000:7.2f} ms, {above - 1:+.1%} above the '
              f'smallest', flush=True)
    print(f'{met} of {count} meet their target, {near} are within '
          f'{ABOVE - 1:.0%} of the smallest')
    return 0 if met >= MET * count and near >= MET * count else 1


if __name__ == '__main__':
    sys.exit(main())
