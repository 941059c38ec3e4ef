# SPDX-License-Identifier: Apache-2.0

"""Runs the loop of ``nova-rt advise --apply`` on traces of varying load.

usage: .venv/bin/python -m benchmarks.loop [TRACES] [WINDOWS]

Each trace is simulated request by request, with the reservation that the loop
gives in each window.  The best static reservation is the smallest one that
meets the target in 95 % of the windows.  The loop must meet the target in 95 %
of the windows with at least 20 % less bandwidth, over all traces.  Exits with
1 if a requirement is missed.
"""

import bisect
from collections.abc import Callable
import dataclasses
import math
import random
import statistics
import sys

import numpy as np

from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_monitor import histogram
from rt_operate import advice
from rt_operate import loop

TRACES, WINDOWS, MET, LESS = 10, 60, 0.95, 0.20
WINDOW_S, PARTS, PERIOD_US, WORK_US = 20, 30, 10_000, 2_000.0
TARGET = rt_load.Target(40_000.0, 0.95)
LIMITS = loop.Limits(0.05, 0.95)
SHAPES = ('day', 'steps', 'ramps', 'peaks', 'walk')
Runtimes = Callable[[int], int]


@dataclasses.dataclass
class Server:
    """A CBS server whose runtime changes between windows; times in us."""

    end: float = 0.0
    budget: float = 0.0
    deadline: float = 0.0

    def serve(self, arrival: float, work: float, runtime: int) -> float:
        """Returns when a request ends; the rules are those of ``lone``."""
        if self.end <= arrival:
            self.end = arrival
            if (arrival >= self.deadline or self.budget
                    > (self.deadline - arrival) * runtime / PERIOD_US):
                self.budget, self.deadline = runtime, arrival + PERIOD_US
        self.budget = min(self.budget, runtime)
        while work > self.budget:
            work -= self.budget
            self.end, self.budget = self.deadline, runtime
            self.deadline += PERIOD_US
        self.budget -= work
        self.end += work
        return self.end


def rates(shape: str, windows: int, seed: int) -> list[float]:
    """Returns the arrivals a second in each window, from 20 to 350."""
    draw = random.Random(seed)  # noqa: S311
    low, high = draw.uniform(20, 40), draw.uniform(250, 350)
    phase, level, found = draw.random(), draw.random(), []
    for window in range(windows):
        at = window / windows
        if shape == 'day':
            part = (1 - math.cos(2 * math.pi * (at + phase))) / 2
        elif shape == 'ramps':
            part = abs((2 * at + phase) % 1 * 2 - 1)
        elif shape == 'peaks':
            part = 0.2 + 0.8 * (((3 * at + phase) % 1) > 0.75)
        elif shape == 'steps':
            level = draw.random() if window % 10 == 0 else level
            part = level
        else:
            level = min(1.0, max(0.0, level + draw.gauss(0, 0.05)))
            part = level
        found.append(low + (high - low) * part)
    return found


def requests(each: list[float], seed: int) -> list[list[tuple[float, float]]]:
    """Returns the arrivals and works of each window, both in us."""
    chance, found = np.random.default_rng(seed), []
    for number, rate in enumerate(each):
        begin = number * WINDOW_S * 1e6
        count = chance.poisson(rate * WINDOW_S)
        found.append(list(zip(
            np.sort(chance.uniform(begin, begin + WINDOW_S * 1e6, count)
                    ).tolist(),
            chance.exponential(WORK_US, count).tolist(), strict=True)))
    return found


def watched(number: int, window: list[tuple[float, float]],
            took_us: list[float], runtime: int) -> advice.MeasuredLoad:
    """Returns what the monitor sees of a window."""
    begin, part = number * WINDOW_S * 1e6, WINDOW_S * 1e6 / PARTS
    counts, cpu = [0] * PARTS, [0.0] * PARTS
    for arrival, work in window:
        index = min(PARTS - 1, int((arrival - begin) / part))
        counts[index] += 1
        cpu[index] += work / 1e6
    buckets = [0] * histogram.BUCKETS
    for each in took_us:
        buckets[histogram.bucket_of(int(each * 1000))] += 1
    return advice.MeasuredLoad(
        counts, WINDOW_S, cpu, 1, histogram.Histogram.from_counts(buckets, 0),
        rt_reservation.Reservation(runtime, PERIOD_US), 0)


def run(trace: list[list[tuple[float, float]]],
        decide: Callable[[advice.MeasuredLoad], int] | None, runtime: int
        ) -> tuple[float, float]:
    """Returns the part of windows that meet the target, and the mean share.

    :param decide: None for a static reservation
    """
    server, met, shares = Server(), 0, []
    for number, window in enumerate(trace):
        took = [server.serve(arrival, work, runtime) - arrival
                for arrival, work in window]
        ordered = sorted(took)
        reached = ordered[math.ceil(len(ordered) * 0.95) - 1]
        met += reached <= TARGET.time_us
        shares.append(runtime / PERIOD_US)
        if decide is not None:
            runtime = decide(watched(number, window, took, runtime))
    return met / len(trace), statistics.mean(shares)


def static(trace: list[list[tuple[float, float]]]) -> float:
    """Returns the smallest static share that meets the target."""
    runtimes = range(PERIOD_US // 20, PERIOD_US, PERIOD_US // 100)
    return runtimes[bisect.bisect_left(
        runtimes, True, key=lambda runtime: (
            run(trace, None, runtime)[0] >= MET))] / PERIOD_US


def looped(trace: list[list[tuple[float, float]]]
           ) -> tuple[float, float, int]:
    """Returns what the loop reaches, and how often it changes."""
    controller = loop.Loop(TARGET, LIMITS, rt_kernel.Kernel())
    changes = []

    def decide(measured: advice.MeasuredLoad) -> int:
        wanted = controller.step(measured).runtime_us
        if wanted is not None:
            changes.append(wanted)
        assert measured.reservation is not None  # noqa: S101
        return wanted or measured.reservation.runtime_us

    met, share = run(trace, decide, PERIOD_US // 2)
    return met, share, len(changes)


def main(argv: list[str]) -> int:
    count = int(argv[0]) if argv else TRACES
    windows = int(argv[1]) if len(argv) > 1 else WINDOWS
    kept, saved = [], []
    for seed in range(count):
        shape = SHAPES[seed % len(SHAPES)]
        trace = requests(rates(shape, windows, seed), seed)
        best = static(trace)
        met, share, changes = looped(trace)
        kept.append(met)
        saved.append(1 - share / best)
        print(f'{seed} {shape}: static {best:.2f}; loop {share:.3f} '
              f'({saved[-1]:.0%} less), {met:.1%} of {windows} windows meet '
              f'the target, {changes} changes', flush=True)
    print(f'all: {statistics.mean(kept):.1%} of the windows, '
          f'{statistics.mean(saved):.1%} less bandwidth; worst trace: '
          f'{min(kept):.1%}, {min(saved):.1%}')
    return 0 if (statistics.mean(kept) >= MET
                 and statistics.mean(saved) >= LESS) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
