# SPDX-License-Identifier: Apache-2.0

"""The share of a CPU that servers get: CPU time over wall time."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import os
import time

from demo import host

from nova_rt.compute import claims

PRIORITY = 99


def shares(found: Sequence[host.Server], seconds: float
           ) -> dict[str, float]:
    """The share of each server, by its name.

    All are watched from the same moment, each for as many whole periods of
    its own as fit into *seconds*.
    """
    with watching(found) as usage:
        begin, before = time.monotonic_ns(), usage()
        measured = {}
        for window, number in sorted(
                (_window_ns(server.claim, seconds), number)
                for number, server in enumerate(found) if server.claim):
            time.sleep(max(0, begin + window - time.monotonic_ns()) / 1e9)
            used = usage()[number] - before[number]
            measured[found[number].name] = used / (
                time.monotonic_ns() - begin)
    return measured


@contextlib.contextmanager
def watching(found: Sequence[host.Server]
             ) -> Iterator[Callable[[], list[int]]]:
    """A function that tells the CPU time of each server, in ns.

    Who calls it is woken on time, and reads all at one go.
    """
    with contextlib.ExitStack() as stack:
        counters = [_open(server, stack) for server in found]
        stack.enter_context(_punctual())
        yield lambda: [_usage(each) for each in counters]


def _window_ns(claim: claims.RTClaim, seconds: float) -> int:
    """Whole periods, at least one."""
    period_ns = claim.reservation.period_us * 1000
    return max(1, round(seconds * 1e9) // period_ns) * period_ns


@contextlib.contextmanager
def _punctual() -> Iterator[None]:
    """Be woken on time, and read all at one go, on the busiest host.

    In the time that an ordinary process waits for a CPU servers get more, or
    less, than in whole periods.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        print('  (cannot be real-time itself, so less exact)')
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _open(server: host.Server, stack: contextlib.ExitStack) -> list[int]:
    """The counters of a server's own tasks."""
    machine = server.below('cpuacct')
    handles = [os.open(machine / group / 'cpuacct.usage', os.O_RDONLY)
               for group in server.own_groups]
    for handle in handles:
        stack.callback(os.close, handle)
    return handles


def _usage(counters: Sequence[int]) -> int:
    """CPU time of a server, in ns."""
    return sum(int(os.pread(handle, 64, 0)) for handle in counters)
