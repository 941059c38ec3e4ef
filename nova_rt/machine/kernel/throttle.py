# SPDX-License-Identifier: Apache-2.0

"""Computes how long the timer of a throttled server can be pending.

A deadline server that has used its runtime is throttled until a timer fires
at its deadline.  In the first HCBS patches nothing stops this timer when the
group loses its runtime.  When such a kernel replenishes a server without a
runtime, it hits a BUG, and the host crashes.  So a runtime may be taken away
only when no such timer can be pending.  This time follows from the budgets
that the group had: * Run time is charged at ticks, so a server overruns.  The
kernel replenishes
  the server one runtime at a time until the debt is paid, and each time moves
  the deadline by one period (``replenish_dl_entity`` in
  kernel/sched/deadline.c).
* A new runtime or period does not move a timer that is pending already.

If a hypervisor took the CPU away meanwhile, the debt has no bound.  Therefore
the module also waits for all timers that the kernel shows.
"""

from nova_rt.rules import reservation

#: How late a tick or a timer of HRTICK may come, because of firmware or a
#: hypervisor.
_LATE_US = 10_000
#: How late the timer of a server may fire.
_MARGIN_US = 20_000
#: With a shorter runtime the debt of one overrun lasts for too many periods.
_LEAST_FINE_US = 100
#: How long a timer can be pending that was set before this process began: two
#: of the longest periods, for a runtime of at least one overrun.
_UNKNOWN_US = 2 * reservation.MAX_PERIOD_US + _MARGIN_US
_SECOND_US = 1_000_000
#: _MARGIN_US in seconds.
MARGIN_SECONDS = _MARGIN_US / _SECOND_US


def least_runtime_us(tick_us: int, by_timer: bool | None) -> int:
    """Returns the shortest runtime that pays its debt in a few periods.

    :param by_timer: whether HRTICK is on; None, if the kernel does not tell,
        counts as False
    """
    return min(tick_us, _LEAST_FINE_US) if by_timer else tick_us


def standing_us(runtime_us: int, period_us: int, tick_us: int) -> int:
    """Returns how long from now on a timer of a server can be pending.

    The time is ``ceil((overrun + runtime) / runtime)`` periods.

    :returns: us; 0 without a runtime
    """
    if runtime_us <= 0:
        return 0
    overrun_us = max(_LATE_US, 2 * tick_us)
    periods = 1 + -(-overrun_us // runtime_us)
    return periods * period_us + _MARGIN_US


def last_steps_us(runtime_us: int, period_us: int, tick_us: int) -> int:
    """Returns how long a task needs to run its last few instructions.

    The server of the task is replenished, and then the task ends.

    :returns: us; at most the time for timers that are older than this process
    """
    return min(standing_us(runtime_us, period_us, tick_us), _UNKNOWN_US)


class Timers:
    """Remembers until when the timers of each group can be pending.

    Times are readings of a monotonic clock, in seconds.

    :param now: when this process began; budgets may have been changed just
        before
    """

    def __init__(self, now: float) -> None:
        self._unknown = now + _UNKNOWN_US / _SECOND_US
        self._until: dict[str, float] = {}

    def note(self, group: str, standing_us: int, now: float) -> None:
        """Notes, before a change, that a budget was in force until *now*.

        :param standing_us: how long a timer of the budget can be pending; 0
            if *group* has no budget, so that an unknown group has no timer
        """
        if now > self._unknown:
            self._until = {name: until for name, until
                           in self._until.items() if until > now}
        if standing_us:
            self._until[group] = max(
                self.until(group), now + standing_us / _SECOND_US)
        else:
            self._until.setdefault(group, now)

    def until(self, group: str) -> float:
        """Returns when the last timer of old budgets of *group* is gone."""
        return self._until.get(group, self._unknown)
