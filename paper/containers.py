# SPDX-License-Identifier: Apache-2.0

"""Repeats Fig. 8 and rows of Table 3 in containers of Nova.

All times are multiples of the paper's, so that a kernel that checks a budget
only at its ticks can keep the period.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import dataclasses

from nova_rt.rules import reservation as rt_reservation
from paper import bench
from paper.fig8 import pairs
from paper import isolation
from paper import measure
from paper import measured
from paper import nova
from paper import points
from paper import published
from paper import records
from paper import report
from paper import room
from paper import samples
from paper import scheduling
from paper import workload as rt_workload

#: A period of 100 ms, 25 ticks of a kernel with 250 a second.
SCALE = 50
#: Requests are rarer by the same factor, so a tenth of them must be enough.
FEWER = 10
#: The interval in us; Table 3 has several.
INTERVAL_US = 400
#: The rows of Table 3 that are measured.
_ROWS = published.TABLE3[:3]
HEADER = ('LD', 'Q/P', 'Measured us', 'Paper', 'Exact', 'Replay')


def _reservation(share: float) -> rt_reservation.Reservation:
    period = published.PERIOD_US * SCALE
    return rt_reservation.Reservation(round(share * period), period)


class Containers:
    """A server in a container of Nova; see isolation.Server."""

    def __init__(self, cloud: nova.Cloud, settings: bench.Settings) -> None:
        self._cloud = cloud
        self._directory = settings.directory
        effort = settings.effort
        self._effort = dataclasses.replace(
            effort, seeds=min(3, effort.seeds),
            requests=effort.requests // FEWER,
            warm_up=effort.warm_up // FEWER)
        self._seed_base = settings.seed_base
        self.records: list[records.Record] = []

    @contextlib.contextmanager
    def running(self, scheduler: str) -> Iterator[Sequence[str]]:
        share = pairs.RESERVATION.runtime_us / pairs.RESERVATION.period_us
        reservation = None if scheduler == 'fair' else _reservation(share)
        with self.reserved(reservation) as client:
            yield client

    @contextlib.contextmanager
    def reserved(self, reservation: rt_reservation.Reservation | None
                 ) -> Iterator[Sequence[str]]:
        """Yields the command that starts clients."""
        with self._cloud.server(reservation):
            yield (*scheduling.BESIDE, str(scheduling.CLIENT_CPU))

    def ask(self, client: Sequence[str], point: points.Point
            ) -> list[measure.Run]:
        """Sends the requests of a point."""
        runs = measure.measure(
            self._cloud.endpoint, client, point, self._effort,
            self._seed_base, self._directory)
        self.records.extend(run.record for run in runs)
        return runs

    def measure(self, client: Sequence[str], title: str
                ) -> list[samples.Floats]:
        return measure.counted(self.ask(
            client, points.Point(title, pairs.PAIRS['slower'].workload)))


def run(settings: bench.Settings) -> str:
    """Measures everything; returns two tables."""
    room.require(_reservation(max(row.share for row in _ROWS)))
    with nova.up() as cloud:
        containers = Containers(cloud, settings)
        cases = isolation.run(containers, lambda _: cloud.noise())
        rows = [_row(containers, row) for row in _ROWS]
    records.write(settings.directory / 'containers.csv', containers.records)
    isolation.plot(cases, settings.directory / 'containers.png')
    return f'{isolation.table(cases, SCALE)}\n{report.table(HEADER, rows)}'


def _row(containers: Containers, row: published.Row) -> Sequence[str]:
    """Returns the measured mean and p99, and the errors of the models."""
    reservation = _reservation(row.share)
    interval = rt_workload.Distribution(INTERVAL_US * SCALE)
    point = points.Point(
        f'{row.load}-{row.share}', rt_workload.Workload(
            interval, dataclasses.replace(
                interval, mean=row.load * interval.mean)), reservation)
    with containers.reserved(reservation) as client:
        runs = containers.ask(client, point)
    results = measured.Measured(point, [run.record for run in runs])
    return [str(row.load), str(row.share),
            ' / '.join(f'{results.value(statistic)[0]:.0f}'
                       for statistic in measured.STATISTICS),
            *(_errors(results, prediction.value)
              for prediction in results.predicted.values()),
            _errors(results, lambda name: float(results.replayed(name)[0]))]


def _errors(runs: measured.Measured, model: Callable[[str], float]) -> str:
    both = [100 * (model(statistic) / float(runs.value(statistic)[0]) - 1)
            for statistic in measured.STATISTICS]
    return '{:+.1f} / {:+.1f} %'.format(*both)
