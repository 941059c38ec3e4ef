# SPDX-License-Identifier: Apache-2.0

"""Calculates how much throughput pairs keep, and errors of predictions."""

from collections.abc import Iterator, Sequence
import statistics

from paper import report
from rt_models.interference import forecast
from rt_models.interference import matrix

HEADER = ('Target', 'Beside', 'n', 'CV', 'Measured', 'Predicted', 'Off')
#: How many of 20 cells must keep how much, the mean of all cells, and the
#: largest error of a prediction.
CELLS, KEPT, MEAN, OFF = 18, 0.95, 0.96, 0.10
#: Fewer runs of a cell are not enough.
RUNS = 5


def pairs(found: matrix.Matrix) -> list[matrix.Cell]:
    """Returns the cells of two different functions."""
    return [cell for cell in found.cells() if cell.target != cell.competitor]


def off(found: matrix.Matrix, told: matrix.Matrix) -> list[float]:
    """Returns the relative error of the prediction of each pair, in order.

    The prediction uses the scheduler's model with c = 1, because both
    functions have a reservation.
    """
    model = forecast.Model([told])
    return [model.cell(forecast.Server(told.kind, cell.target),
                       cell.competitor) / cell.value - 1
            for cell in pairs(found)]


def judged(found: matrix.Matrix, told: matrix.Matrix
           ) -> tuple[tuple[str, bool], tuple[str, bool]]:
    """Summarises cells and predictions, and whether they meet the goals."""
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
    """Returns all cells and their summary as reStructuredText."""
    (cells, _), (prediction, _) = judged(found, told)
    return (report.table(HEADER, _rows(found, told))
            + f'\nPairs: {cells}.  Prediction: {prediction}.\n')


def _rows(measured: matrix.Matrix, predicted: matrix.Matrix
          ) -> Iterator[Sequence[object]]:
    for cell, error in zip(pairs(measured), off(measured, predicted),
                           strict=True):
        yield (cell.target, cell.competitor, cell.runs or '',
               f'{100 * (cell.stdev or 0) / cell.value:.1f} %',
               f'{cell.value:.3f}', f'{cell.value * (1 + error):.3f}',
               f'{100 * error:+.1f} %')
