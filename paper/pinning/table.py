# SPDX-License-Identifier: Apache-2.0

"""Compares time and CPU time of each way with those of vanilla."""

from collections.abc import Callable, Iterator, Sequence
import statistics

from paper.pinning import records
from paper.pinning import ways
from paper.pinning import workloads
from paper import report
from rt_models.colocation import summary

HEADER = ('Work', 'Way', 'n', 'Time s', 'CV', 'of vanilla', 'CPU s', 'CV',
          'of vanilla')
#: The largest parts of vanilla's time and CPU time for a reservation.
TIME, CPU_TIME, CV = 0.85, 1.0, 0.05

Get = Callable[[records.Record], float]
_GETS: tuple[Get, Get] = (lambda one: one.wall_s, lambda one: one.cpu_s)


def ratio(data: records.Data, workload: str, way: str, get: Get) -> float:
    """Returns the mean of a way divided by that of vanilla."""
    return (_mean(data, workload, way, get)
            / _mean(data, workload, 'vanilla', get))


def judged(data: records.Data) -> Iterator[tuple[str, str, bool]]:
    """Yields the results of the reservation, and whether they meet the goals.

    The coefficient of variation is computed from the reserved runs, which must
    be steady.
    """
    for workload in workloads.WORKLOADS:
        runs = data.select(workload, 'reserved')
        if not runs or not data.select(workload, 'vanilla'):
            continue
        time, cpu = (ratio(data, workload, 'reserved', get) for get in _GETS)
        noise = max(summary.cv([get(one) for one in runs]) for get in _GETS)
        yield (workload, f'time {time:.2f}, CPU s {cpu:.2f}, CV '
               f'{100 * noise:.1f} %, n {len(runs)}',
               time <= TIME and cpu <= CPU_TIME and noise <= CV
               and len(runs) >= 5)


def text(data: records.Data) -> str:
    """Returns the table of all ways as reStructuredText."""
    return report.table(HEADER, _rows(data))


def _rows(data: records.Data) -> Iterator[Sequence[object]]:
    for workload in workloads.WORKLOADS:
        for way in ways.WAYS:
            works = data.select(workload, way)
            if works and data.select(workload, 'vanilla'):
                yield workload, way, len(works), *(
                    cell for get in _GETS
                    for cell in _cells(data, workload, way, get))


def _cells(data: records.Data, workload: str, way: str, get: Get
           ) -> Iterator[str]:
    values = [get(one) for one in data.select(workload, way)]
    yield f'{statistics.mean(values):.3f}'
    yield f'{100 * summary.cv(values):.1f} %'
    yield f'{ratio(data, workload, way, get):.2f}'


def _mean(data: records.Data, workload: str, way: str, get: Get) -> float:
    return statistics.mean(map(get, data.select(workload, way)))
