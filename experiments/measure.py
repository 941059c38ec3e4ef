# SPDX-License-Identifier: Apache-2.0

"""Measures a server under a workload, and what the models say to it."""

from collections.abc import Sequence
import csv
import dataclasses
import functools
import math
import pathlib

import numpy as np

from experiments import conditions
from experiments import replay
from experiments import rtwalk
from experiments import samples
from experiments import workload as rt_workload
from nova_rt.model import exact
from nova_rt.model import load as rt_load
from nova_rt.model import paper
from nova_rt import reservation as rt_reservation

PERCENTILE = 0.99
#: Of a run that is disturbed.
_TRIES = 5
#: A client whose 99th percentile is later than this, a quarter of the paper's
#: period, was held up itself, and what it measures is that.
MAX_LATE_US = 500
#: A client that is later than this even once stood still with its own
#: reservation, and most likely the whole machine did; not all of that is in
#: the hypervisor's account.
MAX_STALL_US = 5000
#: Points of denser requests are measured as long as one of this interval.
_LONG_US = 400
_IDLE = rt_workload.Workload(rt_workload.Distribution(500, fixed=True),
                             rt_workload.Distribution(0, fixed=True))
_BITS = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure each point.

    :param warm_up: requests at the start of a run that do not count
    """

    seeds: int = 10
    requests: int = 10_000
    warm_up: int = 1_000
    probes: int = 2_000

    def at(self, interval_us: float) -> 'Effort':
        """More seeds where requests are dense, for the same length of time.

        There a queue takes more requests to forget its state, and the
        intervals would be wider.
        """
        return dataclasses.replace(self, seeds=math.ceil(
            self.seeds * max(1.0, _LONG_US / interval_us)))


#: Of the tests: all that is done, but too few for statistics.
SHORT = Effort(seeds=2, requests=300, warm_up=50, probes=200)


@dataclasses.dataclass(frozen=True)
class Run:
    """One seed at one point; times in us."""

    seed: int
    warm_up: int
    found: samples.Samples
    around: conditions.Conditions

    @functools.cached_property
    def responses(self) -> samples.Floats:
        """Those that count."""
        return self.found.responses_us(self.warm_up)

    @property
    def disturbed(self) -> bool:
        """By the hypervisor, at the server or at the client."""
        return (self.around.disturbed or self.found.late_us > MAX_LATE_US
                or self.found.latest_us > MAX_STALL_US)

    @property
    def p99_us(self) -> float:
        return float(np.percentile(self.responses, 100 * PERCENTILE))


@dataclasses.dataclass(frozen=True)
class Point:
    """All seeds; times in us.

    :ivar delay_us: the way there and back (2 delta)
    :ivar runs: also those that were disturbed, which do not count
    """

    workload: rt_workload.Workload
    delay_us: float
    runs: Sequence[Run]

    @property
    def counted(self) -> Sequence[Run]:
        """The runs that were not disturbed; all, if none was left."""
        return [run for run in self.runs
                if not run.disturbed] or self.runs

    @functools.cached_property
    def mean_us(self) -> samples.Estimate:
        return samples.estimate(
            [float(run.responses.mean()) for run in self.counted])

    @functools.cached_property
    def p99_us(self) -> samples.Estimate:
        """Of all responses; the interval is that of the runs'."""
        every = np.concatenate([run.responses for run in self.counted])
        half = samples.estimate([run.p99_us for run in self.counted]).half
        return samples.Estimate(
            float(np.percentile(every, 100 * PERCENTILE)), half)

    @property
    def lost(self) -> int:
        return sum(run.found.lost for run in self.runs)


def measure(endpoint: rtwalk.Endpoint, client: Sequence[str],
            workload: rt_workload.Workload, effort: Effort,
            samples_to: pathlib.Path | None = None) -> Point:
    """Every seed's requests to a server that runs.

    :param client: the command that starts clients
    :param samples_to: a file of each run's requests, with its seed in the
        name; None: keep none
    """
    probe = rtwalk.ask(endpoint, _IDLE, effort.probes, 0, client)
    # What it costs the server to answer is part of the CPU times below.
    delay = max(0.0, float(probe.responses_us().mean()) - probe.cpu_us())
    runs = []
    for seed in range(1, effort.seeds + 1):
        for _ in range(_TRIES):
            runs.append(_run(endpoint, client, workload, effort, seed))
            if not runs[-1].disturbed:
                break
        if samples_to:
            runs[-1].found.write(samples_to.with_name(
                f'{samples_to.name}-{seed}.csv'))
    return Point(workload, delay, runs)


def _run(endpoint: rtwalk.Endpoint, client: Sequence[str],
         workload: rt_workload.Workload, effort: Effort, seed: int) -> Run:
    with conditions.watched() as around:
        found = rtwalk.ask(endpoint, workload,
                           effort.warm_up + effort.requests, seed, client)
    return Run(seed, effort.warm_up, found, around)


@dataclasses.dataclass(frozen=True, slots=True)
class Prediction:
    """Of a model, in us."""

    mean_us: float
    p99_us: float


#: What :func:`predict` asks: the paper's equations, our model, and the
#: simulator with the very requests that were sent.
MODELS = ('paper', 'exact', 'replay')


def predict(point: Point, reservation: rt_reservation.Reservation,
            megabits: float = math.inf) -> dict[str, Prediction]:
    """What each of MODELS says to a point.

    :raises InvalidLoad: more arrives than is served or sent
    """
    hertz = rt_load.US_PER_S
    workload = point.workload
    load = rt_load.Load(hertz / workload.intervals.mean,
                        hertz / workload.service.mean)
    network = rt_load.Network(
        point.delay_us / 2,
        megabits * hertz / (_BITS * workload.size.mean))
    return {
        'paper': _values(paper.RoundTrip(load, reservation, network)),
        'exact': _values(exact.predict(load, reservation, network)),
        'replay': _replayed(point, reservation, megabits),
    }


def _replayed(point: Point, reservation: rt_reservation.Reservation,
              megabits: float) -> Prediction:
    every = point.delay_us + np.concatenate([
        replay.responses_us(run.found, reservation, megabits)[run.warm_up:]
        for run in point.counted])
    return Prediction(float(every.mean()),
                      float(np.percentile(every, 100 * PERCENTILE)))


def _values(trip: rt_load.Prediction) -> Prediction:
    return Prediction(trip.mean_us, trip.percentile_us(PERCENTILE))


COLUMNS = ('point', 'interval_us', 'service_us', 'size', 'seed', 'requests',
           'lost', 'late_p99_us', 'latest_us', 'server_cpu_us', 'delay_us',
           'mean_us', 'p99_us', 'load_average', 'steal', 'busy', 'seconds',
           'disturbed')


def write(path: pathlib.Path, points: dict[str, Point]) -> None:
    """As CSV, a line for each run of each named point."""
    with path.open('w', newline='', encoding='utf-8') as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for name, point in points.items():
            workload = point.workload
            for run in point.runs:
                around = run.around
                writer.writerow([
                    name, workload.intervals.mean, workload.service.mean,
                    workload.size.mean, run.seed, len(run.responses),
                    run.found.lost, *(f'{value:.1f}' for value in (
                        run.found.late_us, run.found.latest_us,
                        run.found.cpu_us(), point.delay_us,
                        run.responses.mean(), run.p99_us)),
                    f'{around.load_average:.2f}', f'{around.steal:.4f}',
                    f'{around.busy:.3f}', f'{around.seconds:.1f}',
                    int(run.disturbed)])
