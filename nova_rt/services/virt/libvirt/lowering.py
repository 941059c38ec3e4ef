# SPDX-License-Identifier: Apache-2.0

"""Waits until a busy server can get a smaller runtime without a debt.

At the end of a period, RT_GROUP_SCHED subtracts the runtime once from the CPU
time that the server has used.  If the runtime became smaller meanwhile, a
server that had used more than the new runtime keeps a debt, and lacks as much
in its next period.  So the new runtime must be written while the server has
used little in this period: soon after a busy server had to rest, because its
old runtime was used up, and runs again.
"""

from collections.abc import Callable, Collection
import contextlib
import time

from nova_rt.machine.host import thread
from nova_rt.machine.host import ticks

_NS_PER_US = 1_000
_US = 1_000_000
#: How often the CPU time is read, in us.
_POLL_US = 1_000
#: The CPU time of a running thread may stand still for a tick.
_REST_TICKS = 3
#: Two periods show each busy server at rest; no change waits for longer.
_PERIODS, _MOST_US = 2, 1_000_000


def wait(threads: Callable[[], Collection[int]], runtime_us: int,
         period_us: int) -> None:
    """Waits until the kernel can lower a budget; returns in any case.

    A server without runnable threads is not waited for, and a runtime of a
    few ticks is too short to meet.

    :param threads: returns the threads of the server
    :param runtime_us: the new runtime
    :param period_us: the period that the server has now
    """
    rest_us = _REST_TICKS * ticks.tick_us()
    if runtime_us < 2 * rest_us or not _is_busy(threads()):
        return
    now_us = time.monotonic() * _US
    end_us = now_us + min(_PERIODS * period_us, _MOST_US)
    used_us, since_us, rested_us = _used_us(threads()), now_us, None
    while now_us < end_us:
        time.sleep(_POLL_US / _US)
        now_us, last_us = time.monotonic() * _US, used_us
        used_us = _used_us(threads())
        if used_us != last_us:
            if now_us - since_us > rest_us:
                rested_us = last_us
            since_us = now_us
            if rested_us is not None and used_us - rested_us < runtime_us / 2:
                return


def _is_busy(threads: Collection[int]) -> bool:
    for each in threads:
        with contextlib.suppress(OSError):
            if thread.is_runnable(each):
                return True
    return False


def _used_us(threads: Collection[int]) -> float:
    """Returns the CPU time of the threads that have not ended."""
    used = 0
    for each in threads:
        with contextlib.suppress(OSError):
            used += thread.ran_ns(each)
    return used / _NS_PER_US
