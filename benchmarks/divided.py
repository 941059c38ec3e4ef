# SPDX-License-Identifier: Apache-2.0

"""Measures servers with equal periods on one pCPU of RT_GROUP_SCHED.

Run it as root, on a host that has nothing else to do, as ``python -m
benchmarks.divided``.  The servers of each set fit only divided,
and get the budgets and the priorities that nova-compute gives.  In turn, one
server of a set is busy, and each neighbour uses its runtime as late as it can
in one period and as early as it can in the next, again and again.  At the end
all are busy.

The benchmark prints the share of each busy server, as a part of what is
reserved.  Exits with 1 if a server gets less than 0.98 of its share.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
import contextlib
import dataclasses
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from nova_rt.machine.host import ticks
from nova_rt.machine.kernel import base
from nova_rt.machine.kernel import fs
from nova_rt.machine.kernel import rt_group_sched
from nova_rt.machine.kernel import survey
from nova_rt.machine import privsep
from nova_rt.machine.trial import busy
from nova_rt.machine.trial import temporary
from nova_rt.rules import cpus
from nova_rt.rules import defaults
from nova_rt.rules.packing import policies
from nova_rt.rules import reservation
from nova_rt.rules import schedulability

TOP = 'nova-rt-divided'
LEAST = 0.98
_BEFORE_S = 1.0
#: of [nova_rt] min_divided_runtime_us
_MIN_DIVIDED_US = 100
_LEVELS = defaults.GUEST_PRIORITY_MAX - defaults.GUEST_PRIORITY + 1
#: The runtimes of each set, in parts of 1000, and their period in ms.
SETS = (((430, 420), 100), ((300, 275, 250), 200), ((200,) * 4, 400))
#: A measurement begins and ends anywhere in a period.
_PERIODS = 50

#: Busy in the last and the first q of every two periods p; now and then the
#: phase changes.
_NEIGHBOUR = '''
import random, sys, time
q, p = float(sys.argv[1]), float(sys.argv[2])
draw = random.Random(sys.argv[3])
print(flush=True)
now = time.monotonic
while True:
    start = now() + draw.random() * p
    for _ in range(draw.randint(3, 12)):
        time.sleep(max(0, start + p - q - now()))
        while now() < start + p + q: pass
        start += 2 * p
'''


class Neighbour:
    """A process that uses its runtime late, and early again."""

    def __init__(self, cpu: int, wanted: reservation.Reservation,
                 seed: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, '-S', '-c', _NEIGHBOUR,
             str(wanted.runtime_us / 1e6), str(wanted.period_us / 1e6),
             str(seed)], stdout=subprocess.PIPE)
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdout.readline()
        self._process.stdout.close()
        self.pid = self._process.pid
        os.sched_setaffinity(self.pid, {cpu})

    def end(self) -> None:
        """Makes the process ordinary and ends it."""
        os.sched_setscheduler(self.pid, os.SCHED_OTHER, os.sched_param(0))
        self._process.kill()
        self._process.wait()


@dataclasses.dataclass
class Bench:
    """The groups of one set of servers, on one pCPU."""

    interface: base.KernelInterface
    mount: pathlib.Path
    rule: schedulability.FixedPriorities
    cpu: int
    draw: random.Random

    def in_kernel(self, wanted: Sequence[reservation.Reservation],
                  least_us: int) -> list[reservation.Reservation] | None:
        """Returns what the kernel gets; None if the servers do not fit."""
        state = dataclasses.replace(cpus.CpuBandwidth.empty(
            (self.cpu,), round(defaults.CPU_CAP * reservation.PPM), True,
            self.rule), min_divided_us=least_us)
        return cpus.in_kernel(state, wanted, policies.worst_fit)

    def run(self, wanted: Sequence[reservation.Reservation],
            parts: Sequence[reservation.Reservation]) -> float:
        """Prints what each server gets; returns the smallest part."""
        everybody = set(range(len(parts)))
        got = []
        for watched in (*({one} for one in everybody), everybody):
            with self._groups(parts):
                started = self._start(parts, watched)
                time.sleep(_BEFORE_S)
                got.append(_shares(
                    {one: started[one].pid for one in watched},
                    _PERIODS * wanted[0].period_us / 1e6))
                for one in started:
                    one.end()
        for number, (own, part) in enumerate(zip(wanted, parts, strict=True)):
            late, beside = (shares[number] / own.share
                            for shares in (got[number], got[-1]))
            print(f'  {part}: {late:.3f} beside neighbours that are late and '
                  f'early, {beside:.3f} beside busy ones', flush=True)
        return min(shares[number] / wanted[number].share
                   for shares in got for number in shares)

    @contextlib.contextmanager
    def _groups(self, parts: Sequence[reservation.Reservation]
                ) -> Iterator[None]:
        top = self.mount / TOP
        groups = [top / str(number) for number in range(len(parts))]
        with temporary.reaped([*groups, top]):
            for group in (top, *groups):
                temporary.make(group)
            self.interface.reserve({
                f'/{TOP}/{number}': base.Budget(
                    {self.cpu: part.runtime_us}, part.period_us)
                for number, part in enumerate(parts)})
            yield
            time.sleep(2.1 * max(part.period_us for part in parts) / 1e6)
            self.interface.release([f'/{TOP}/{number}'
                                    for number in range(len(parts))])

    def _start(self, parts: Sequence[reservation.Reservation],
               watched: set[int]) -> list[busy.Busy | Neighbour]:
        """Starts a process in each group; *watched* are always busy."""
        started: list[busy.Busy | Neighbour] = [
            busy.Busy({self.cpu}) if number in watched else
            Neighbour(self.cpu, part, self.draw.getrandbits(32))
            for number, part in enumerate(parts)]
        for number, (part, one) in enumerate(zip(parts, started,
                                                 strict=True)):
            (self.mount / TOP / str(number) / 'cgroup.procs').write_text(
                f'{one.pid}\n')
            os.sched_setscheduler(one.pid, os.SCHED_RR, os.sched_param(
                defaults.GUEST_PRIORITY + self.rule.level(part.period_us)))
        return started


def _shares(pids: Mapping[int, int], seconds: float) -> dict[int, float]:
    """Measures the share of processes, by the same keys."""
    before = {one: (time.monotonic_ns(), busy.used_ns(pid))
              for one, pid in pids.items()}
    time.sleep(seconds)
    return {one: (busy.used_ns(pid) - before[one][1])
            / (time.monotonic_ns() - before[one][0])
            for one, pid in pids.items()}


def main() -> int:
    """Runs all sets and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--seed', type=int, default=34)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    privsep.cgroup_pctxt.set_client_mode(False)
    privsep.TOPS = frozenset((TOP,))
    files = fs.RealFS()
    hierarchy = survey.hierarchy_of(files)
    assert hierarchy is not None  # noqa: S101
    interface = rt_group_sched.RtGroupSched(files, hierarchy)
    limit = interface.capacity(f'/{TOP}')
    print(f'{os.uname().release}, tick {ticks.tick_us()} us, seed '
          f'{args.seed}')
    bench = Bench(
        interface, pathlib.Path(hierarchy.mount),
        schedulability.FixedPriorities(_LEVELS, limit.tick_us,
                                       limit.min_period_us),
        max(os.sched_getaffinity(0)), random.Random(args.seed))  # noqa: S311
    good = True
    for thousandths, period_ms in SETS:
        wanted = [reservation.Reservation(one * period_ms, 1000 * period_ms)
                  for one in thousandths]
        parts = bench.in_kernel(wanted, _MIN_DIVIDED_US)
        assert parts is not None  # noqa: S101
        assert bench.in_kernel(wanted, 0) is None  # noqa: S101
        print(', '.join(map(str, wanted)), flush=True)
        good &= bench.run(wanted, parts) >= LEAST
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
