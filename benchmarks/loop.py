# SPDX-License-Identifier: Apache-2.0

"""Runs the loop of ``nova-rt advise --apply`` on traces of varying load.

usage: .venv/bin/python -m benchmarks.loop [TRACES] [WINDOWS] [FIRST]

Each trace is simulated request by request.  The loop sees only requests that
have been answered, every 5 s, and its changes take effect a second later.  The
seeds of the traces begin with FIRST (default: 0).  The best static reservation
is the smallest one that meets the target in 95 % of the windows.  The loop
must meet the target in 95 % of the windows with at least 20 % less bandwidth,
over all traces.  Exits with 1 if a requirement is missed.
"""

import bisect
import collections
from collections.abc import Callable, Iterable, Iterator
import dataclasses
import itertools
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
WINDOW_S, PERIOD_US, WORK_US, US = 20, 10_000, 2_000.0, 1e6
#: The length of a measurement, the number of its parts, and how long
#: nova-compute needs to make a change.
MEASURE_S, PARTS, LATE_S = 5, 100, 1.0
TARGET = rt_load.Target(40_000.0, 0.95)
LIMITS = loop.Limits(0.05, 0.95)
SHAPES = ('day', 'steps', 'ramps', 'peaks', 'walk')
#: The arrival of a request and its CPU time.
Request = tuple[float, float]
Decide = Callable[[advice.MeasuredLoad], int]


@dataclasses.dataclass(frozen=True)
class Answer:
    """A request that was answered; times in us."""

    arrival: float
    work: float
    end: float

    @property
    def took_us(self) -> float:
        return self.end - self.arrival


@dataclasses.dataclass
class Server:
    """A CBS server whose runtime changes while requests wait; times in us.

    The rules are those of ``lone``.  A new runtime counts from the next time
    that the budget is full again.
    """

    end: float = 0.0
    budget: float = 0.0
    deadline: float = 0.0
    #: The CPU time that the first waiting request still needs, if it began.
    rest: float | None = None
    waiting: collections.deque[Request] = dataclasses.field(
        default_factory=collections.deque)

    def serve(self, arrived: Iterable[Request], until: float, runtime: int
              ) -> Iterator[Answer]:
        """Serves with a runtime until a moment; yields the answers."""
        self.waiting.extend(arrived)
        while self.waiting:
            arrival, work = self.waiting[0]
            if self.rest is None:
                self._begin(arrival, runtime)
                self.rest = work
            if not self._work(until, runtime):
                return
            self.waiting.popleft()
            self.rest = None
            yield Answer(arrival, work, self.end)

    def _begin(self, arrival: float, runtime: int) -> None:
        if self.end <= arrival:
            self.end = arrival
            if (arrival >= self.deadline or self.budget
                    > (self.deadline - arrival) * runtime / PERIOD_US):
                self.budget, self.deadline = runtime, arrival + PERIOD_US

    def _work(self, until: float, runtime: int) -> bool:
        """Serves the first request; returns False if it takes longer."""
        assert self.rest is not None  # noqa: S101
        self.budget = min(self.budget, runtime)
        while self.rest > self.budget:
            self.rest -= self.budget
            self.budget = 0.0
            if self.deadline >= until:
                return False
            self.end, self.budget = self.deadline, runtime
            self.deadline += PERIOD_US
        self.budget -= self.rest
        self.end += self.rest
        return True


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


def requests(each: list[float], seed: int) -> list[Request]:
    """Returns the requests of all windows."""
    chance = np.random.default_rng(seed)
    found: list[Request] = []
    for number, rate in enumerate(each):
        begin = number * WINDOW_S * US
        count = chance.poisson(rate * WINDOW_S)
        found += zip(
            np.sort(chance.uniform(begin, begin + WINDOW_S * US, count)
                    ).tolist(),
            chance.exponential(WORK_US, count).tolist(), strict=True)
    return found


