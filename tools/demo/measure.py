# SPDX-License-Identifier: Apache-2.0

"""Measures the share of a CPU that servers get: CPU time over wall time."""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import os
import pathlib
import time

from demo import groups
from demo import host

from nova_rt.services.compute import claims

PRIORITY = 99
#: of each server
WINDOWS = 8
#: Of the time of one CPU.  The servers of a full CPU cannot get their shares
#: of time that the hypervisor gave to other machines.
MOST_STOLEN = 0.005
ATTEMPTS = 4
_STAT = pathlib.Path('/proc/stat')
#: The field of a line of /proc/stat, in 1/USER_HZ, after the name of the CPU.
_STEAL = 8


def shares(servers: Sequence[host.Server], seconds: float
           ) -> dict[str, float]:
    """Returns the share of each server, by its name.

    Where the hypervisor took more than MOST_STOLEN of a CPU meanwhile, the
    function says so and measures again, at most ATTEMPTS times.
    """
    for attempt in range(1, ATTEMPTS + 1):
        before, begin = _stolen(), time.monotonic()
        result = _shares(servers, seconds)
        part = max(after - then for after, then in zip(
            _stolen(), before, strict=True)) / (time.monotonic() - begin)
        if part <= MOST_STOLEN:
            break
        print(f'  (the hypervisor took {part:.1%} of a CPU meanwhile: '
              + ('measuring again)' if attempt < ATTEMPTS else
                 'the shares are unclear)'), flush=True)
    return result


def _stolen() -> list[float]:
    """Returns how long the hypervisor took each CPU, in seconds."""
    hertz = os.sysconf('SC_CLK_TCK')
    lines = _STAT.read_text(encoding='ascii').splitlines()
    return [int(fields[_STEAL]) / hertz for fields in map(str.split, lines)
            if fields[0].startswith('cpu') and fields[0] != 'cpu']


def _shares(servers: Sequence[host.Server], seconds: float
            ) -> dict[str, float]:
    """Measures the share of each server once.

    The function measures each server over whole periods of the server, as many
    as end within *seconds*.  The share is the mean over windows that begin at
    different points of the first period, because other servers decide in which
    part of a period the server runs.
    """
    looks = sorted((moment, sign, number)
                   for number, server in enumerate(servers) if server.claim
                   for moment, sign in _window_edges(server.claim, seconds))
    used, passed = [0] * len(servers), [0] * len(servers)
    with watching(servers) as usage:
        begin = time.monotonic_ns()
        for moment, sign, number in looks:
            time.sleep(max(0, begin + moment - time.monotonic_ns()) / 1e9)
            passed[number] += sign * time.monotonic_ns()
            used[number] += sign * usage()[number]
    return {server.name: used[number] / passed[number]
            for number, server in enumerate(servers) if server.claim}


def _window_edges(claim: claims.RTClaim, seconds: float
                  ) -> Iterator[tuple[int, int]]:
    """Returns when windows begin (-1) and end (1), in ns."""
    period_ns = claim.reservation.period_us * 1000
    periods = max(1, round(seconds * 1e9) // period_ns - 1)
    for window in range(WINDOWS):
        begin = window * period_ns // WINDOWS
        yield begin, -1
        yield begin + periods * period_ns, 1


@contextlib.contextmanager
def watching(servers: Sequence[host.Server]
             ) -> Iterator[Callable[[], list[int]]]:
    """Gives a function that returns the CPU time of each server, in ns.

    The calling thread wakes up on time, and then reads all counters one right
    after the other.
    """
    with contextlib.ExitStack() as stack:
        counters = [_open(server, stack) for server in servers]
        stack.enter_context(_punctual())
        yield lambda: [_usage(each) for each in counters]


@contextlib.contextmanager
def _punctual() -> Iterator[None]:
    """Makes this process real-time, so that it wakes on time on a busy host.

    An ordinary process may have to wait for a CPU, and would then not measure
    whole periods.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except PermissionError:
        print('  (this process is not real-time; shares are less exact)')
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _open(server: host.Server, stack: contextlib.ExitStack) -> list[int]:
    """Opens the counters of a server's own tasks."""
    machine = server.below('cpuacct')
    handles = [groups.open_usage(machine / group)
               for group in server.own_groups]
    for handle in handles:
        stack.callback(os.close, handle)
    return handles


def _usage(counters: Sequence[int]) -> int:
    """Returns the CPU time of a server, in ns."""
    return sum(map(groups.usage_ns, counters))
