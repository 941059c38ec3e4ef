# SPDX-License-Identifier: Apache-2.0

"""Computes until when the timer of a throttled server can be pending.

A deadline server that has used its runtime is throttled until a timer fires
at its deadline.  In the first HCBS patches nothing stops this timer when the
group loses its runtime.  When such a kernel replenishes a server without a
runtime, it hits a BUG, and the host crashes.  So a runtime may be taken away
only when no such timer can be pending.  This time follows from the budgets
that the group had, because a new runtime or period does not move a timer that
is pending already.

If a hypervisor took the CPU away meanwhile, the debt has no bound.  Therefore
``rt_hcbs.fragile`` also waits for all timers that the kernel shows.
"""

from nova_rt.machine.kernel import throttle

#: With a shorter runtime the debt of one overrun lasts for too many periods.
_LEAST_FINE_US = 100
_SECOND_US = 1_000_000


def least_runtime_us(tick_us: int, by_timer: bool | None) -> int:
    """Returns the shortest runtime that pays its debt in a few periods.

    :param by_timer: whether HRTICK is on; None, if the kernel does not tell,
        counts as False
    """
    return min(tick_us, _LEAST_FINE_US) if by_timer else tick_us


class Timers:
    """Remembers until when the timers of each group can be pending.

    Times are readings of a monotonic clock, in seconds.

    :param now: when this process began; budgets may have been changed just
        before
    """

    def __init__(self, now: float) -> None:
        self._unknown = now + throttle.LONGEST_US / _SECOND_US
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
