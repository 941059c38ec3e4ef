# SPDX-License-Identifier: Apache-2.0

"""Computes for how long a deadline server can be throttled.

Run time is charged at ticks, so a server overruns.  The kernel replenishes the
server one runtime at a time until the debt is paid, and each time moves the
deadline by one period (``replenish_dl_entity`` in kernel/sched/deadline.c).
"""

from nova_rt.rules import reservation

#: How late the timer of a server may fire.
MARGIN_US = 20_000
#: How late a tick or a timer of HRTICK may come, because of firmware or a
#: hypervisor.
_LATE_US = 10_000
#: The longest time for a runtime of at least one overrun: two of the longest
#: periods.
LONGEST_US = 2 * reservation.MAX_PERIOD_US + MARGIN_US
#: MARGIN_US in seconds.
MARGIN_SECONDS = MARGIN_US / 1_000_000


def standing_us(runtime_us: int, period_us: int, tick_us: int) -> int:
    """Returns how long from now on a timer of a server can be pending.

    The time is ``ceil((overrun + runtime) / runtime)`` periods.

    :returns: us; 0 without a runtime
    """
    if runtime_us <= 0:
        return 0
    overrun_us = max(_LATE_US, 2 * tick_us)
    periods = 1 + -(-overrun_us // runtime_us)
    return periods * period_us + MARGIN_US


def last_steps_us(runtime_us: int, period_us: int, tick_us: int) -> int:
    """Returns how long a task needs to run its last few instructions.

    The server of the task is replenished, and then the task ends.

    :returns: us; at most *LONGEST_US*
    """
    return min(standing_us(runtime_us, period_us, tick_us), LONGEST_US)
