# SPDX-License-Identifier: Apache-2.0

"""Measures rows of the table: cost and speed of the probe, and the pod."""

from collections.abc import Iterator
import contextlib
import os
import pathlib
import time

from paper.probe import agent
from paper.probe import changes
from paper.probe import records
from paper.probe import stage as rt_stage
from rt_probe import speed

PASSIVE, MEMORY, BURSTS = 'load-passive', 'memory', 'load-bursts'
SPEED, POD = 'speed', 'pod'
#: How long the cost is measured, in s, without the start of Python.
_SECONDS, _START = 40.0, 2.0
#: The requests of the paper's pod and the other one, in milli-CPUs.
_POD, _EXTERNAL = 2000, 1000
_STRESSORS = 4
_POD_S = 5.0
#: A burst of this age was in the latest step.
_NEW_S = 0.5


def passive() -> Iterator[str]:
    """Yields the cells of the passive cost."""
    yield from (f'{kind} P=100 s=0.2 vnf={load} #{number}'
                for load in (0.05, 1.0) for number in (1, 2)
                for kind in (rt_stage.QUOTA, rt_stage.BUDGET))


def memory() -> Iterator[str]:
    """Yields the cells of the resident memory."""
    yield from (f'{out} #{number}' for out in ('json', 'listen', 'burst')
                for number in (1, 2))


def bursts() -> Iterator[str]:
    """Yields the cells of the cost of bursts."""
    yield from (f'{rt_stage.QUOTA} P={period} s=0.5'
                for period in (10, 20, 100))
    yield f'{rt_stage.BUDGET} P=20 s=0.5'


def measure_passive(cell: str) -> records.Record:
    """Returns the CPU time of the probe, in CPUs."""
    kind, load = cell.split()[0], float(cell.split()[3].partition('=')[2])
    with contextlib.ExitStack() as stack:
        stage = stack.enter_context(rt_stage.Stage(kind).up())
        stage.reserve(0.2, 100_000)
        task = stack.enter_context(rt_stage.task(load, stage.cpus))
        stage.enter(task, 0.2, 100_000)
        probe = stack.enter_context(agent.running(stage))
        spent = _spent(probe, _SECONDS)
    return records.Record(PASSIVE, cell, spent)


def _spent(probe: agent.Running, seconds: float) -> float:
    for _ in probe.reports(time.monotonic() + _START):
        pass
    begin, used = time.monotonic(), _cpu_s(probe.pid)
    for _ in probe.reports(begin + seconds):
        pass
    return (_cpu_s(probe.pid) - used) / (time.monotonic() - begin)


def _cpu_s(pid: int) -> float:
    return time.clock_gettime(~pid << 3 | 2)


def measure_memory(cell: str) -> records.Record:
    """Returns the largest resident memory of the probe, in MB."""
    options = {'json': (), 'listen': ('--listen', '0'),
               'burst': ('--burst', 'idle')}[cell.split()[0]]
    with rt_stage.Stage(rt_stage.QUOTA).up() as stage:
        stage.reserve(0.5, 20_000)
        with agent.running(stage, options) as probe:
            for _ in probe.reports(time.monotonic() + 6):
                pass
            text = pathlib.Path(f'/proc/{probe.pid}/status').read_text()
    kilobytes = int(text.partition('VmHWM:')[2].split()[0])
    return records.Record(MEMORY, cell, kilobytes / 1024)


def measure_bursts(cell: str) -> records.Record:
    """Returns the CPU time of an idle probed group over its reservation."""
    kind, period, _ = cell.split()
    period_us = 1000 * int(period.partition('=')[2])
    seconds = max(_SECONDS, 1000 * period_us / 1e6)
    with rt_stage.Stage(kind).up() as stage:
        stage.reserve(0.5, period_us)
        with agent.running(stage, ('--burst', 'idle')) as probe:
            _until_burst(probe, 20)
            begin, used = time.monotonic(), _bursts_cpu_s(stage, probe)
            for _ in probe.reports(begin + seconds):
                pass
            # Whole cycles: else there could be a burst more or less.
            _until_burst(probe, 120)
            spent = _bursts_cpu_s(stage, probe) - used
    return records.Record(BURSTS, cell,
                          spent / 0.5 / (time.monotonic() - begin))


def _until_burst(probe: agent.Running, seconds: float) -> None:
    """Reads reports until one has a new burst."""
    for report in probe.reports(time.monotonic() + seconds):
        if report['method'] == 'burst' and report['age_s'] < _NEW_S:
            return


def _bursts_cpu_s(stage: rt_stage.Stage, probe: agent.Running) -> float:
    """Returns the CPU time of everything but the probe itself, in s."""
    return stage.used_ns() / 1e9 - _cpu_s(probe.pid)


def speeds() -> Iterator[str]:
    """Yields the cells of the speed."""
    yield from (f'#{number + 1}' for number in range(20))


def measure_speed(cell: str) -> records.Record:
    """Returns CPU times of SHA-256 in us on an overloaded machine."""
    with contextlib.ExitStack() as stack:
        for _ in range(12 if os.getloadavg()[0] <= 12 else 0):
            stack.enter_context(rt_stage.task())
        end = time.monotonic() + 90
        while os.getloadavg()[0] <= 10 and time.monotonic() < end:
            time.sleep(1)
        time.sleep(0.5)
        measured = speed.measure()['sha256']
        busy = os.getloadavg()[0] > 10
    return records.Record(SPEED, cell, measured if busy else None)


def pods() -> Iterator[str]:
    """Yields the cells of the pod."""
    yield from (f'#{number + 1}' for number in range(5))


def measure_pod(cell: str) -> records.Record:
    """Returns the time that external load takes from a pod, in two ways.

    The probe reports one value, and the other is measured from outside. This
    repeats Table IV of the paper: four stressors, and pods with shares of two
    CPUs.
    """
    shares = rt_stage.Stage(rt_stage.SHARES)
    with contextlib.ExitStack() as stack:
        stage = stack.enter_context(shares.up())
        stage.weigh(_POD)
        pids = []
        for _ in range(_STRESSORS):
            task = stack.enter_context(rt_stage.task(cpus=None))
            stage.enter(task, 0, 0)
            pids.append(str(task.pid))
        options = [word for pid in pids for word in ('--pid', pid)]
        before = _both(stage, options)
        other = rt_stage.Stage(rt_stage.SHARES,
                               f'{rt_stage.NAME}-other-{os.getpid()}')
        stack.enter_context(other.up())
        other.weigh(_EXTERNAL)
        for _ in range(_STRESSORS):
            other.enter(stack.enter_context(rt_stage.task(cpus=None)), 0, 0)
        after = _both(stage, options)
    reported, truth = (100 * (now / then - 1) if now and then else None
                       for now, then in zip(after, before, strict=True))
    return records.Record(POD, cell, reported, truth)


def _both(stage: rt_stage.Stage, options: list[str]
          ) -> tuple[float | None, float]:
    report, truth = agent.once(
        stage, [*options, '--interval', str(_POD_S)], 100_000, _POD_S)
    return report['available'], truth


ROWS = {
    changes.HALVED: (changes.halved, changes.measure_halved),
    changes.ALARMS: (changes.alarms, changes.measure_alarms),
    changes.IDLE: (changes.idle, changes.measure_idle),
    PASSIVE: (passive, measure_passive), MEMORY: (memory, measure_memory),
    BURSTS: (bursts, measure_bursts), SPEED: (speeds, measure_speed),
    POD: (pods, measure_pod)}
