# SPDX-License-Identifier: Apache-2.0

"""A burst: a process that uses up the budget of the group and measures it.

The process has the lowest priority of the scheduling class that the
reservation is for, so that all other threads of the group run first.
"""

from collections.abc import Callable
import contextlib
import ctypes
import dataclasses
import json
import math
import os
import resource
import select
import signal
import time
from typing import NoReturn, Protocol

from nova_rt.machine.host import sched
from rt_probe import check as rt_check
from rt_probe import errors
from rt_probe import gaps

_SCHEDSTAT = '/proc/thread-self/schedstat'
#: A pause of the burst is a gap if it is longer than this.
_GAP_NS = 300_000
#: Between gaps, the CPU time of a group is read this often, and for a check,
#: the steal of a machine, which changes only at ticks.
_READ_NS, _READ_STEAL_NS = 200_000, 4_000_000
#: How often the time and the steal are read together, at most.
_TRIES = 3
#: The VNF is busy when it took more than this part of the group's CPU time.
_BUSY = 0.75
#: Whether the VNF is busy is judged only from more CPU time than this.
_WORTH_NS = 20_000_000
#: A burst ends in any case after this many times the shortest window, or after
#: this time if the period is not known.
_TIMES, _WITHOUT_NS = 3, 1_000_000_000
#: A burst that is this late counts as starved and is given up.
_STARVED_S = 5.0


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """The task of a burst.

    :ivar real_time: whether the VNF has a real-time scheduling class
    :ivar period_ns: the period of the reservation; None: unknown
    :ivar error_ns: how far two readings of the CPU time may be off: a tick,
        and the unit of steal if the burst measures a machine
    :ivar used_ns: reads the CPU time of the group; None if the burst measures
        the whole machine
    :ivar stolen_ns: reads the steal of the whole machine; None if the burst
        measures a group
    :ivar check: the check that ends the burst; None: a whole burst, which
        measures how much is available
    """

    real_time: bool
    period_ns: int | None
    error_ns: int
    used_ns: Callable[[], int] | None
    stolen_ns: Callable[[], int] | None = None
    check: rt_check.Check | None = None

    @property
    def longest_ns(self) -> int:
        """The time after which the burst ends in any case."""
        if self.period_ns is None:
            return _WITHOUT_NS
        return _TIMES * gaps.least_ns(self.period_ns, self.error_ns)


@dataclasses.dataclass(frozen=True, slots=True)
class Trace:
    """The result of a burst.

    :ivar cpu_ns: the CPU time of the burst, its start and end included
    :ivar used_ns: the CPU time of the group during the burst
    :ivar stopped: why the burst ended early; '' if it did not
    :ivar stolen_ns: the steal of the machine during the burst; None if the
        burst measures a group
    :ivar blind_ns: how long the burst could not see any gap
    """

    gaps: tuple[gaps.Gap, ...]
    cpu_ns: int
    used_ns: int
    wall_ns: int
    stopped: str = ''
    stolen_ns: int | None = None
    blind_ns: int = 0


class Meter(Protocol):
    """Measures the CPU time that is used while a burst runs.

    :ivar every_ns: how often the meter must be read between gaps
    :ivar blind: whether a pause during a reading is not a gap
    """

    every_ns: float
    blind: bool

    def read(self, gone_ns: int) -> tuple[int, int]:
        """Returns the CPU time of all and of other threads, in ns.

        The CPU time of all threads counts from the beginning of the burst; the
        CPU time of the threads outside of the burst counts from the last
        reading.

        :param gone_ns: how long the burst has not run
        """

    @property
    def stolen_ns(self) -> int | None:
        """The steal of the machine until the last reading; None: a group."""


class GroupMeter:
    """Measures by the counters of the group and of this thread.

    A reading makes the kernel charge the thread, which may use up the budget.
    So gaps often begin within a reading.
    """

    every_ns: float = _READ_NS
    blind, stolen_ns = False, None

    def __init__(self, used_ns: Callable[[], int]) -> None:
        self._used_ns = used_ns
        self._own = time.thread_time_ns()
        self._first = self._used = used_ns()

    def read(self, gone_ns: int) -> tuple[int, int]:
        # This call comes first, because it makes the kernel charge what the
        # thread has used.
        own = time.thread_time_ns()
        used = self._used_ns()
        others = used - self._used - (own - self._own)
        self._own, self._used = own, used
        return used - self._first, min(gone_ns, max(0, others))


