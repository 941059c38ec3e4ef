# SPDX-License-Identifier: Apache-2.0

"""A burst: a process that uses up the budget of the group, and looks.

It has the lowest priority of the class that the reservation is for, so that
all others of the group go first.
"""

from collections.abc import Callable
import contextlib
import dataclasses
import json
import os
import resource
import select
import signal
import time
from typing import NoReturn, Protocol

from rt_probe import check as rt_check
from rt_probe import errors
from rt_probe import gaps

#: What is no gap; how often the group's CPU time is read between gaps.
_GAP_NS, _READ_NS = 300_000, 200_000
#: The VNF is busy when it took so much of what the group got.
_BUSY = 0.75
#: Nothing is made of less CPU time of the group.
_WORTH_NS = 20_000_000
#: A burst ends, whatever it has seen, after so many times the least window.
_TIMES, _WITHOUT_NS = 3, 1_000_000_000
#: What a burst is given on top before it is given up as starved.
_STARVED_S = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """What a burst is to do.

    :ivar real_time: the class of the VNF
    :ivar period_ns: None: it is not known
    :ivar used_ns: reads the CPU time of the group; None: all of the machine
        is looked at, and a gap is its own where nothing else ran
    :ivar check: ends the burst; None: it sees how much there is
    """

    real_time: bool
    period_ns: int | None
    tick_ns: int
    used_ns: Callable[[], int] | None
    check: rt_check.Check | None = None

    @property
    def longest_ns(self) -> int:
        if self.period_ns is None:
            return _WITHOUT_NS
        return _TIMES * gaps.least_ns(self.period_ns, self.tick_ns)


@dataclasses.dataclass(frozen=True, slots=True)
class Trace:
    """What a burst saw.

    :ivar cpu_ns: what it cost, with its begin and its end
    :ivar used_ns: what the group used meanwhile
    :ivar stopped: why it ended early; '' if it did not
    """

    gaps: tuple[gaps.Gap, ...]
    cpu_ns: int
    used_ns: int
    wall_ns: int
    stopped: str = ''


class Meter(Protocol):
    """Tells what was used while a burst runs."""

    def look(self, gone_ns: int) -> tuple[int, int]:
        """What all used since the beginning, and others since the last look.

        :param gone_ns: for how long the burst has not run
        """


class GroupMeter:
    """By the counter of the group and this thread's own."""

    def __init__(self, used_ns: Callable[[], int]) -> None:
        self._used_ns = used_ns
        self._own = time.thread_time_ns()
        self._first = self._used = used_ns()

    def look(self, gone_ns: int) -> tuple[int, int]:
        # This charges what the thread has used, so it comes first.
        own = time.thread_time_ns()
        used = self._used_ns()
        others = used - self._used - (own - self._own)
        self._own, self._used = own, used
        return used - self._first, min(gone_ns, max(0, others))


class MachineMeter:
    """By the switches of this thread: without one, the CPU was away."""

    def __init__(self) -> None:
        self._begin, self._away = time.monotonic_ns(), 0
        self._switches = _switches()

    def look(self, gone_ns: int) -> tuple[int, int]:
        switches = _switches()
        others = gone_ns if switches != self._switches else 0
        self._switches = switches
        self._away += gone_ns - others
        return time.monotonic_ns() - self._begin - self._away, others


def _switches() -> int:
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nivcsw + usage.ru_nvcsw


class Burst:
    """One burst, in a process of its own."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._child = 0

    def run(self) -> Trace:
        """Do it.

        :raises ProbeError: it is not allowed, or did not end
        """
        reader, writer = os.pipe()
        # A signal that ends us must find the child to end.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            self._child = os.fork()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if not self._child:
            _child(self._order, writer)
        os.close(writer)
        try:
            trace = _result(_all(reader, self._order.longest_ns))
        finally:
            cost_ns = self.end()
            os.close(reader)
        return dataclasses.replace(trace, cpu_ns=cost_ns)

    def end(self) -> int:
        """End it now, if it runs; returns what it cost, in ns."""
        child, self._child = self._child, 0
        if not child:
            return 0
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        try:
            usage = os.wait4(child, 0)[2]
        except ChildProcessError:
            return 0
        return round(1e9 * (usage.ru_utime + usage.ru_stime))


def _all(reader: int, longest_ns: int) -> bytes:
    end = time.monotonic() + longest_ns / 1e9 + _STARVED_S
    parts: list[bytes] = []
    while select.select([reader], [], [], max(0, end - time.monotonic()))[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            return b''.join(parts)
        parts.append(part)
    raise errors.ProbeError('the burst got no CPU time')


def _result(data: bytes) -> Trace:
    if not data:
        raise errors.ProbeError('the burst was ended from outside')
    found = json.loads(data)
    if 'error' in found:
        raise errors.ProbeError(found['error'])
    return Trace(tuple(gaps.Gap(*one) for one in found.pop('gaps')), **found)


def _child(order: Order, writer: int) -> NoReturn:
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.write(writer, json.dumps(_spun(order)).encode())
    finally:
        os._exit(0)


def _spun(order: Order) -> dict[str, object]:
    parent = os.getppid()
    try:
        _lower(order.real_time)
        trace = _spin(order, parent)
    except OSError as error:
        return {'error': error.strerror or str(error)}
    return dataclasses.asdict(trace) | {
        'gaps': [dataclasses.astuple(gap) for gap in trace.gaps]}


def _lower(real_time: bool) -> None:
    """Be the last of the class.

    :raises OSError: with a sentence
    """
    if not real_time:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        return
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError as error:
        raise PermissionError(
            error.errno, 'no right to SCHED_RR, which is the class of the '
            'VNF (RLIMIT_RTPRIO of 1 would do)') from error


def _spin(order: Order, parent: int) -> Trace:
    """Run until the window is long enough, the VNF busy, or time over."""
    found: list[gaps.Gap] = []
    clock = time.monotonic_ns
    cost = time.thread_time_ns()
    meter: Meter = (MachineMeter() if order.used_ns is None
                    else GroupMeter(order.used_ns))
    begin = read = before = clock()
    used, stopped = 0, None
    while before - begin < order.longest_ns and stopped is None:
        now = clock()
        # Also what a reading took: to be charged may end a budget.
        gone, before = now - before, now
        if gone > _GAP_NS:
            used, others = meter.look(gone)
            found.append(gaps.Gap(now - gone, now, used, others))
            own = time.thread_time_ns() - cost
            stopped = _stop(order, found, used, own, parent)
            if stopped is None and _checked(order, used, now - begin):
                stopped = ''
            read = now
        elif now - read >= _READ_NS:
            used, _ = meter.look(0)
            read = now
            if _checked(order, used, now - begin):
                stopped = ''
    return Trace(tuple(found), time.thread_time_ns() - cost, used,
                 before - begin, stopped or '')


def _checked(order: Order, used: int, wall: int) -> bool:
    return (order.check is not None
            and order.check.verdict(used, wall) is not None)


def _stop(order: Order, found: list[gaps.Gap], used: int, own: int,
          parent: int) -> str | None:
    """Why to stop after a gap; '' when all is seen, None: go on."""
    if os.getppid() != parent:
        return 'the probe has ended'
    if used > _WORTH_NS and used - own > _BUSY * used:
        return 'the VNF became busy'
    if gaps.estimate(found, order.period_ns, order.tick_ns) is not None:
        return ''
    return None
