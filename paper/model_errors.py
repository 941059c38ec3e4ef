# SPDX-License-Identifier: Apache-2.0

"""Reads the stored output of ``benchmarks/model.py``."""

from collections.abc import Iterator, Sequence
import dataclasses
import re
import statistics

from paper import report
from rt_models.model import exact
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model import planner
from rt_models.model import search

HEADER = ('1/µ (periods)', 'exact, mean', 'paper, mean', 'exact, p99',
          'paper, p99')
#: Load and reservation, then the error, the uncertainty and the error of the
#: paper's model, for the mean and the 99th percentile, then ms.
_CELL = re.compile(r'^ *([\d.]+) +([\d.]+) +([\d.]+) \|'
                   + 2 * r' +(-?[\d.]+) +[\d.]+ +(-?[\d.]+) \|'
                   + r' +([\d.]+)$', re.MULTILINE)
#: The example of the page.
EXAMPLE = rt_load.Load(100, 1000)
EXAMPLE_TARGET = rt_load.Target(20_000, 0.99)
EXAMPLE_PERIOD_US = 100_000


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """The errors in % of both models, at one load and reservation.

    :ivar length: 1/µ in periods
    :ivar exact: the errors of the exact model: mean and 99th percentile
    :ivar paper: those of the paper's model
    """

    share: float
    used: float
    length: float
    exact: tuple[float, float]
    paper: tuple[float, float]
    milliseconds: float


def cells(text: str) -> Iterator[Cell]:
    """Yields all cells, in the order of the output."""
    for found in _CELL.findall(text):
        share, used, length, mean, mean_paper, p99, p99_paper, took = map(
            float, found)
        yield Cell(share, used, length, (mean, p99), (mean_paper, p99_paper),
                   took)


def table(text: str) -> str:
    """Returns the errors by 1/µ as reStructuredText."""
    return report.table(HEADER, _rows([*cells(text)]))


def named(text: str) -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each number."""
    every = [*cells(text)]
    yield 'model.cells', str(len(every))
    errors = [one for cell in every for one in cell.exact]
    yield 'model.worst', f'{max(map(abs, errors)):.2f} %'
    for place, what in enumerate(('mean', 'p99')):
        exactly, published = (
            statistics.mean(abs(get(one)[place]) for one in every)
            for get in (_exact, _paper))
        yield f'model.exact.{what}', f'{exactly:.3f} %'
        yield f'model.paper.{what}', f'{published:.1f} %'
    for name in ('share', 'used', 'length'):
        values = [getattr(one, name) for one in every]
        yield f'model.{name}', f'{min(values):g} to {max(values):g}'
    yield 'model.took', f'{max(one.milliseconds for one in every):.1f} ms'
    yield 'model.most-used', f'{search.MAX_UTILISATION:.0%}'.replace('%', ' %')
    yield from _settings()


def _settings() -> Iterator[tuple[str, str]]:
    """Yields the example, and the periods that ``plan`` tries."""
    yield 'example.arrivals', f'{EXAMPLE.arrival_rate_hz:g} Hz'
    yield 'example.services', f'{EXAMPLE.service_rate_hz:g} Hz'
    yield 'example.period', f'{EXAMPLE_PERIOD_US / 1000:g} ms'
    yield 'example.target', f'{EXAMPLE_TARGET.time_us / 1000:g} ms'
    for name, model in (('paper', paper), ('exact', exact)):
        runtime = model.smallest_runtime_us(EXAMPLE, EXAMPLE_TARGET,
                                            EXAMPLE_PERIOD_US)
        yield f'example.{name}', f'{runtime / 1000:.1f} ms'
    *some, last = (f'{one / 1000:g}' for one in planner.PERIODS_US)
    yield 'plan.periods', f'{", ".join(some)} and {last} ms'
    yield 'plan.overhead', f'{planner.LEAST_OVERHEAD_US:g} us'


def _rows(every: Sequence[Cell]) -> Iterator[Sequence[str]]:
    for length in sorted({one.length for one in every}):
        some = [one for one in every if one.length == length]
        yield (f'{length:g}', *(
            _size([abs(get(one)[place]) for one in some], digits)
            for place in (0, 1)
            for get, digits in ((_exact, 3), (_paper, 2))))


def _size(sizes: Sequence[float], digits: int) -> str:
    return (f'{statistics.mean(sizes):.{digits}f} '
            f'({max(sizes):.{digits - 1}f})')


def _exact(one: Cell) -> tuple[float, float]:
    return one.exact


def _paper(one: Cell) -> tuple[float, float]:
    return one.paper
