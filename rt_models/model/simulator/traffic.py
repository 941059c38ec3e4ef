# SPDX-License-Identifier: Apache-2.0

"""Makes requests for a simulation; the same seed gives the same requests."""

import dataclasses

import numpy as np

from rt_models.model import load as rt_load
from rt_models.model import numeric


@dataclasses.dataclass(frozen=True, slots=True)
class Arrivals:
    """The arrivals of requests and their CPU times, in order, in us."""

    arrivals_us: numeric.Floats
    works_us: numeric.Floats


def poisson(load: rt_load.Load, count: int, seed: int) -> Arrivals:
    """Returns requests with Poisson arrivals and exponential CPU times."""
    random = np.random.default_rng(seed)
    return Arrivals(
        np.cumsum(random.exponential(
            rt_load.US_PER_S / load.arrival_rate_hz, count)),
        random.exponential(rt_load.US_PER_S / load.service_rate_hz, count))


def fixed_works(load: rt_load.Load, count: int, seed: int) -> Arrivals:
    """Returns requests with Poisson arrivals, all of the mean CPU time."""
    requests = poisson(load, count, seed)
    return Arrivals(requests.arrivals_us, np.full(
        count, rt_load.US_PER_S / load.service_rate_hz))


def periodic(load: rt_load.Load, count: int) -> Arrivals:
    """Returns a request every 1 / lambda, from 0 on, of the mean CPU time."""
    return Arrivals(
        np.arange(count, dtype=np.float64)
        * (rt_load.US_PER_S / load.arrival_rate_hz),
        np.full(count, rt_load.US_PER_S / load.service_rate_hz))


def busy() -> Arrivals:
    """Returns one request, which arrives at 0 and never ends."""
    return Arrivals(np.zeros(1), np.full(1, np.inf))
