# SPDX-License-Identifier: Apache-2.0

"""Measures rows of the table: halved reservations, and false alarms."""

from collections.abc import Iterator
import contextlib
import itertools
import statistics
import time

from paper.probe import agent
from paper.probe import records
from paper.probe import stage as rt_stage

HALVED, IDLE, ALARMS = 'halved', 'idle-halved', 'alarms'
_BEFORE, _AFTER = 0.6, 0.3
#: The demand of the VNF in CPUs, more than the halved share.
_DEMANDS = {'0.35': 0.35, '0.5': 0.5, 'all': 1.0}
#: How long to wait for a report that should come: longer than --max-load may
#: delay a burst.
_PATIENCE_S = 10.0
_PATIENCE_PERIODS = 1500
#: A step that differs from the usual one by this much is a change.
_REAL = 0.25
#: The length in s of each of many pieces of time without a change.
PIECE_S, PIECES = 60.0, 12
_OF_QUOTA = 10


def halved() -> Iterator[str]:
    """Returns cells with each demand and both kinds."""
    for kind, demand, number in itertools.product(
            (rt_stage.QUOTA, rt_stage.BUDGET), _DEMANDS, range(3)):
        yield f'{kind} P=100 vnf={demand} #{number + 1}'


def idle() -> Iterator[str]:
    """Returns cells; those of 100 ms take a minute each."""
    for kind, period_ms, number in itertools.product(
            (rt_stage.QUOTA, rt_stage.BUDGET), (10, 20), range(3)):
        yield f'{kind} P={period_ms} #{number + 1}'
    yield from (f'{rt_stage.QUOTA} P=100 #{number}' for number in (1, 2))


def alarms() -> Iterator[str]:
    """Returns cells of a minute each; most use a quota."""
    for number in range(PIECES):
        kind = rt_stage.QUOTA if number < _OF_QUOTA else rt_stage.BUDGET
        yield f'{kind} P=100 s=0.1 #{number + 1}'


@contextlib.contextmanager
def _stage(kind: str, share: float, period_us: int
           ) -> Iterator[rt_stage.Stage]:
    with rt_stage.Stage(kind).up() as stage, rt_stage.watching():
        stage.reserve(share, period_us)
        yield stage


def measure_halved(cell: str) -> records.Record:
    """Returns the seconds from the change to the report that shows it."""
    kind, _, demand, _ = cell.split()
    part = _DEMANDS[demand.partition('=')[2]]
    with _stage(kind, _BEFORE, 100_000) as stage, rt_stage.task(
            part, stage.cpus) as task:
        stage.enter(task, _BEFORE, 100_000)
        with agent.running(stage) as probe:
            for _ in probe.reports(time.monotonic() + 4):
                pass
            stage.reserve(_AFTER, 100_000)
            delay = _delay_s(probe, time.monotonic(), _PATIENCE_S,
                             (_BEFORE + _AFTER) / 2)
    return records.Record(HALVED, cell, delay)


def _delay_s(probe: agent.Running, start: float, patience: float, below: float
             ) -> float | None:
    """Returns when the probe first reports less than this share."""
    for report in probe.reports(start + patience):
        if report['available'] is not None and report['available'] < below:
            return time.monotonic() - start
    return None


def measure_idle(cell: str) -> records.Record:
    """Returns how many periods bursts need to report the change."""
    kind, period, _ = cell.split()
    period_us = 1000 * int(period.partition('=')[2])
    periods_s = period_us / 1e6
    with _stage(kind, _BEFORE, period_us) as stage, agent.running(
            stage, ('--burst', 'idle')) as probe:
        for report in probe.reports(time.monotonic() + 30):
            if report['method'] == 'burst' and (
                    report['available'] > (_BEFORE + _AFTER) / 2):
                break
        stage.reserve(_AFTER, period_us)
        delay = _delay_s(probe, time.monotonic(),
                         _PATIENCE_PERIODS * periods_s,
                         (_BEFORE + _AFTER) / 2)
    return records.Record(IDLE, cell, delay and delay / periods_s)


def measure_alarms(cell: str) -> records.Record:
    """Returns how often the probe reports a change while nothing changes.

    A step in which the group really got another share, as seen from outside,
    is not a false alarm: a quota is not a guarantee.
    """
    kind = cell.split()[0]
    shares: list[float] = []
    count = 0
    with (_stage(kind, 0.1, 100_000) as stage,
          rt_stage.task(1.0, stage.cpus) as task):
        stage.enter(task, 0.1, 100_000)
        with agent.running(stage) as probe:
            at, used = time.monotonic(), stage.used_ns()
            for report in probe.reports(at + PIECE_S):
                now, now_used = time.monotonic(), stage.used_ns()
                shares.append((now_used - used) / 1e9 / (now - at))
                at, used = now, now_used
                usual = statistics.median(shares)
                count += (report['changed_from'] is not None
                          and abs(shares[-1] / usual - 1) <= _REAL)
    return records.Record(ALARMS, cell, float(count),
                          min(shares[2:]) / statistics.median(shares))
