# SPDX-License-Identifier: Apache-2.0

"""The fluid queue: the same requests on a CPU that is always slower by Q/P.

The fluid queue is an M/M/1 queue, as in the paper.  This module computes its
busy periods, cut into windows of one period each.
"""

import math

import numpy as np

from rt_models.model import numeric

#: The share of all requests that wait behind more requests than are counted
#: is smaller than this.
_NEGLIGIBLE = 1e-9


class FluidQueue:
    """The requests in the system during windows, summed over a busy period.

    The unit of work is the mean CPU time of a request.  The progress in a
    window is the work done, from 0 to the budget.  In these units, requests
    leave at rate 1 and arrive at rate *utilisation*.  The Markov chain of 1 to
    *size* requests, which ends at 0, has sines as eigenvectors.

    :param utilisation: lambda P / (mu Q), below 1
    :param budget: mu Q
    """

    def __init__(self, utilisation: float, budget: float) -> None:
        self.size = math.ceil(
            math.log(_NEGLIGIBLE) / math.log(utilisation)) + 4
        angles = np.pi * np.arange(1, self.size + 1) / (self.size + 1)
        self.decay: numeric.Floats = (
            2 * math.sqrt(utilisation) * np.cos(angles) - 1 - utilisation)
        # The first window starts with one request, and each later window
        # starts as the one before ended.  This gives the geometric series of
        # their transitions.
        self._weights = np.sin(angles) / math.sqrt(utilisation) / (
            -np.expm1(self.decay * budget))
        self._scale = utilisation ** (np.arange(1, self.size + 1) / 2)
        self._scale *= 2 / (self.size + 1)
        #: The expected number of windows with one request at progress y is
        #: the sum of modes * exp(decay * y).
        self.modes: numeric.Floats = (
            self._scale[0] * self._weights * np.sin(angles))

    def windows(self, progress: numeric.Floats) -> numeric.Floats:
        """Returns the expected number of windows with 1 to size requests.

        :returns: a row for each progress
        """
        terms = np.exp(np.outer(progress, self.decay)) * self._weights
        zeros = np.zeros((len(progress), 1))
        # The sum of sines is computed as the transform of an odd function.
        odd = np.concatenate((zeros, terms, zeros, -terms[:, ::-1]), axis=1)
        sines = np.fft.rfft(odd, axis=1).imag[:, 1:self.size + 1] / -2
        return np.asarray(sines * self._scale)
