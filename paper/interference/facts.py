# SPDX-License-Identifier: Apache-2.0

"""The numbers that pages show about functions beside others, by name."""

from collections.abc import Iterator

from paper.interference import table
from rt_models.interference import forecast
from rt_models.interference import matrix

Named = Iterator[tuple[str, str]]


def pairs(found: matrix.Matrix, told: matrix.Matrix) -> Named:
    """Yields the numbers of the pairs of reserved functions.

    :param found: the matrix that was measured
    :param told: the shipped matrix, which predicts
    """
    (cells, _), (prediction, _) = table.judged(found, told)
    yield 'pairs.cells', cells
    yield 'pairs.prediction', prediction
    noise = sorted((cell.stdev or 0) / cell.value
                   for cell in table.pairs(found))
    yield 'pairs.noise-least', f'{100 * noise[0]:.0f} %'
    yield 'pairs.noise-second', f'{100 * noise[-2]:.0f} %'
    yield 'pairs.noise-most', f'{100 * noise[-1]:.0f} %'
    for name, one in (('found', found), ('told', told)):
        for what in ('setting', 'load_average'):
            yield f'pairs.{name}.{what}', one.conditions[what]
        yield f'pairs.{name}.runs', str(min(
            cell.runs or 0 for cell in table.pairs(one)))


def published(shipped: matrix.Matrix) -> Named:
    """Yields the numbers of the matrix of paper 002, and of its weigher."""
    cells = list(shipped.cells())
    estimates = [cell for cell in cells
                 if cell.origin is matrix.Origin.ESTIMATED]
    yield 'matrix.cells', str(len(cells))
    yield 'matrix.estimates', str(len(estimates))
    yield 'matrix.published', str(len(cells) - len(estimates))
    yield 'weigher.look-ahead', str(forecast.LOOK_AHEAD)