class MachineMeter:
    """Measures by the steal of the machine and the waits of this thread.

    While this thread waits for its virtual CPU, other threads run, and the
    virtual CPU may also stand still.  In the rest of a gap the virtual CPU
    itself did not run, or handled interrupts.  When a virtual CPU runs again,
    other threads often run first, because their timers have expired.  Only
    the steal shows the CPU time.  The hypervisor takes the CPU at any time,
    and not because of a reading.  A reading and its evaluation may take longer
    than the shortest gap.  So a pause during a reading is not a gap.
    """

    blind = True

    def __init__(self, stolen_ns: Callable[[], int], every_ns: float) -> None:
        self.every_ns = every_ns
        self._stolen_ns = stolen_ns
        self._begin = self._first = self._usual_ns = 0
        self._begin, self._first = self._passed_and_stolen()
        self._switches, self._waited = _switches(), _waited_ns()
        self.stolen_ns = 0

    def read(self, gone_ns: int) -> tuple[int, int]:
        passed, self.stolen_ns = self._passed_and_stolen()
        return passed - self.stolen_ns, min(gone_ns, self._others_ns(gone_ns))

    def _others_ns(self, gone_ns: int) -> int:
        """Returns for how long other threads ran, or may have run, in a gap.

        :param gone_ns: the length of the gap
        """
        before, waited = (self._switches, self._waited)
        self._switches, self._waited = _switches(), _waited_ns()
        if waited is None or self._waited is None:
            return gone_ns if self._switches != before else 0
        return self._waited - waited

    def _passed_and_stolen(self) -> tuple[int, int]:
        """Returns the time and the steal since the beginning.

        If the hypervisor takes the CPU between both readings, they do not
        belong together.  So the fastest of a few tries counts.
        """
        tries = []
        for _ in range(_TRIES):
            before = time.monotonic_ns()
            stolen = self._stolen_ns()
            took = time.monotonic_ns() - before
            tries.append((took, before - self._begin, stolen - self._first))
            if took < 2 * self._usual_ns:
                break
        took, passed, stolen = min(tries)
        self._usual_ns = self._usual_ns or took
        return passed, stolen


def _switches() -> int:
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nivcsw + usage.ru_nvcsw


def _waited_ns() -> int | None:
    """Returns for how long this thread has waited for a CPU, in ns.

    :returns: None if the kernel does not count waits (CONFIG_SCHED_INFO)
    """
    try:
        with open(_SCHEDSTAT, encoding='ascii') as file:
            ran, waited, _ = map(int, file.read().split())
    except (OSError, ValueError):
        return None
    return waited if ran else None


class Burst:
    """One burst, in a process of its own."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._child = 0

    def run(self) -> Trace:
        """Runs the burst and returns its result.

        :raises ProbeError: when the burst is not permitted, or did not end
        """
        reader, writer = os.pipe()
        # The handler of SIGTERM must know the child in order to end it.
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
        """Ends the burst, if it runs, and returns its CPU time in ns."""
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
    result = json.loads(data)
    if 'error' in result:
        raise errors.ProbeError(result['error'])
    return Trace(tuple(gaps.Gap(*gap) for gap in result.pop('gaps')),
                 **result)


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
    """Takes the lowest priority of the class.

    :raises OSError: when the change is not permitted; the text of the
        exception is a sentence
    """
    if not real_time:
        _take(os.SCHED_IDLE, 0)
        return
    try:
        _take(os.SCHED_RR, 1)
    except PermissionError as error:
        raise PermissionError(
            error.errno, 'the probe may not use SCHED_RR, which the VNF '
            'uses; set RLIMIT_RTPRIO to 1 or more') from error


def _take(policy: int, priority: int) -> None:
    """Gives this thread a policy; musl has no sched_setscheduler(3)."""
    sched.call('sched_setattr', 0, ctypes.byref(sched.Attributes(
        size=sched.SIZE, policy=policy, priority=priority)), 0)


def _meter(order: Order) -> Meter:
    if order.used_ns is not None:
        return GroupMeter(order.used_ns)
    return MachineMeter(order.stolen_ns or (lambda: 0),
                        math.inf if order.check is None else _READ_STEAL_NS)


def _spin(order: Order, parent: int) -> Trace:
    """Spins until enough is seen, the VNF is busy, or the time is over."""
    seen_gaps: list[gaps.Gap] = []
    clock = time.monotonic_ns
    cost = time.thread_time_ns()
    meter = _meter(order)
    begin = read = before = clock()
    used = blind = 0
    stopped = None
    while before - begin < order.longest_ns and stopped is None:
        now = clock()
        gone, before = now - before, now
        if gone <= _GAP_NS and now - read < meter.every_ns:
            continue
        used, others = meter.read(gone)
        if gone > _GAP_NS:
            seen_gaps.append(gaps.Gap(now - gone, now, used, others))
            stopped = _stop(order, seen_gaps, used,
                            time.thread_time_ns() - cost, parent)
        if stopped is None and _checked(order, used, now - begin):
            stopped = ''
        read = now
        if meter.blind:
            before = clock()
            blind += before - now
    return Trace(tuple(seen_gaps), time.thread_time_ns() - cost, used,
                 before - begin, stopped or '', meter.stolen_ns, blind)


def _checked(order: Order, used: int, wall: int) -> bool:
    return (order.check is not None
            and order.check.verdict(used, wall) is not None)


def _stop(order: Order, seen_gaps: list[gaps.Gap], used: int, own: int,
          parent: int) -> str | None:
    """Returns why the burst should stop after a gap.

    :returns: '' when the gaps give an estimate; None: go on
    """
    if os.getppid() != parent:
        return 'the probe has ended'
    if used > _WORTH_NS and used - own > _BUSY * used:
        return 'the VNF became busy'
    if gaps.estimate(seen_gaps, order.period_ns, order.error_ns) is not None:
        return ''
    return None
