# SPDX-License-Identifier: Apache-2.0

"""The data of an experiment: a CSV file with a line for each run.

All tables and figures of the models are made from these files, so that a later
command can add runs, and a reader can make the tables again.
"""

from collections.abc import Iterable, Sequence
import dataclasses
import pathlib
from typing import Any

import numpy as np

from nova_rt.rules import exception
from paper import samples
from rt_models.colocation import csvfile

#: The quantiles that are kept of a run, as parts of all requests.
LEVELS = (0.5, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)
_PERCENT = [f'p{100 * level:g}_us' for level in LEVELS]


class BadData(exception.RTError):
    """The file that the command should continue is not a file of runs."""

    msg_fmt = ('%(path)s is not a file of runs: %(reason)s.  Name another '
               'file with --data.')


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """The response times of a run, in us.

    :param quantiles_us: the quantiles at LEVELS; the last is the longest time
    """

    mean_us: float
    quantiles_us: tuple[float, ...]

    @classmethod
    def from_times(cls, times: samples.Floats) -> 'Summary':
        """Returns the summary of response times."""
        return cls(float(times.mean()), tuple(
            np.quantile(times, LEVELS).tolist()))

    def survival(self, times_us: samples.Floats, requests: int
                 ) -> samples.Floats:
        """Returns, for each time, the part of the requests that took longer.

        Between two quantiles the part falls exponentially, as in queues.

        :param requests: the number of requests
        """
        parts = np.maximum(1 - np.array((0, *LEVELS)), 1 / requests)
        longer = np.exp(np.interp(
            times_us, (0, *self.quantiles_us), np.log(parts)))
        return np.where(times_us < self.quantiles_us[-1], longer, 0)


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One run.

    :ivar started: the date and minute in UTC
    :ivar point: the name of its point
    :ivar requests: the number of requests that count
    :ivar late_p99_us: how late the client sent the requests, the 99th
        percentile
    :ivar latest_us: how late the client sent the latest request
    :ivar server_cpu_us: the average CPU time of the server for a request
    :ivar delay_us: the round trip (2 delta), measured just before
    :ivar load_average: the load average of the machine at the end
    :ivar steal: the part of all CPU time that the hypervisor gave to others
    :ivar busy: the part of all CPU time that this machine used
    :ivar measured: the measured response times
    :ivar replayed: those of the simulator for exactly the same requests, with
        the round trip; None if they were not simulated
    """

    started: str
    point: str
    interval_us: float
    service_us: float
    size: float
    seed: int
    requests: int
    lost: int
    late_p99_us: float
    latest_us: float
    server_cpu_us: float
    delay_us: float
    load_average: float
    steal: float
    busy: float
    seconds: float
    measured: Summary
    replayed: Summary | None = None


_PLAIN = [field for field in dataclasses.fields(Record)
          if field.name not in ('measured', 'replayed')]
COLUMNS = (*(field.name for field in _PLAIN), 'mean_us', *_PERCENT,
           'replay_mean_us', *(f'replay_{name}' for name in _PERCENT))


class Data:
    """A file of runs, whether it exists or not.

    :raises BadData: when the file is not a file of runs
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self.records = _read(path)

    def add(self, record: Record) -> None:
        """Writes a run at once, so that it is not lost."""
        csvfile.append(self._path, COLUMNS, _row(record))
        self.records.append(record)


def write(path: pathlib.Path, runs: Iterable[Record]) -> None:
    """Writes a file of exactly these runs."""
    path.unlink(missing_ok=True)
    data = Data(path)
    for run in runs:
        data.add(run)


def _row(record: Record) -> list[str]:
    return [*(csvfile.short(getattr(record, field.name)) for field in _PLAIN),
            *_cells(record.measured), *_cells(record.replayed)]


def _cells(summary: Summary | None) -> list[str]:
    if summary is None:
        return [''] * (1 + len(LEVELS))
    return [csvfile.short(value)
            for value in (summary.mean_us, *summary.quantiles_us)]


def _read(path: pathlib.Path) -> list[Record]:
    try:
        return [_record(row) for row in csvfile.read(path, COLUMNS)]
    except ValueError as error:
        raise BadData(path=path, reason=error) from error


def _record(row: Sequence[str]) -> Record:
    plain = {field.name: _value(field.type, cell)
             for field, cell in zip(_PLAIN, row, strict=False)}
    rest = row[len(_PLAIN):]
    half = len(rest) // 2
    return Record(**plain, measured=_summary(rest[:half]),
                  replayed=_summary(rest[half:]) if rest[half] else None)


def _value(kind: Any, cell: str) -> Any:
    return kind(cell)


def _summary(cells: Sequence[str]) -> Summary:
    mean, *quantiles = map(float, cells)
    return Summary(mean, tuple(quantiles))
