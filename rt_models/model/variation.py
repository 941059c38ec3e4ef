# SPDX-License-Identifier: Apache-2.0

"""Estimates how different the CPU times of the requests of a server are.

Nobody sees the CPU time of a single request.  A measurement has many equal
parts, and tells for each part how many requests were answered, and how much
CPU time the server used.  The CPU time of a part, minus the number of requests
times their mean CPU time, is the sum of the deviations of these requests.  The
power of these sums at a frequency is the variance of the CPU times, except
that:

* At high frequencies the power is wrong, because the CPU time of a request may
  belong to other parts than its answer.
* At low frequencies the power is too large, because the speed of a CPU
  changes: the CPU is slower while its sibling is busy or its clock is low.

So the frequencies in between count.
"""

from collections.abc import Sequence
import math

import numpy as np

from rt_models.model import numeric

#: The highest frequency has a period of this many response times, and of this
#: many parts, at least.
_RESPONSES, _PARTS = 8, 4
#: The lowest frequency is the highest one divided by this number.
_RANGE = 4
#: There are at least this many requests for each frequency, and at least this
#: many frequencies.
_REQUESTS, _LEAST = 5, 3
#: The standard deviations from the estimate to its upper bound.
_CAUTION = 2.0


def upper_bound(counts: Sequence[int], works: Sequence[float], span_s: float,
                response_s: float) -> float | None:
    """Returns an upper bound for the variation of the CPU times of requests.

    The variation is the squared coefficient of variation.  The ordinates of
    the periodogram are independent, and exponentially distributed around the
    variance (M. B. Priestley, Spectral Analysis and Time Series, 1981, section
    6.1).  So their sum has a chi-squared distribution, and the bound is the
    mean ordinate divided by a lower quantile of this distribution.

    :param counts: the requests that were answered in each of equal parts
    :param works: the CPU time of each part, in any unit
    :param span_s: the length of all parts together, in s
    :param response_s: a response time that few requests exceed, in s
    :returns: None if too few requests were seen
    """
    requests = sum(counts)
    first, last = _frequencies(len(counts), requests, span_s, response_s)
    if last < _LEAST or not sum(works):
        return None
    deviations = np.asarray(works) * (requests / sum(works)) - counts
    power = np.abs(np.fft.rfft(deviations)) ** 2 / requests
    band: numeric.Floats = power[first:last + 1]
    return float(band.mean()) / _lower_quantile(len(band))


def _frequencies(parts: int, requests: int, span_s: float, response_s: float
                 ) -> tuple[int, int]:
    """Returns the lowest and the highest frequency, in periods in the span."""
    last = min(parts // _PARTS, requests // _REQUESTS)
    if response_s > 0:
        last = min(last, int(span_s / (_RESPONSES * response_s)))
    return max(1, min(math.ceil(last / _RANGE), last - _LEAST + 1)), last


def _lower_quantile(count: int) -> float:
    """Returns a lower quantile of the mean of exponential variables.

    Two times the sum of the variables has a chi-squared distribution, with two
    degrees of freedom for each variable.  The quantile is computed as in E. B.
    Wilson and M. M. Hilferty, The Distribution of Chi-Square, 1931.

    :param count: number of independent variables; each has the mean 1
    """
    part = 1 / (9 * count)
    return (1 - part - _CAUTION * math.sqrt(part)) ** 3
