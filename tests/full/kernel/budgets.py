# SPDX-License-Identifier: Apache-2.0

"""The monitor's account of exhausted budgets beside the task's own clock.

A container has a reservation, by whatever interface this kernel has, and
looks at the clock without a break: alone, beside an ordinary busy task, and
beside another busy container with a reservation on the same CPU.  As root,
on a host that may die::

    python -m tests.full.kernel.budgets --periods 30
"""

import argparse
from collections.abc import Iterator
import contextlib
import dataclasses
import json
import logging
import os
import pathlib
import sys
import tempfile
import time

from nova_rt.machine.host import files as host_files
from nova_rt.machine.trial import busy
from nova_rt.rules import exception
from rt_monitor import budgets
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import waits
from tests.full.kernel import guests
from tests.full.kernel import host as hosts
from tests.full.kernel import summary

_CPU = 0
_UUID = 'watched'
_MS = 1_000_000
#: of each vCPU, in ms
RESERVATIONS = ((8, 100), (20, 100), (10, 40), (200, 500), (300, 1000))
#: of the other container, in ms
_OTHER = (30, 100)
#: Shorter gaps come from interrupts.
_GAP_NS = _MS
COMPANY = ('alone', 'ordinary', 'reserved')
#: How far the time without budget, and the CPU time, may be off.
TOLERANCE, _CPU_TIME = 0.002, 0.001
_PATIENCE_SECONDS = 300


@dataclasses.dataclass(frozen=True)
class Measurement:
    """One container, by its own clocks and by the monitor.

    :ivar gaps: the gaps, in ns
    :ivar long: the number of gaps of a whole period without budget
    :ivar used_s: the CPU time in seconds, by the clocks of its processes
    """

    gaps: list[int]
    long: int
    used_s: float
    usage: waits.Usage

    @property
    def off(self) -> float:
        """Returns gaps minus exhausted and lost time, as a part of the gaps.

        A gap ends when the task runs, so the gap contains the time that others
        used before that.  A result below 0 means that the time without budget
        is longer than the gaps.
        """
        late = sum(self.gaps) - self.usage.counts.starved
        return (late if late < 0 else max(0, late - self.usage.lost_ns)
                ) / max(1, sum(self.gaps))

    def faults(self, periods: int) -> Iterator[str]:
        counts = self.usage.counts
        # A budget that ends late in a period makes a short gap: if another
        # task goes first, or if the first period had only a rest of the
        # budget.
        if counts.exhausted < periods - 1:
            yield f'{counts.exhausted} exhausted in {periods} periods'
        if not self.long <= counts.exhausted <= len(self.gaps):
            yield (f'{counts.exhausted} exhausted, {self.long} to '
                   f'{len(self.gaps)} gaps')
        if abs(self.off) > TOLERANCE:
            yield f'time without budget is {self.off:.2%} off'
        ran_s = self.usage.totals.ran / 1e9
        if abs(ran_s - self.used_s) > _CPU_TIME * self.used_s:
            yield f'{ran_s:.6f} s ran, of {self.used_s:.6f}'


class Watch:
    """The programs of the monitor, for one guest from now on.

    :raises LookupError: they do not see budgets on this kernel
    """

    def __init__(self, source: sched.Scheduler, guest: guests.Guest) -> None:
        if not source.sees_budgets():
            raise LookupError(budgets.why_not(host_files.Host())
                              or 'no group has a budget')
        self._source = source
        self._register = servers.Register()
        source.apply(self._register.update([servers.Watched(
            _UUID, {servers.WHOLE: os.stat(guest.paths[0]).st_ino})]))

    def usage(self) -> waits.Usage:
        return self._source.read(self._register)[_UUID].whole


@contextlib.contextmanager
def company(kind: str, machine: guests.Guests, host: hosts.Host
            ) -> Iterator[None]:
    """Starts the busy neighbours on the same CPU."""
    if kind == 'ordinary':
        other = busy.Busy({_CPU}, 3600)
        try:
            yield
        finally:
            other.kill()
    elif kind == 'reserved':
        with reserved(machine, host, *_OTHER, guests.BUSY):
            yield
    else:
        yield


@contextlib.contextmanager
def reserved(machine: guests.Guests, host: hosts.Host, runtime_ms: int,
             period_ms: int, program: str) -> Iterator[guests.Guest]:
    """Yields a container with a reservation, and removes all afterwards."""
    guest = machine.start(1, program)
    try:
        host.enforcer.apply(guest.pid, hosts.claim(
            runtime_ms * 1000, period_ms * 1000, _CPU))
        yield guest
    finally:
        try:
            host.enforcer.release(guest.pid)
        finally:
            guest.kill()
            guest.remove()
            host.enforcer.settle()


def wait_for(file: pathlib.Path) -> None:
    """:raises TimeoutError: it is not made"""
    end = time.monotonic() + _PATIENCE_SECONDS
    while not file.exists():
        if time.monotonic() > end:
            raise TimeoutError(f'the container does not make {file.name}')
        time.sleep(.05)


def measure(machine: guests.Guests, host: hosts.Host, kind: str,
            wanted: tuple[int, int], periods: int) -> Measurement:
    """Watches one container for some periods.

    :raises TimeoutError: it does not tell its gaps
    """
    runtime, period = wanted
    with tempfile.TemporaryDirectory() as folder:
        go, told = pathlib.Path(folder, 'go'), pathlib.Path(folder, 'found')
        program = ' '.join(map(str, (
            sys.executable, '-m', 'tests.full.kernel.gaps', go, told,
            periods * period * _MS, _GAP_NS, '& ')))
        with (company(kind, machine, host),
              reserved(machine, host, *wanted, program) as guest,
              contextlib.closing(sched.Scheduler()) as source):
            wait_for(pathlib.Path(f'{go}.ready'))
            time.sleep(3 * period / 1000)
            watch = Watch(source, guest)
            before = guest.cpu_seconds()
            go.touch()
            wait_for(told)
            time.sleep(3 * period / 1000)
            usage = watch.usage()
            gaps = [int(word) for word in told.read_text().split()]
            least = (period - runtime) * _MS // 2
            return Measurement(gaps, sum(gap > least for gap in gaps),
                               guest.cpu_seconds() - before, usage)


def campaign(periods: int) -> dict[str, object]:
    """The report."""
    machine, host = guests.Guests(), hosts.Host.find()
    wrong: list[str] = []
    found: list[Measurement] = []
    for kind in COMPANY:
        for wanted in RESERVATIONS:
            case = '{}/{} ms, {}'.format(*wanted, kind)
            try:
                found.append(measure(machine, host, kind, wanted, periods))
            except (exception.RTError, LookupError, TimeoutError) as error:
                wrong.append(f'{case}: {error}')
                continue
            wrong += [f'{case}: {each}' for each
                      in found[-1].faults(periods)]
            print(case, found[-1].long, found[-1].usage.counts.exhausted,
                  f'{found[-1].off:.3%}', file=sys.stderr, flush=True)
    machine.close()
    exhausted = sum(each.usage.counts.exhausted for each in found)
    worst = max((abs(each.off) for each in found), default=1.0)
    return {'kernel': os.uname().release, 'interface': host.interface.name,
            'wrong': wrong, 'sentence': (
                f'{exhausted} exhausted budgets in {len(found)} cases, time '
                f'without budget within {worst:.2%}, {len(wrong)} wrong'),
            'complaints': summary.complaints(summary.kernel_log())}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--periods', type=int, default=30)
    args = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    report = campaign(args.periods)
    print(json.dumps(report))
    return bool(report['wrong'])


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
