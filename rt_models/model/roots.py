# SPDX-License-Identifier: Apache-2.0

"""Finds where functions cross 0, with the standard library only."""

from collections.abc import Callable
import math

_ITERATIONS = 100


def root(function: Callable[[float], float], low: float, high: float,
         tolerance: float) -> float:
    """Finds where an increasing function crosses 0 (Illinois method).

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
