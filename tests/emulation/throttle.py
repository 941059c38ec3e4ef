# SPDX-License-Identifier: Apache-2.0

"""Calculates how long a real-time group's server can stay throttled.

This was seen with the first HCBS patches (Linux 5.10); in that kernel it is a
BUG to replenish a server without a runtime.
"""

_US = 1_000_000


def seconds(runtime_us: int, period_us: int, debt_us: int) -> float:
    """Returns the longest time until the replenishment of a server.

    A server that ran *debt_us* too long is replenished by one runtime at a
    time, and each replenishment moves its deadline by a period.
    """
    if runtime_us <= 0:
        return 0.0
    return period_us * max(1, -(-debt_us // runtime_us)) / _US
