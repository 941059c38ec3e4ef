# SPDX-License-Identifier: Apache-2.0

"""What the monitor costs those that it watches.

usage: .venv/bin/python benchmarks/monitor.py [rounds]

A context switch (two processes that pass a byte to and fro on one CPU) and a
load that only computes, in a group that is watched and without the programs
in the kernel, in turn: CPU time of the processes, minimum and median of the
rounds with the spread of the middle half.  Where that is wider than what is
measured, the line says "too noisy".  Needs root and cgroup v1; exits 1 for a
context switch above 300 ns or a computation 0.5 % slower, unless too noisy.
"""

from collections.abc import Callable, Iterator
import contextlib
import os
import pathlib
import statistics
import sys

from nova_rt.monitor import sched
from nova_rt.monitor import servers

ROUNDS = 20
LIMIT_NS, LIMIT_PART = 300, 0.005
EXCHANGES = 20_000
#: Each exchange is two switches.
SWITCHES = 2 * EXCHANGES
CPU = 1
GROUP = pathlib.Path('/sys/fs/cgroup/cpu/nova-rt-bench-monitor')


def ping_pong() -> None:
    """Pass a byte to a child and back."""
    there, back = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        for _ in range(EXCHANGES):
            os.read(there[0], 1)
            os.write(back[1], b'x')
        os._exit(0)
    for _ in range(EXCHANGES):
        os.write(there[1], b'x')
        os.read(back[0], 1)
    os.waitpid(child, 0)


def compute() -> None:
    """Compute for half a second, about."""
    total = 0
    for number in range(6_000_000):
        total += number & 7


def cpu_s(load: Callable[[], None]) -> float:
    """The CPU time of a load in a process of its own, in s."""
    child = os.fork()
    if not child:
        (GROUP / 'cgroup.procs').write_text('0')
        os.sched_setaffinity(0, {CPU})
        load()
        os._exit(0)
    _, _, usage = os.wait4(child, 0)
    return usage.ru_utime + usage.ru_stime


@contextlib.contextmanager
def watched() -> Iterator[None]:
    with contextlib.closing(sched.Scheduler()) as scheduler:
        scheduler.apply(servers.Register().update([servers.Server(
            'bench', {servers.WHOLE: os.stat(GROUP).st_ino})]))
        yield


def measure(load: Callable[[], None], rounds: int
            ) -> tuple[list[float], list[float]]:
    """CPU times without and with the programs, in s."""
    without, under = [], []
    for _ in range(rounds):
        without.append(cpu_s(load))
        with watched():
            under.append(cpu_s(load))
    return without, under


def report(name: str, found: tuple[list[float], list[float]],
           unit: Callable[[float], float], shown: str, limit: float) -> bool:
    """Print a line; whether it is within the limit or cannot be told."""
    without, under = found
    extra = unit(min(under) - min(without))
    middle = unit(statistics.median(under) - statistics.median(without))
    low, _, high = statistics.quantiles(
        [b - a for a, b in zip(without, under, strict=True)], n=4)
    spread = unit(high - low)
    noisy = spread > max(limit, abs(extra))
    print(f'{name}: minimum +{extra:{shown}}, median {middle:+{shown}}, '
          f'spread {spread:{shown}}, at most {limit:{shown}}'
          + (': too noisy' if noisy else ''))
    return noisy or extra <= limit


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    GROUP.mkdir()
    try:
        switches = measure(ping_pong, rounds)
        loads = measure(compute, rounds)
    finally:
        GROUP.rmdir()
    return 0 if all((
        report('context switch, ns', switches,
               lambda extra: extra / SWITCHES * 1e9, '.0f', LIMIT_NS),
        report('computation', loads,
               lambda extra: extra / min(loads[0]), '.2%', LIMIT_PART),
    )) else 1


if __name__ == '__main__':
    sys.exit(main())
