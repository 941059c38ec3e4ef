# SPDX-License-Identifier: Apache-2.0

"""The CPU time of a server's vCPU on both hosts, every other millisecond.

Runs as a process of its own, the only one that is always on time:
``python -m tests.hosts.meter DOMAIN`` writes a line for each look until it
is ended: ns of the clock, ns of CPU time in all, and whether its thread
waits for something other than the CPU.
"""

from collections.abc import Iterator, Sequence
import contextlib
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from cloud import computes

PRIORITY = 99
INTERVAL_NS = 2_000_000
PERIODS = 10
# Of what libvirt tells, and of what the kernel adds to the counter at ticks.
SLACK_NS = 8_000_000
# An emulated machine waits for a lock of QEMU now and then.
STALL_NS = 8_000_000
CPUACCT = pathlib.Path('/sys/fs/cgroup/cpuacct')


#: moment (ns), CPU time (ns), whether it waits
Sample = tuple[int, int, bool]


@dataclasses.dataclass(frozen=True)
class Window:
    """Some whole periods: where it begins, and the share in it."""

    begin_ns: int
    share: float


@dataclasses.dataclass(frozen=True)
class Samples:
    """The samples, at equal intervals if the host had time."""

    seen: Sequence[Sample]

    def stalls(self) -> list[tuple[int, int]]:
        """Returns when (ns) the vCPU waited for QEMU, not for the CPU."""
        found: list[list[int]] = []
        for moment, _, waits in self.seen:
            if not waits:
                continue
            if not found or moment > found[-1][1] + STALL_NS:
                found.append([moment, moment])
            found[-1][1] = moment
        return [(begin, end) for begin, end in found
                if end - begin >= STALL_NS]

    def windows(self, period_us: int, pauses: Sequence[tuple[int, int]] = ()
                ) -> list[Window]:
        """All windows of ten periods that do not touch *pauses* (ns)."""
        length = PERIODS * period_us * 1000
        found, end = [], 0
        for then, used, _ in self.seen:
            while end < len(self.seen) and self.seen[end][0] < then + length:
                end += 1
            if end == len(self.seen):
                break
            if any(then < last + SLACK_NS and then + length > first - SLACK_NS
                   for first, last in pauses):
                continue
            share = (self._at(end, then + length) - used) / length
            found.append(Window(then, share))
        return found

    def _at(self, number: int, moment: int) -> float:
        """CPU time at a moment up to look *number*."""
        (t0, u0, _), (t1, u1, _) = self.seen[number - 1:number + 1]
        return u0 + (u1 - u0) * (moment - t0) / (t1 - t0)


@contextlib.contextmanager
def watching(domain: str) -> Iterator[list[Sample]]:
    """A list that holds the looks once the with-block has ended."""
    found: list[Sample] = []
    with tempfile.TemporaryFile('w+') as output:
        process = subprocess.Popen(
            [sys.executable, '-m', 'tests.hosts.meter', domain],
            stdout=output, cwd=pathlib.Path(__file__).parents[2])
        try:
            yield found
        finally:
            process.terminate()
            process.wait()
        output.seek(0)
        for line in output.read().splitlines()[:-1]:
            moment, used, waits = map(int, line.split())
            found.append((moment, used, bool(waits)))


def _groups(machines: Sequence[str], suffix: str) -> Iterator[str]:
    for machine in machines:
        with contextlib.suppress(FileNotFoundError):
            yield from (f'{machine}/{name}' for name in os.listdir(machine)
                        if name.endswith(suffix))


def _waits(group: str) -> bool:
    with open(f'{group}/vcpu0/tasks') as tasks:
        thread = tasks.read().split()[0]
    with open(f'/proc/{thread}/stat') as stat:
        return stat.read().rpartition(')')[2].split()[0] != 'R'


def main(domain: str) -> None:
    """Look until the process is ended."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    counters: dict[str, int] = {}
    due = time.monotonic_ns()
    machines = [str(CPUACCT / node.group / 'machine')
                for node in computes.PAIR]
    while True:
        # While it is copied there are two: one waits for the other.
        waits = []
        for group in _groups(machines, f'-{domain}.libvirt-qemu'):
            with contextlib.suppress(OSError, IndexError), open(
                    f'{group}/vcpu0/cpuacct.usage') as usage:
                counters[group] = int(usage.read())
                waits.append(_waits(group))
        print(time.monotonic_ns(), sum(counters.values()),
              int(bool(waits) and all(waits)), flush=True)
        due = max(due + INTERVAL_NS, time.monotonic_ns())
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)


if __name__ == '__main__':
    main(sys.argv[1])
