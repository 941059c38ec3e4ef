# SPDX-License-Identifier: Apache-2.0

"""How much pairs keep, and how far a prediction of it is off."""

from collections.abc import Iterator, Sequence
import statistics

from paper import report
from rt_models.interference import forecast
from rt_models.interference import matrix

HEADER = ('Target', 'Beside', 'n', 'CV', 'Measured', 'Predicted', 'Off')
#: So many of 20 cells keep that, so much in the mean; none is predicted
#: worse than this.
CELLS, KEPT, MEAN, OFF = 18, 0.95, 0.96, 0.10
#: Fewer of a cell tell too little.
RUNS = 5


def pairs(found: matrix.Matrix) -> list[matrix.Cell]:
    """The cells of two different functions."""
    return [cell for cell in found.cells() if cell.target != cell.competitor]


def off(found: matrix.Matrix, told: matrix.Matrix) -> list[float]:
    """How far the prediction of each pair is off, relative, in that order.

    It is the model of the scheduler: c is 1, as both are reserved.
    """
    model = forecast.Model([told])
    return [model.cell(forecast.Server(told.kind, cell.target),
                       cell.competitor) / cell.value - 1
            for cell in pairs(found)]


def judged(found: matrix.Matrix, told: matrix.Matrix
           ) -> tuple[tuple[str, bool], tuple[str, bool]]:
    """What the cells are, and the prediction, with whether the bar is met."""
    values = [cell.value for cell in pairs(found)]
    kept = sum(value >= KEPT for value in values)
    mean = statistics.mean(values)
    runs = min(cell.runs or 0 for cell in pairs(found))
    errors = list(map(abs, off(found, told)))
    return ((f'{kept} of {len(values)} cells at least {KEPT}, mean '
             f'{mean:.3f}, least {min(values):.3f}, n from {runs}',
             len(values) == 20 and kept >= CELLS and mean >= MEAN
             and runs >= RUNS),
            (f'mean {100 * statistics.mean(errors):.1f} %, worst '
             f'{100 * max(errors):.1f} %',
             max(errors) <= OFF and runs >= RUNS))


def text(found: matrix.Matrix, told: matrix.Matrix) -> str:
    """All cells and what they come to, as reStructuredText."""
    (cells, _), (prediction, _) = judged(found, told)
    return (report.table(HEADER, _rows(found, told))
            + f'\nPairs: {cells}.  Prediction: {prediction}.\n')


def _rows(found: matrix.Matrix, told: matrix.Matrix
          ) -> Iterator[Sequence[object]]:
    for cell, error in zip(pairs(found), off(found, told), strict=True):
        yield (cell.target, cell.competitor, cell.runs or '',
               f'{100 * (cell.stdev or 0) / cell.value:.1f} %',
               f'{cell.value:.3f}', f'{cell.value * (1 + error):.3f}',
               f'{100 * error:+.1f} %')
