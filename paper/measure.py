# SPDX-License-Identifier: Apache-2.0

"""Measures a server under a workload: runs of requests, seed by seed."""

from collections.abc import Iterator, Sequence
import dataclasses
import datetime
import pathlib
import secrets

from paper import conditions
from paper import measured
from paper import points
from paper import records
from paper import replay
from paper import rtwalk
from paper import samples
from paper import workload as rt_workload

#: Of a run that is disturbed.
_TRIES = 5
_US_PER_S = 1e6


@dataclasses.dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure each point.

    :param seeds: runs that count, each of its own requests
    :param requests: of each run
    :param warm_up: more of them at the start, which do not count
    :param probes: requests without work before, at most
    """

    seeds: int = 10
    requests: int = 10_000
    warm_up: int = 1_000
    probes: int = 2_000

    def lasting(self, seconds: float, interval_us: float) -> 'Effort':
        """The same with runs of about this length.

        A run has no fewer than LEAST requests, else it has no 99th
        percentile, and no more than there are here.
        """
        fit = round(seconds * _US_PER_S / interval_us)
        return dataclasses.replace(self, requests=min(
            self.requests, max(LEAST, fit)))


LEAST = 400
#: Of the tests: all that is done, but too few for statistics.
SHORT = Effort(seeds=2, requests=300, warm_up=50, probes=200)
#: Seconds of requests without work, and how many there are at least.
_PROBE_S, _PROBES = 0.4, 20


def random_base() -> int:
    """A seed that no earlier command had."""
    return secrets.randbelow(2 ** 40)


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One run, with all its response times in us."""

    record: records.Record
    responses: samples.Floats


class Client:
    """Clients of a server that runs.

    :param command: what starts them
    """

    def __init__(self, endpoint: rtwalk.Endpoint, command: Sequence[str],
                 point: points.Point, effort: Effort) -> None:
        self._endpoint = endpoint
        self._command = command
        self._point = point
        self._effort = effort
        self._delay_us = self._probed()

    def _probed(self) -> float:
        """2 delta, from requests without work.

        They come as often as the others will, since a CPU that has slept
        for longer takes longer to wake up; again, if they are disturbed.
        """
        interval = self._point.interval_us
        count = max(_PROBES, min(self._effort.probes,
                                 round(_PROBE_S * _US_PER_S / interval)))
        idle = rt_workload.Workload(
            rt_workload.Distribution(interval, fixed=True),
            rt_workload.Distribution(0, fixed=True))
        for _ in range(_TRIES):
            with conditions.watched() as around:
                probe = rtwalk.ask(self._endpoint, idle, count, 0,
                                   self._command)
            if measured.LIMITS.within(around.steal, probe.late_us,
                                      probe.latest_us):
                break
        # What it costs the server to answer is part of the CPU times.
        return max(0.0, float(probe.responses_us().mean()) - probe.cpu_us())

    def runs(self, seed: int, samples_to: pathlib.Path | None = None
             ) -> Iterator[Run]:
        """Runs of the same requests, until one is not disturbed.

        :param samples_to: a file of the requests of the last; None: none
        """
        for _ in range(_TRIES):
            run, found = self._run(seed)
            yield run
            if measured.LIMITS.allow(run.record):
                break
        if samples_to:
            found.write(samples_to)

    def _run(self, seed: int) -> tuple[Run, samples.Samples]:
        effort, workload = self._effort, self._point.workload
        start = effort.warm_up + workload.waiting(seed)
        with conditions.watched() as around:
            found = rtwalk.ask(self._endpoint, workload,
                               start + effort.requests, seed, self._command)
        responses = found.responses_us(start)
        return Run(records.Record(
            f'{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%MZ}',
            self._point.name, workload.intervals.mean, workload.service.mean,
            workload.size.mean, seed, len(responses), found.lost,
            found.late_us, found.latest_us, found.cpu_us(), self._delay_us,
            around.load_average, around.steal, around.busy, around.seconds,
            records.Summary.of(responses), self._replayed(found, start)),
            responses), found

    def _replayed(self, found: samples.Samples, start: int
                  ) -> records.Summary | None:
        point = self._point
        if point.reservation is None:
            return None
        times = replay.responses_us(found, point.reservation,
                                    point.queueing_megabits)
        return records.Summary.of(self._delay_us + times[start:])


def measure(endpoint: rtwalk.Endpoint, command: Sequence[str],
            point: points.Point, effort: Effort, seed_base: int,
            directory: pathlib.Path) -> list[Run]:
    """All seeds of a point; the requests of each into a file.

    :param seed_base: the first seed
    :param directory: of these files
    """
    client = Client(endpoint, command, point, effort)
    return [run for number in range(effort.seeds)
            for run in client.runs(
                seed_base + number,
                directory / f'{point.name}-{number + 1}.csv')]


def counted(runs: Sequence[Run]) -> list[samples.Floats]:
    """Response times of the runs that were not disturbed, or else of all."""
    return [run.responses for run in runs
            if measured.LIMITS.allow(run.record)] or [
                run.responses for run in runs]
