# SPDX-License-Identifier: Apache-2.0

"""The numerical tools of the exact model: sums, integrals, roots."""

from collections.abc import Callable
import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
#: Length of the panels at both ends; those between double.
_PANEL = 4.0
_ITERATIONS = 100


def poisson(means: Floats, count: int) -> Floats:
    """Probabilities of 0 to count - 1 events, a row for each mean."""
    events = np.arange(count)
    factorials = np.concatenate(
        ([0.0], np.cumsum(np.log(np.arange(1, max(count, 1))))))
    logs = np.log(np.maximum(means, np.finfo(float).tiny))
    pmf: Floats = np.exp(
        logs[:, None] * events - factorials - means[:, None])
    return pmf


def erlang(works: Floats, count: int) -> Floats:
    """Pr[sum of k exponential times of mean 1 <= work], k = 1 to count.

    A row for each work.
    """
    cdf: Floats = 1.0 - np.cumsum(poisson(works, count), axis=1)
    return cdf


def quadrature(*edges: float) -> tuple[Floats, Floats]:
    """Nodes and weights of an integral over [first edge, last edge].

    Gauss-Legendre on panels that are short at each edge, where the
    integrand may change fast, and grow between.
    """
    bounds = np.concatenate([_graded(low, high)
                             for low, high in zip(edges, edges[1:],
                                                  strict=False)])
    low, high = bounds[:, 0, None], bounds[:, 1, None]
    half = (high - low) / 2
    return ((low + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel())


def _graded(low: float, high: float) -> Floats:
    """Panels of an interval, (start, end) each."""
    offsets, length = [0.0], _PANEL
    while offsets[-1] + length < (high - low) / 2:
        offsets.append(offsets[-1] + length)
        length *= 2
    near = np.array(offsets)
    edges = np.concatenate((low + near, [(low + high) / 2],
                            (high - near)[::-1]))
    return np.column_stack((edges[:-1], edges[1:]))


def root(function: Callable[[float], float], low: float, high: float,
         tolerance: float) -> float:
    """Where an increasing function crosses 0 (the Illinois method).

    :param tolerance: of the root
    :returns: low or high where the function has one sign in between
    """
    at_low, at_high = function(low), function(high)
    if at_low >= 0:
        return low
    if at_high <= 0:
        return high
    for _ in range(_ITERATIONS):
        guess = (low * at_high - high * at_low) / (at_high - at_low)
        # Half the tolerance beyond, so that soon both ends have moved.
        guess = min(max(guess, low + tolerance / 2), high - tolerance / 2)
        value = function(guess)
        if value < 0:
            low, at_low, at_high = guess, value, at_high / 2
        else:
            high, at_high, at_low = guess, value, at_low / 2
        if high - low <= tolerance:
            break
    return high


def tail(survival: float) -> float:
    """-log of a survival function, nearly a line; finite also at 0."""
    return -math.log(max(survival, 1e-15))
