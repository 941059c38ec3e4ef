# SPDX-License-Identifier: Apache-2.0

"""Finds where a function crosses 0, with the standard library only."""

from collections.abc import Callable
import math

_ITERATIONS = 100


def root(function: Callable[[float], float], low: float, high: float,
         tolerance: float) -> float:
    """Returns where an increasing function crosses 0 (Illinois method).

    :param tolerance: the largest error of the root
    :returns: *low* or *high* if the function does not change its sign
    """
    at_low, at_high = function(low), function(high)
    if at_low >= 0:
        return low
    if at_high <= 0:
        return high
    for _ in range(_ITERATIONS):
        guess = (low * at_high - high * at_low) / (at_high - at_low)
        # The guess keeps half the tolerance from both ends, so that both ends
        # move soon.
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
    """Returns the negative logarithm of a survival function.

    The result is nearly linear in time, and also finite for a survival of 0.
    """
    return -math.log(max(survival, 1e-15))
