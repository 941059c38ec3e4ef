# SPDX-License-Identifier: Apache-2.0

"""Requests to simulate.  The same seed gives the same ones."""

import dataclasses

import numpy as np

from rt_models.model import load as rt_load
from rt_models.model import numeric


@dataclasses.dataclass(frozen=True, slots=True)
class Requests:
    """When each arrives and the CPU time it takes, in us, in order."""

    arrivals_us: numeric.Floats
    works_us: numeric.Floats


def poisson(load: rt_load.Load, count: int, seed: int) -> Requests:
    """Poisson arrivals, exponential CPU times."""
    random = np.random.default_rng(seed)
    return Requests(
        np.cumsum(random.exponential(
            rt_load.US_PER_S / load.arrival_rate_hz, count)),
        random.exponential(rt_load.US_PER_S / load.service_rate_hz, count))


def fixed_works(load: rt_load.Load, count: int, seed: int) -> Requests:
    """Poisson arrivals, each of the mean CPU time."""
    requests = poisson(load, count, seed)
    return Requests(requests.arrivals_us, np.full(
        count, rt_load.US_PER_S / load.service_rate_hz))


def periodic(load: rt_load.Load, count: int) -> Requests:
    """One request every 1 / lambda from 0 on, each of the mean CPU time."""
    return Requests(
        np.arange(count, dtype=np.float64)
        * (rt_load.US_PER_S / load.arrival_rate_hz),
        np.full(count, rt_load.US_PER_S / load.service_rate_hz))


def busy() -> Requests:
    """One request at 0 that never ends."""
    return Requests(np.zeros(1), np.full(1, np.inf))
