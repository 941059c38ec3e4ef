# SPDX-License-Identifier: Apache-2.0

"""rt-probe in a guest whose vCPU is a SCHED_DEADLINE thread.

The truth is the CPU time that the host counts for the thread of the vCPU.
The reports of one guest are judged together: the smallest time from the time
that a report gives until the report arrives is the difference of the clocks.
"""

import collections
from collections.abc import Callable
import contextlib
import dataclasses
import os
import random
import sys
from typing import Any

from tests.full.kernel.kvm import host as hosts
from tests.full.kernel.kvm import plain
from tests.full.kernel.kvm import pythons
from tests.full.kernel import pinned
from tests.full.probe import truth
from tests import seeds

#: ``NOVA_RT_PROBES=43`` is the number of reports, instead of a few.
_REPORTS = int(os.environ.get('NOVA_RT_PROBES', '6'))
#: A share is measured this exactly while the probe may not run.
_EXACT = 0.005


@dataclasses.dataclass(frozen=True)
class Draw:
    """The random values of one report.

    :ivar loads: busy loops in the guest, beside the probe
    :ivar noise: whether busy ordinary tasks run on the host
    :ivar told: whether the probe is told the period
    :ivar burst: whether the probe may use up the reservation
    """

    share: float
    period_us: int
    loads: int
    noise: bool
    told: bool
    burst: bool

    @property
    def runtime_us(self) -> int:
        return round(self.share * self.period_us)

    @property
    def options(self) -> tuple[str, ...]:
        return ('--interval', str(truth.SECONDS),
                *(('--period-us', str(self.period_us)) if self.told else ()),
                *(('--burst', 'idle') if self.burst else ()))


def draw(rng: random.Random) -> Draw:
    """Draws a reservation and loads; bursts need a guest that is idle."""
    loads = rng.choice([0, 0, 1, 2])
    return Draw(rng.uniform(0.15, 0.85), rng.choice([20_000, 100_000]),
                loads, rng.choice([True, True, False]),
                rng.choice([True, False]), not loads and rng.random() < 0.6)


def probe(host: hosts.Host) -> None:
    """Compares reports of rt-probe in a guest with the truth."""
    if not isinstance(host.maker, plain.Maker):
        raise pinned.Wrong('Linux is booted without libvirt only')
    rng = seeds.sample('rt-probe in a guest')
    judges = []
    with pythons.Python(host.maker) as guest:
        guest.guest.resume()
        guest.wait()
        for _ in range(_REPORTS):
            judges.append(_report(host, guest, draw(rng)))
    _judge(host, judges)


#: A report, how long after its time the report arrived, in s, and the function
#: that compares the report with the truth, by the difference of the clocks.
_Report = tuple[dict[str, Any], float, Callable[[float], truth.Result]]


def _report(host: hosts.Host, guest: pythons.Python, drawn: Draw) -> _Report:
    host.apply(guest.guest, drawn.runtime_us, drawn.period_us)
    with host.noise() if drawn.noise else contextlib.nullcontext():
        with truth.followed(guest.guest.used_ns, _favour) as readings:
            said, arrived = guest.probe(drawn.loads, drawn.options)
        print(drawn, said, file=sys.stderr, flush=True)
        limit = drawn.share + _EXACT
        if said['method'] == 'burst':
            guest.spin(1)
            share, = host.measure(guest.guest.vcpus)
            guest.spin(0)
            return said, arrived - said['at'], lambda _: _burst(
                said, share, limit)
    return said, arrived - said['at'], lambda offset: truth.judge(
        said, readings, limit, offset, cpus=1)


def _burst(said: dict[str, Any], share: float, limit: float) -> truth.Result:
    """Compares a burst with the share of a busy guest right after."""
    result = truth.Result(said, share, share, limit, '')
    if not said['lower'] - _EXACT <= share <= said['upper'] + _EXACT:
        return result._replace(wrong='the interval excludes the truth')
    return result


def _favour() -> None:
    """Lets the thread run whenever no SCHED_DEADLINE thread runs."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))


def _judge(host: hosts.Host, reports: list[_Report]) -> None:
    offset = min(late for _, late, _ in reports)
    results = [judged(offset) for _, _, judged in reports]
    for result in results:
        said = result.said
        print(f'{said["method"]} {said["available"]} [{said["lower"]}, '
              f'{said["upper"]}] truth {result.least:.4f} to '
              f'{result.most:.4f} {result.wrong}', file=sys.stderr, flush=True)
    host.found['clocks differ by, s'] = round(offset, 3)
    host.found['reports by method'] = collections.Counter(
        result.said['method'] for result in results)
    host.found['widest interval'] = max(
        (result.said['upper'] - result.said['lower'] for result in results
         if result.said['available'] is not None), default=0.0)
    wrong = [(result.said, result.wrong) for result in results
             if result.wrong]
    pinned.expect(not wrong, f'{len(wrong)} of {len(results)}: {wrong}')


CASES = {'probe': probe}
