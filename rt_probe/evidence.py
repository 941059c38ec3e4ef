# SPDX-License-Identifier: Apache-2.0

"""Judges from two readings whether the VNF wanted all available CPU time.

This module is pure.  The used CPU time equals the available CPU time only if
the VNF wanted all of the available CPU time.
"""

from collections.abc import Set
from typing import NamedTuple

from rt_probe import sources
from rt_probe import threads as rt_threads

#: The part of a step in which nothing may want to run, although the VNF
#: counts as wanting all.
SLACK = 0.02
#: How far the monotonic clock and the wall clock may drift apart in a step.
_JUMP_NS = 100_000_000
#: A step that lasts longer than this many intervals, and longer than an
#: interval and this time, was disturbed.
_LATE, _LATE_NS = 4, 1_000_000_000
_NO_STEAL = ('the machine was never idle, but its hypervisor has reported no '
             'steal, so the CPU time that the hypervisor took cannot be seen')
_LOST = ('the kernel of the machine accounted for only a part of the CPU '
         'time, as when ticks are lost')
#: The part of the time that a machine must account for, beside the rounding of
#: the eight numbers of /proc/stat, in ns.
_ACCOUNTED, _ROUNDED_NS = 0.9, 80_000_000


class Step(NamedTuple):
    """The time between two readings.

    :ivar cpus: the number of CPUs that the VNF may use
    :ivar source: the source which shows that all available CPU time was
        wanted; '' when no source shows that
    :ivar unwanted_ns: how long, in spite of the source, CPU time may not
        have been wanted
    :ivar accounted: whether *used_ns* is known
    :ivar limit: the limit that no answer may exceed, in CPUs; None: none
    :ivar doubt: why a source that shows something is not believed
    :ivar certain: whether *used_ns* contains no time that a hypervisor took
    """

    wall_ns: int
    used_ns: int
    cpus: int
    source: str
    unwanted_ns: int = 0
    accounted: bool = True
    limit: float | None = None
    doubt: str = ''
    certain: bool = True

    @property
    def used(self) -> float | None:
        """The CPU time that was used, in CPUs; None if unknown."""
        return self.used_ns / self.wall_ns if self.accounted else None


def disturbance(before: sources.Sample, after: sources.Sample,
                interval_ns: int) -> str:
    """Returns why these two readings say nothing; '' if they say something.

    :param interval_ns: the intended time between readings
    """
    wall = after.at_ns - before.at_ns
    jump = after.wall_ns - before.wall_ns - wall
    if abs(jump) > _JUMP_NS:
        return (f'the clock jumped by {jump / 1e9:+.1f} s, as after a live '
                'migration or a suspend')
    if wall > max(_LATE * interval_ns, interval_ns + _LATE_NS):
        return (f'nothing ran for {wall / 1e9:.1f} s, as in a live migration'
                ' or on a CPU that other guests keep busy')
    if before.cpus != after.cpus:
        return (f'the CPUs changed from {_ids(before.cpus)} to '
                f'{_ids(after.cpus)}')
    if after.used_ns < before.used_ns or _backwards(before, after):
        return ('a counter went backwards, so this is another group or '
                'machine than before')
    if wall <= 0:
        return 'no time passed'
    return ''


def _ids(cpus: Set[int]) -> str:
    return ','.join(map(str, sorted(cpus)))


def _backwards(before: sources.Sample, after: sources.Sample) -> bool:
    if before.throttling is None or after.throttling is None:
        return before.throttling is not after.throttling
    return any(now < then for now, then in zip(
        after.throttling, before.throttling, strict=True))


def step(before: sources.Sample, after: sources.Sample,
         period_ns: int | None, needed: int,
         since: sources.Sample | None = None, begun: bool = False) -> Step:
    """Judges the time between two readings that nothing disturbed.

    :param period_ns: the period of the limit, if known
    :param needed: how many threads must want to run all the time
    :param since: an earlier reading since which the threads have wanted to run
        all the time
    :param begun: whether a thread waits that did not wait before this step
    """
    wall = after.at_ns - before.at_ns
    since = since or before
    source, unwanted, doubt = '', 0, ''
    used = after.used_ns - before.used_ns
    asleep = _asleep(since, after, period_ns or 0, begun)[:needed]
    if _throttled(before, after, period_ns):
        source = sources.THROTTLING
    elif len(asleep) == needed > 0:
        source = sources.SCHEDSTAT
        unwanted = asleep[-1] * wall // (after.at_ns - since.at_ns)
    elif _stolen(before, after):
        if not after.machine or not after.machine.certain:
            doubt = _NO_STEAL
        elif _lost(before, after):
            doubt = _LOST
        elif before.machine:
            source = sources.STEAL
            used = after.machine.received_ns(before.machine, wall)
    elif _stalled(before, after):
        source = sources.PRESSURE
    return Step(wall, used, len(after.cpus),
                source if after.accounted else '', unwanted, after.accounted,
                after.limit, doubt,
                after.machine is None or after.machine.certain)


