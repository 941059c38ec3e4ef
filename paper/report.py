# SPDX-License-Identifier: Apache-2.0

"""Makes tables and plots of measurements."""

from collections.abc import Iterable, Sequence
import pathlib
import textwrap

from matplotlib import axes
from matplotlib import figure

#: The resolution of plots: small enough for the documentation.
_SIZE, _DPI = (7.0, 3.6), 90
#: The characters of a line.
_WIDTH = 79


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Returns a simple table in reStructuredText."""
    cells = [list(header), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column))
              for column in zip(*cells, strict=True)]
    rule = '  '.join('=' * width for width in widths)
    lines = ['  '.join(cell.ljust(width) for cell, width in zip(
        row, widths, strict=True)).rstrip() for row in cells]
    return '\n'.join([rule, lines[0], rule, *lines[1:], rule, ''])


def item(text: str) -> str:
    """Returns an item of a list in reStructuredText."""
    return textwrap.fill(text, _WIDTH, initial_indent='* ',
                         subsequent_indent='  ', break_on_hyphens=False)


def subplots(count: int) -> tuple[figure.Figure, Sequence[axes.Axes]]:
    """Makes a figure with this number of plots side by side."""
    drawn = figure.Figure(figsize=_SIZE, dpi=_DPI, layout='constrained')
    return drawn, drawn.subplots(1, count, squeeze=False)[0]


def save(drawn: figure.Figure, path: pathlib.Path) -> None:
    """Saves a figure as a PNG."""
    drawn.savefig(path)


def milliseconds(values: Iterable[float]) -> list[float]:
    """Converts us to ms."""
    return [value / 1000 for value in values]
