# SPDX-License-Identifier: Apache-2.0

"""Computes the queue of a server while it uses the budget of a window."""

import dataclasses
import math

import numpy as np

from rt_models.model import fluid as rt_fluid
from rt_models.model import numeric

#: The number of steps of one length.  Then the length doubles, because the
#: queue changes more and more slowly.
_STEPS = 64
_FIRST_STEP = 0.125
#: The number of points of the interpolation between steps.
_POINTS = 4
#: The number of terms of the series for a first step.
_TERMS = 12
#: The polynomial through the values at _FIT_AT (parts of a step) has the
#: coefficients values @ _FIT.
_DEGREE = 5
_FIT_AT = (1 - np.cos(np.pi * np.arange(_DEGREE + 1) / _DEGREE)) / 2
_FIT = np.linalg.inv(np.vander(_FIT_AT, increasing=True)).T
_BINOMIALS = np.array([[math.comb(row, column)
                        for column in range(_DEGREE + 1)]
                       for row in range(_DEGREE + 1)])
_HALVES = 0.5 ** np.arange(_DEGREE + 1)


class Window:
    """The requests in the system by used budget, summed over a busy period.

    The requests form a birth-death chain that runs at the full speed of the
    CPU.  While the chain is empty, time passes but no budget is used: the
    chain continues with one request, unless the fluid queue empties first,
    which ends the window.  The fluid queue empties at a known rate k, so the
    equation of the chain is linear: p' = p G - k e_1.

    The unit of work is the mean CPU time of a request.

    :param arrivals: lambda / mu, the arrivals per unit of CPU time
    :param budget: mu Q
    """

    def __init__(self, fluid: rt_fluid.FluidQueue, arrivals: float,
                 budget: float) -> None:
        self._fluid, self._arrivals = fluid, arrivals
        # No more requests than this are ever served in one window.
        size = min(fluid.size, math.ceil(budget + 8 * math.sqrt(budget)) + 20)
        self._used, requests = self._solve(size, budget)
        emptied = requests[:, 0] - fluid.windows(self._used)[:, 0]
        self._requests = np.column_stack((emptied / arrivals, requests))
        #: The number of columns of ``requests``.
        self.size = size + 1

    def requests(self, used: numeric.Floats) -> numeric.Floats:
        """Returns the expected number of windows with 0, 1, ... requests.

        The column for 0 requests is scaled to the arrivals that find the queue
        empty, so that the arrival rate times any column is a rate of
        arrivals.

        :param used: values of the used budget
        :returns: a row for each of *used*, by cubic interpolation
        """
        first = np.clip(np.searchsorted(self._used, used) - _POINTS // 2,
                        0, len(self._used) - _POINTS)
        points = first[:, None] + np.arange(_POINTS)
        at = self._used[points]
        weights = np.ones(at.shape)
        for one in range(_POINTS):
            for other in range(_POINTS):
                if one != other:
                    weights[:, one] *= ((used - at[:, other])
                                        / (at[:, one] - at[:, other]))
        return np.asarray(
            (weights[:, None, :] @ self._requests[points])[:, 0, :])

    def _solve(self, size: int, budget: float
               ) -> tuple[numeric.Floats, numeric.Floats]:
        """Returns budgets, each twice the one before, and the p of each."""
        levels = max(1, math.ceil(math.log2(
            budget / (_STEPS * _FIRST_STEP) + 1)))
        length = budget / (_STEPS * (2 ** levels - 1))
        step = _Step.short(self._arrivals, size, length)
        used = [np.zeros(1)]
        states = [self._fluid.windows(np.zeros(1))[0, :size]]
        for _ in range(levels):
            points = used[-1][-1] + length * np.arange(1, _STEPS + 1)
            for fed in self._emptying(points - length, length) @ step.fed:
                states.append(states[-1] @ step.grown - fed)
            used.append(points)
            length *= 2
            step = step.twice()
        return np.concatenate(used), np.array(states)

    def _emptying(self, starts: numeric.Floats, length: float
                  ) -> numeric.Floats:
        """Returns the rate k in steps as polynomials, a row for each start."""
        at = starts[:, None] + length * _FIT_AT
        rates = np.exp(at[:, :, None] * self._fluid.decay) @ self._fluid.modes
        return np.asarray(rates @ _FIT)


@dataclasses.dataclass(frozen=True)
class _Step:
    """A step of the equation, without approximation.

    :param grown: exp(G h)
    :param fed: row i: the integral over u of (u / h)^i e_1 exp(G (h - u))
    """

    grown: numeric.Floats
    fed: numeric.Floats

    @classmethod
    def short(cls, arrivals: float, size: int, length: float) -> '_Step':
        """Returns a step shorter than 1, by the power series."""
        generator = np.diag(np.full(size, -1.0 - arrivals))
        generator += arrivals * np.eye(size, k=1) + np.eye(size, k=-1)
        generator[0, 0] = -arrivals
        generator *= length
        grown = term = np.eye(size)
        row, fed = term[0], np.zeros((len(_FIT), size))
        for order in range(_TERMS):
            # The integral of x^i (1 - x)^order / order!.
            share = [math.factorial(i) / math.factorial(i + order + 1)
                     for i in range(len(_FIT))]
            fed += np.outer(share, row)
            row = row @ generator
            term = term @ generator / (order + 1)
            grown = grown + term
        return cls(grown, fed * length)

    def twice(self) -> '_Step':
        """Returns the step of double length."""
        return _Step(self.grown @ self.grown, _HALVES[:, None] * (
            self.fed @ self.grown + _BINOMIALS @ self.fed))