def _throttled(before: sources.Sample, after: sources.Sample,
               period_ns: int | None) -> bool:
    """Returns whether the group was throttled in every period that passed."""
    if not before.throttling or not after.throttling or not period_ns:
        return False
    periods, throttled = (now - then for now, then in zip(
        after.throttling, before.throttling, strict=True))
    passed = (after.at_ns - before.at_ns) // period_ns
    return throttled == periods >= max(1, passed - 1)


def _asleep(before: sources.Sample, after: sources.Sample, pending_ns: int,
            begun: bool) -> list[int]:
    """Returns the sleeping times of the threads that wanted all CPU time.

    :returns: times in ns, the shortest first
    """
    wall = after.at_ns - before.at_ns
    times = (_slept(before.threads[name], thread, wall, pending_ns, begun)
             for name, thread in after.threads.items()
             if name in before.threads)
    return sorted(time for time in times if time is not None)


def _slept(then: rt_threads.Thread, now: rt_threads.Thread, wall: int,
           pending_ns: int, begun: bool) -> int | None:
    """Returns a thread's sleep in ns; None if it wants less CPU time.

    :param pending_ns: the longest single wait.  The kernel counts a wait
        only when the wait ends, so a thread that waits now may have waited
        for this much longer.  In a long step this time is negligible, but a
        thread's sleep is not.
    """
    both = then.runnable and now.runnable
    if both and then.slept is not None and then.slept == now.slept:
        return 0
    waited = now.wait_ns - then.wait_ns
    asleep = wall - (now.run_ns - then.run_ns) - waited
    most = SLACK * wall + (pending_ns if both else 0)
    if begun and now.runnable:
        # Within this step the thread began to want more than there is.  The
        # time that it slept before makes the interval wider.
        most = max(most, waited)
    if -pending_ns <= asleep + SLACK * wall and asleep <= most:
        return max(0, asleep)
    return None


def waits(before: sources.Sample, after: sources.Sample) -> bool:
    """Returns whether a thread had to wait for a notable time.

    The wait may be the first sign of a budget that has become too small; the
    next readings show whether this is true.
    """
    wall = after.at_ns - before.at_ns
    return any(thread.wait_ns - before.threads[name].wait_ns > SLACK * wall
               for name, thread in after.threads.items()
               if name in before.threads)


def _stolen(before: sources.Sample, after: sources.Sample) -> bool:
    if not before.machine or not after.machine:
        return False
    idle = after.machine.idle_ns - before.machine.idle_ns
    wall = after.at_ns - before.at_ns
    return idle <= SLACK * wall * len(after.cpus)


def _lost(before: sources.Sample, after: sources.Sample) -> bool:
    """Returns whether the machine did not account for some of its time.

    The kernel accounts CPU time at ticks.  A tick that is lost counts nowhere.
    """
    if not before.machine or not after.machine:
        return False
    accounted = sum(now - then for now, then in (
        (after.machine.busy_ns, before.machine.busy_ns),
        (after.machine.idle_ns, before.machine.idle_ns),
        (after.machine.stolen_ns, before.machine.stolen_ns)))
    wall = (after.at_ns - before.at_ns) * len(after.cpus)
    return accounted + _ROUNDED_NS < _ACCOUNTED * wall


def _stalled(before: sources.Sample, after: sources.Sample) -> bool:
    """Returns whether the group ran or waited as a whole all the time.

    A group on one CPU either runs, or waits as a whole, or has nothing to run.
    """
    if before.full_ns is None or after.full_ns is None:
        return False
    wall = after.at_ns - before.at_ns
    wanted = after.full_ns - before.full_ns + after.used_ns - before.used_ns
    return len(after.cpus) == 1 and wanted >= (1 - SLACK) * wall
