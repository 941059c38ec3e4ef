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

#: How often a disturbed run is repeated.
_TRIES = 5
_US_PER_S = 1e6


@dataclasses.dataclass(frozen=True, slots=True)
class Effort:
    """The effort spent on each point.

    :param seeds: number of runs that count, each with requests of its own
    :param requests: number of requests of each run
    :param warm_up: number of requests at the start that do not count
    :param probes: largest number of requests without work before a run
    """

    seeds: int = 10
    requests: int = 10_000
    warm_up: int = 1_000
    probes: int = 2_000

    def lasting(self, seconds: float, interval_us: float) -> 'Effort':
        """Returns the same effort with runs of about this length.

        A run has at least LEAST requests, because fewer requests give no 99th
        percentile, and at most as many requests as this effort.
        """
        fit = round(seconds * _US_PER_S / interval_us)
        return dataclasses.replace(self, requests=min(
            self.requests, max(LEAST, fit)))


LEAST = 400
#: The effort of tests: every step, but too few runs for statistics.
SHORT = Effort(seeds=2, requests=300, warm_up=50, probes=200)
#: The seconds of requests without work, and their least number.
_PROBE_S, _PROBES = 0.4, 20


def random_base() -> int:
    """Returns a seed that no earlier command had."""
    return secrets.randbelow(2 ** 40)


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One run, with all its response times in us."""

    record: records.Record
    responses: samples.Floats


class Client:
    """The clients of a running server.

    :param command: the command that starts the clients
    """

    def __init__(self, endpoint: rtwalk.Endpoint, command: Sequence[str],
                 point: points.Point, effort: Effort) -> None:
        self._endpoint = endpoint
        self._command = command
        self._point = point
        self._effort = effort
        self._delay_us = self._probed()

    def _probed(self) -> float:
        """Measures 2 delta by requests without work.

        These requests are sent at the rate of the runs, because a CPU that has
        slept longer takes longer to wake up.  A disturbed measurement is
        repeated.
        """
        interval = self._point.interval_us
        count = max(_PROBES, min(self._effort.probes,
                                 round(_PROBE_S * _US_PER_S / interval)))
        idle = rt_workload.Workload(
            rt_workload.Distribution(interval, fixed=True),
            rt_workload.Distribution(0, fixed=True))
        for _ in range(_TRIES):
            with conditions.recorded() as around:
                probe = rtwalk.ask(self._endpoint, idle, count, 0,
                                   self._command)
            if measured.LIMITS.within(around.steal, probe.late_us,
                                      probe.latest_us):
                break
        # The CPU times of requests include the cost of an answer.
        return max(0.0, float(probe.responses_us().mean()) - probe.cpu_us())

    def runs(self, seed: int, samples_to: pathlib.Path | None = None
             ) -> Iterator[Run]:
        """Repeats a run with the same requests until no disturbance occurs.

        :param samples_to: a file for the requests of the last run, or None
        """
        for _ in range(_TRIES):
            run, answers = self._run(seed)
            yield run
            if measured.LIMITS.allow(run.record):
                break
        if samples_to:
            answers.write(samples_to)

    def _run(self, seed: int) -> tuple[Run, samples.Samples]:
        effort, workload = self._effort, self._point.workload
        start = effort.warm_up + workload.waiting(seed)
        with conditions.recorded() as around:
            sample = rtwalk.ask(self._endpoint, workload,
                                start + effort.requests, seed, self._command)
        responses = sample.responses_us(start)
        return Run(records.Record(
            f'{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%MZ}',
            self._point.name, workload.intervals.mean, workload.service.mean,
            workload.size.mean, seed, len(responses), sample.lost,
            sample.late_us, sample.latest_us, sample.cpu_us(), self._delay_us,
            around.load_average, around.steal, around.busy, around.seconds,
            records.Summary.from_times(responses),
            self._replayed(sample, start)), responses), sample

    def _replayed(self, answers: samples.Samples, start: int
                  ) -> records.Summary | None:
        point = self._point
        if point.reservation is None:
            return None
        times = replay.responses_us(answers, point.reservation,
                                    point.queueing_megabits)
        return records.Summary.from_times(self._delay_us + times[start:])


def measure(endpoint: rtwalk.Endpoint, command: Sequence[str],
            point: points.Point, effort: Effort, seed_base: int,
            directory: pathlib.Path) -> list[Run]:
    """Measures all seeds of a point; writes the requests of each to a file.

    :param seed_base: the first seed
    :param directory: the directory of these files
    """
    client = Client(endpoint, command, point, effort)
    return [run for number in range(effort.seeds)
            for run in client.runs(
                seed_base + number,
                directory / f'{point.name}-{number + 1}.csv')]


def counted(runs: Sequence[Run]) -> list[samples.Floats]:
    """Returns response times of undisturbed runs, else of all runs."""
    return [run.responses for run in runs
            if measured.LIMITS.allow(run.record)] or [
                run.responses for run in runs]
