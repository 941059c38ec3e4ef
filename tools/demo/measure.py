# SPDX-License-Identifier: Apache-2.0

"""The share of a CPU that servers get: CPU time over wall time."""

from collections.abc import Iterator, Sequence
import contextlib
import os
import time

from demo import host

PRIORITY = 99


def shares(found: Sequence[host.Server], periods: int) -> dict[str, float]:
    """The share of each server, over whole periods of all.

    The window is *periods* of the longest period, which the shorter ones
    divide in this demonstration.
    """
    longest = max(server.claim.reservation.period_us
                  for server in found if server.claim)
    with contextlib.ExitStack() as stack:
        counters = [_open(server, stack) for server in found]
        stack.enter_context(_punctual())
        begin, before = time.monotonic_ns(), _usage(counters)
        time.sleep(periods * longest / 1e6)
        end, after = time.monotonic_ns(), _usage(counters)
    return {server.name: (now - then) / (end - begin)
            for server, then, now in zip(found, before, after, strict=True)}


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


def _usage(counters: Sequence[Sequence[int]]) -> list[int]:
    """CPU time of each server, in ns."""
    return [sum(int(os.pread(handle, 64, 0)) for handle in handles)
            for handles in counters]
