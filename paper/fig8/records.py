# SPDX-License-Identifier: Apache-2.0

"""The data of Fig. 8: a CSV file with a line for each run."""

from collections.abc import Sequence
import dataclasses
import pathlib

from paper import records
from rt_models.colocation import csvfile


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """One run of one case.

    :ivar kernel: the release of the kernel and the kind of its clock
    :ivar place: what holds the reservations
    :ivar pair: a name of pairs.PAIRS
    :ivar noise: what the neighbour does
    :ivar offered_ppm: the bandwidth that nova-rt offers on a pCPU of this
        kernel
    :ivar interval_us: the mean interval between requests
    :ivar server_cpu_us: the average CPU time of a request
    :ivar good: the part of the requests below the limit of the pair
    """

    kernel: str
    place: str
    pair: str
    scheduler: str
    noise: str
    number: int
    started: str
    offered_ppm: int
    requests: int
    interval_us: float
    server_cpu_us: float
    load_average: float
    steal: float
    good: float
    measured: records.Summary

    @property
    def p99_us(self) -> float:
        """The 99th percentile of the response times."""
        return self.measured.quantiles_us[records.LEVELS.index(0.99)]

    @property
    def load(self) -> float:
        """The part of a CPU that the requests need."""
        return self.server_cpu_us / self.interval_us

    @property
    def median_us(self) -> float:
        """The median of the response times."""
        return self.measured.quantiles_us[records.LEVELS.index(0.5)]


_PLAIN = [field for field in dataclasses.fields(Run)
          if field.name != 'measured']
COLUMNS = (*(field.name for field in _PLAIN), 'mean_us', *(
    f'p{100 * level:g}_us' for level in records.LEVELS))


def read(path: pathlib.Path) -> list[Run]:
    """Reads the runs in a file; returns none if the file does not exist.

    :raises BadData: when *path* is not a file of runs
    """
    try:
        return [_run(row) for row in csvfile.read(path, COLUMNS)]
    except ValueError as error:
        raise records.BadData(path=path, reason=error) from error


def add(path: pathlib.Path, run: Run) -> None:
    """Adds a run to a file at once, so that it is not lost."""
    cells = [getattr(run, field.name) for field in _PLAIN]
    csvfile.append(path, COLUMNS, [
        csvfile.short(value) for value in (
            *cells, run.measured.mean_us, *run.measured.quantiles_us)])


def _run(row: Sequence[str]) -> Run:
    kinds = {'str': str, 'int': int, 'float': float}
    plain = {field.name: _kind(field.type, kinds)(cell)
             for field, cell in zip(_PLAIN, row, strict=False)}
    mean, *quantiles = map(float, row[len(_PLAIN):])
    return Run(**plain, measured=records.Summary(mean, tuple(quantiles)))


def _kind(kind: object, kinds: dict[str, type]) -> type:
    return kind if isinstance(kind, type) else kinds[str(kind)]
