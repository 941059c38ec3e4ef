# SPDX-License-Identifier: Apache-2.0

"""Tests the bound for the variation of CPU times on simulated servers.

usage: .venv/bin/python -m benchmarks.variation [measurements] [seed]

The CPU times of requests have a gamma distribution with a given squared
coefficient of variation (0: all are equal).  Requests arrive at random times,
ask for a fifth of a CPU, and wait for each other; the server has a share of
the CPU.  The speed of the CPU changes slowly and at random, with a standard
deviation of a tenth.  Counts and CPU times are read up to 2 ms late.  A
measurement has the length and the parts of ``nova-rt advise``.  The bound may
be below the true variation in at most a tenth of the measurements of a server.
Exits with 1 if a requirement is missed.
"""

import sys

import numpy as np

from rt_models.model import numeric
from rt_models.model import variation
from rt_operate.commands import advise

MEASUREMENTS, MISSED = 300, 0.10
TRUE = (0.0, 0.1, 0.5, 1.0, 2.5, 6.0)
#: Requests a second, and the share of the server.
SERVERS = ((10.0, 0.6), (30.0, 0.6), (100.0, 0.6), (500.0, 0.6), (100.0, 0.3))
_SPAN_S, _ASKED, _LATE_S = 30.0, 0.2, 0.002
_PARTS = round(_SPAN_S / advise.PART_S)
#: The part of the requests whose response time limits the frequencies.
_NEARLY_ALL = 0.99
#: How far the speed changes, and the time after which it is another one.
_SPEED, _SPEED_S = 0.1, 1.0


def _speeds(rng: np.random.Generator, begins: numeric.Floats
            ) -> numeric.Floats:
    """Returns the speed at each time, interpolated between random speeds."""
    points = np.arange(0, _SPAN_S + 2 * _SPEED_S, _SPEED_S)
    return np.interp(begins, points,
                     1 + _SPEED * rng.standard_normal(len(points)))


def measurement(rng: np.random.Generator, true: float, rate_hz: float,
                share: float) -> tuple[list[int], list[float], float]:
    """Returns counts and CPU times of parts, and a response time in s."""
    count = rng.poisson(rate_hz * _SPAN_S)
    arrivals = np.sort(rng.uniform(0, _SPAN_S, count))
    works = (rng.gamma(1 / true, true, count) if true else np.ones(count)
             ) * _speeds(rng, arrivals) * _ASKED / rate_hz
    done = np.cumsum(works) / share
    ends = done + np.maximum.accumulate(
        arrivals - np.concatenate(([0.0], done[:-1])))
    edges = np.linspace(0, _SPAN_S, _PARTS + 1)
    counts = np.searchsorted(ends, edges)
    # The server works for request n until ends[n], and before it was idle.
    times = np.stack([ends - works / share, ends], axis=1).ravel()
    used = np.stack([np.cumsum(works) - works, np.cumsum(works)], axis=1)
    cpu = np.interp(edges + rng.uniform(0, _LATE_S, len(edges)), times,
                    used.ravel())
    return (np.diff(counts).tolist(), np.diff(cpu).tolist(),
            float(np.quantile(ends - arrivals, _NEARLY_ALL)))


def main() -> int:
    """Tests all servers and returns the exit status."""
    count, seed = [*map(int, sys.argv[1:]), *(MEASUREMENTS, 1)[
        len(sys.argv) - 1:]]
    rng, bad = np.random.default_rng(seed), 0
    for true in TRUE:
        for rate_hz, share in SERVERS:
            found = [variation.upper_bound(counts, cpu, _SPAN_S, response_s)
                     for counts, cpu, response_s in (
                         measurement(rng, true, rate_hz, share)
                         for _ in range(count))]
            bounds = [each for each in found if each is not None]
            below = sum(each < true for each in bounds) / count
            bad += below > MISSED
            print(f'variation {true}, {rate_hz:g} requests a second, share '
                  f'{share}: bound {np.median(bounds or [np.nan]):.2f} '
                  f'(median), below in {below:.1%}, not measured in '
                  f'{1 - len(bounds) / count:.1%}', flush=True)
    print(f'{bad} of {len(TRUE) * len(SERVERS)} servers are below in more '
          f'than {MISSED:.0%}')
    return int(bad > 0)


if __name__ == '__main__':
    sys.exit(main())
