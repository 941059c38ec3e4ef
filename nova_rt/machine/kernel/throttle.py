# SPDX-License-Identifier: Apache-2.0

"""How long a throttled server keeps the timer that would replenish it.

A deadline server that has used its runtime is throttled until a timer fires
at its deadline.  In the first HCBS patches nothing stops that timer when the
group loses its runtime, and to replenish a server without a runtime is a BUG
of the kernel, which ends the host.  So a runtime may be taken only once no
such timer can stand any more.  When that is follows from what the group held:

* Run time is charged at ticks, so a server overruns.  It is replenished one
  runtime at a time until the debt is paid, and its deadline moves by one
  period with each (``replenish_dl_entity`` in kernel/sched/deadline.c).
* A new runtime or period does not move a timer that stands already.

Where the CPU itself was taken away meanwhile, the debt may be any, so all
timers that the kernel shows are waited for as well.
"""

from nova_rt.rules import reservation

#: A tick, or a timer of HRTICK, that came late: firmware, a hypervisor.
_LATE_US = 10_000
#: Timers themselves may fire late.
_MARGIN_US = 20_000
#: Below this the debt of one overrun lasts for too many periods.
_LEAST_FINE_US = 100
#: Of what stood before this process: that of any period with a runtime of
#: no less than an overrun.
_UNKNOWN_US = 2 * reservation.MAX_PERIOD_US + _MARGIN_US
_SECOND_US = 1_000_000
#: The same, in seconds.
MARGIN_SECONDS = _MARGIN_US / _SECOND_US


def least_runtime_us(tick_us: int, by_timer: bool | None) -> int:
    """The shortest runtime whose debt is paid in a few periods.

    :param by_timer: whether HRTICK is on; None where the kernel does not
        tell, which is taken for no
    """
    return min(tick_us, _LEAST_FINE_US) if by_timer else tick_us


def standing_us(runtime_us: int, period_us: int, tick_us: int) -> int:
    """How long from now on a timer of such a server can stand.

    That is ``ceil((overrun + runtime) / runtime)`` periods.

    :returns: us; 0 without a runtime
    """
    if runtime_us <= 0:
        return 0
    overrun_us = max(_LATE_US, 2 * tick_us)
    periods = 1 + -(-overrun_us // runtime_us)
    return periods * period_us + _MARGIN_US


def last_steps_us(runtime_us: int, period_us: int, tick_us: int) -> int:
    """How long a task needs that has but a few instructions left to run.

    Its server is replenished, and then the task runs to its end.

    :returns: us; no more than what is waited for of the unknown
    """
    return min(standing_us(runtime_us, period_us, tick_us), _UNKNOWN_US)


class Timers:
    """Until when the timers of each group can stand, as far as we know.

    Times are those of a monotonic clock, in seconds.

    :param now: when this process began to look: what it finds may have
        been resized just before
    """

    def __init__(self, now: float) -> None:
        self._unknown = now + _UNKNOWN_US / _SECOND_US
        self._until: dict[str, float] = {}

    def note(self, group: str, standing_us: int, now: float) -> None:
        """Before a change: what *group* holds was in force until *now*.

        :param standing_us: 0 where it holds nothing; then, if it was not
            known before, nothing of it stands
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
        """When the last of those that were set up before is gone."""
        return self._until.get(group, self._unknown)