def watched(begin: float, answers: list[Answer], runtime: int
            ) -> advice.MeasuredLoad:
    """Returns what the monitor sees: requests that have been answered."""
    part = MEASURE_S * US / PARTS
    counts, cpu = [0] * PARTS, [0.0] * PARTS
    buckets = [0] * histogram.BUCKETS
    for each in answers:
        index = min(PARTS - 1, int((each.end - begin) / part))
        counts[index] += 1
        cpu[index] += each.work / US
        buckets[histogram.bucket_of(int(each.took_us * 1000))] += 1
    return advice.MeasuredLoad(
        counts, MEASURE_S, cpu, 1, histogram.Histogram.from_counts(buckets, 0),
        rt_reservation.Reservation(runtime, PERIOD_US), 0)


def run(trace: list[Request], windows: int, decide: Decide | None,
        runtime: int) -> tuple[float, float]:
    """Returns the part of windows that meet the target, and the mean share.

    :param decide: None for a static reservation
    """
    server, answers, used, wanted, at = Server(), [], 0.0, runtime, 0
    for begin in range(0, windows * WINDOW_S, MEASURE_S):
        seen: list[Answer] = []
        for first, last in ((begin, begin + LATE_S),
                            (begin + LATE_S, begin + MEASURE_S)):
            until = bisect.bisect_left(trace, (last * US, 0.0))
            seen += server.serve(trace[at:until], last * US, runtime)
            at, used = until, used + (last - first) * runtime
            runtime = wanted
        answers += seen
        if decide is not None:
            wanted = decide(watched(begin * US, seen, runtime))
    answers += server.serve((), math.inf, runtime)
    return met(answers), used / (windows * WINDOW_S * PERIOD_US)


def met(answers: list[Answer]) -> float:
    """Returns the part of the windows whose requests met the target.

    A request counts in the window of its arrival.
    """
    took = collections.defaultdict(list)
    for each in answers:
        took[each.arrival // (WINDOW_S * US)].append(each.took_us)
    return statistics.mean(
        sorted(each)[math.ceil(len(each) * 0.95) - 1] <= TARGET.time_us
        for each in took.values())


def static(trace: list[Request], windows: int) -> float:
    """Returns the smallest static share that meets the target."""
    runtimes = range(PERIOD_US // 20, PERIOD_US, PERIOD_US // 100)
    return runtimes[bisect.bisect_left(
        runtimes, True, key=lambda runtime: (
            run(trace, windows, None, runtime)[0] >= MET))] / PERIOD_US


def looped(trace: list[Request], windows: int) -> tuple[float, float, int]:
    """Returns what the loop reaches, and how often it changes."""
    controller = loop.Loop(TARGET, LIMITS, rt_kernel.Kernel())
    changes = []

    def decide(measured: advice.MeasuredLoad) -> int:
        wanted = controller.step(measured).runtime_us
        if wanted is not None:
            changes.append(wanted)
        assert measured.reservation is not None  # noqa: S101
        return wanted or measured.reservation.runtime_us

    reached, share = run(trace, windows, decide, PERIOD_US // 2)
    return reached, share, len(changes)


def main(argv: list[str]) -> int:
    count, windows, begin = (
        int(given) if given else default for given, default in
        itertools.zip_longest(argv, (TRACES, WINDOWS, 0)))
    kept, saved = [], []
    for seed in range(begin, begin + count):
        shape = SHAPES[seed % len(SHAPES)]
        trace = requests(rates(shape, windows, seed), seed)
        best = static(trace, windows)
        reached, share, changes = looped(trace, windows)
        kept.append(reached)
        saved.append(1 - share / best)
        print(f'{seed} {shape}: static {best:.2f}; loop {share:.3f} '
              f'({saved[-1]:.0%} less), {reached:.1%} of {windows} windows '
              f'meet the target, {changes} changes', flush=True)
    print(f'all: {statistics.mean(kept):.1%} of the windows, '
          f'{statistics.mean(saved):.1%} less bandwidth; worst trace: '
          f'{min(kept):.1%}, {min(saved):.1%}')
    return 0 if (statistics.mean(kept) >= MET
                 and statistics.mean(saved) >= LESS) else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
