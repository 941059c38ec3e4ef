# SPDX-License-Identifier: Apache-2.0

"""Between two readings: was all wanted that was to be had?

Pure.  Only where it was is the CPU time used what was available.
"""

from collections.abc import Set
from typing import NamedTuple

from rt_probe import sources
from rt_probe import threads as rt_threads

#: Part of the time that may pass without anything wanting to run.
SLACK = 0.02
#: How far the two clocks may drift apart in a step.
_JUMP_NS = 100_000_000
#: A step that lasts so many times as long as it should was no step.
_LATE, _LATE_NS = 4, 1_000_000_000


class Step(NamedTuple):
    """What is known of the time between two readings.

    :ivar source: by which all that was to be had was wanted; '': it was not,
        as far as is known
    :ivar unwanted_ns: for how long it may not have been, for all that
    """

    wall_ns: int
    used_ns: int
    cpus: int
    source: str
    unwanted_ns: int = 0

    @property
    def used(self) -> float:
        """In CPUs."""
        return self.used_ns / self.wall_ns


def disturbance(before: sources.Sample, after: sources.Sample,
                interval_ns: int) -> str:
    """Why nothing can be told from these two readings; '': it can."""
    wall = after.at_ns - before.at_ns
    jump = after.wall_ns - before.wall_ns - wall
    if abs(jump) > _JUMP_NS:
        return (f'the clock jumped by {jump / 1e9:+.1f} s, as after a live '
                'migration or a suspend')
    if wall > max(_LATE * interval_ns, interval_ns + _LATE_NS):
        return (f'nothing ran for {wall / 1e9:.1f} s, as in a live migration'
                ' or on a CPU that others fill')
    if before.cpus != after.cpus:
        return (f'the CPUs changed from {_ids(before.cpus)} to '
                f'{_ids(after.cpus)}')
    if after.used_ns < before.used_ns or _backwards(before, after):
        return 'a counter went backwards, so what is looked at is another'
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
    """What happened between two readings that nothing disturbed.

    :param period_ns: of the limit, if it is known
    :param needed: so many threads must want to run all the time
    :param since: an earlier reading, from which on they did
    :param begun: whether something waits that did not before this step
    """
    wall = after.at_ns - before.at_ns
    since = since or before
    source, unwanted = '', 0
    asleep = _asleep(since, after, period_ns or 0, begun)[:needed]
    if _throttled(before, after, period_ns):
        source = sources.THROTTLING
    elif len(asleep) == needed > 0:
        source = sources.SCHEDSTAT
        unwanted = asleep[-1] * wall // (after.at_ns - since.at_ns)
    elif _stolen(before, after):
        source = sources.STEAL
    elif _stalled(before, after):
        source = sources.PRESSURE
    return Step(wall, after.used_ns - before.used_ns, len(after.cpus), source,
                unwanted)


def _throttled(before: sources.Sample, after: sources.Sample,
               period_ns: int | None) -> bool:
    """In every period, and in no fewer than there were."""
    if not before.throttling or not after.throttling or not period_ns:
        return False
    periods, throttled = (now - then for now, then in zip(
        after.throttling, before.throttling, strict=True))
    passed = (after.at_ns - before.at_ns) // period_ns
    return throttled == periods >= max(1, passed - 1)


def _asleep(before: sources.Sample, after: sources.Sample, pending_ns: int,
            begun: bool) -> list[int]:
    """For how long each thread slept that wanted to run all the time."""
    wall = after.at_ns - before.at_ns
    found = (_slept(before.threads[name], thread, wall, pending_ns, begun)
             for name, thread in after.threads.items()
             if name in before.threads)
    return sorted(one for one in found if one is not None)


def _slept(then: rt_threads.Thread, now: rt_threads.Thread, wall: int,
           pending_ns: int, begun: bool) -> int | None:
    """For how long a thread slept, in ns; None: it does not want all.

    :param pending_ns: the longest that it waits at once.  The kernel counts
        that when it ends, so one that waits now may have waited longer.  In
        the long run nothing is left of it, and of sleep there is.
    """
    both = then.runnable and now.runnable
    if both and then.slept is not None and then.slept == now.slept:
        return 0
    waited = now.wait_ns - then.wait_ns
    asleep = wall - (now.run_ns - then.run_ns) - waited
    most = SLACK * wall + (pending_ns if both else 0)
    if begun and now.runnable:
        # It began to want more than there is within the step.  What it
        # slept before makes the interval wider.
        most = max(most, waited)
    if -pending_ns <= asleep + SLACK * wall and asleep <= most:
        return max(0, asleep)
    return None


def waits(before: sources.Sample, after: sources.Sample) -> bool:
    """Whether a thread was kept from running for a notable time.

    It may be the first period of a budget that has become too small, of
    which the next readings tell more.
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


def _stalled(before: sources.Sample, after: sources.Sample) -> bool:
    """On one CPU the group runs, waits as a whole, or wants nothing."""
    if before.full_ns is None or after.full_ns is None:
        return False
    wall = after.at_ns - before.at_ns
    told = after.full_ns - before.full_ns + after.used_ns - before.used_ns
    return len(after.cpus) == 1 and told >= (1 - SLACK) * wall
