# SPDX-License-Identifier: Apache-2.0

"""How long a deadline server of a real-time group can stay throttled.

Seen on the first HCBS patches (Linux 5.10), in whose kernel a replenishment
of a server without a runtime is a BUG.
"""

_US = 1_000_000


def seconds(runtime_us: int, period_us: int, debt_us: int) -> float:
    """The longest time until the replenishment of a server.

    One that ran *debt_us* too long is replenished a runtime at a time, and
    its deadline moves by a period with each of them.
    """
    if runtime_us <= 0:
        return 0.0
    return period_us * max(1, -(-debt_us // runtime_us)) / _US
