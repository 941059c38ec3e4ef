# SPDX-License-Identifier: Apache-2.0

"""Numerical tools of the exact model: probabilities and integrals."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
#: The length of the panels at both ends; towards the middle it doubles.
_PANEL = 4.0


def poisson(means: Floats, count: int) -> Floats:
    """Returns the Poisson probabilities of 0 to count - 1 events."""
    events = np.arange(count)
    factorials = np.concatenate(
        ([0.0], np.cumsum(np.log(np.arange(1, max(count, 1))))))
    logs = np.log(np.maximum(means, np.finfo(float).tiny))
    pmf: Floats = np.exp(
        logs[:, None] * events - factorials - means[:, None])
    return pmf


def erlang(works: Floats, count: int) -> Floats:
    """Returns Pr[sum of k exponential times of mean 1 <= work].

    :returns: a row for each work, with k = 1 to count
    """
    cdf: Floats = 1.0 - np.cumsum(poisson(works, count), axis=1)
    return cdf


def quadrature(*edges: float) -> tuple[Floats, Floats]:
    """Returns nodes and weights for an integral from first to last edge.

    The rule is Gauss-Legendre on panels. The panels are short near each edge,
    where the integrand may change fast, and longer between the edges.
    """
    bounds = np.concatenate([_graded(low, high)
                             for low, high in zip(edges, edges[1:],
                                                  strict=False)])
    low, high = bounds[:, 0, None], bounds[:, 1, None]
    half = (high - low) / 2
    return ((low + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel())


def _graded(low: float, high: float) -> Floats:
    """Returns the panels of an interval, each as a row (start, end)."""
    offsets, length = [0.0], _PANEL
    while offsets[-1] + length < (high - low) / 2:
        offsets.append(offsets[-1] + length)
        length *= 2
    near = np.array(offsets)
    edges = np.concatenate((low + near, [(low + high) / 2],
                            (high - near)[::-1]))
    return np.column_stack((edges[:-1], edges[1:]))
