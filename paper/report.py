# SPDX-License-Identifier: Apache-2.0

"""Makes tables and plots of measurements."""

from collections.abc import Iterable, Sequence
import pathlib
import textwrap

from matplotlib import axes
from matplotlib import axis
from matplotlib import figure
from matplotlib import lines
from matplotlib import ticker

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


def logarithmic(one: axis.Axis) -> None:
    """Marks a logarithmic axis at 1, 2, 3 and 5, in plain numbers."""
    one.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5)))
    one.set_major_formatter(ticker.FuncFormatter(lambda x, _: f'{x:g}'))
    one.set_minor_formatter(ticker.NullFormatter())


def legend(drawn: figure.Figure, plot: axes.Axes,
           others: Sequence[lines.Line2D] = ()) -> None:
    """Puts a legend above all plots.

    :param plot: the plot whose labels are shown
    :param others: more lines and marks, with labels
    """
    handles, _ = plot.get_legend_handles_labels()
    drawn.legend(handles=[*handles, *others], fontsize='small',
                 loc='outside upper center', ncols=4)


def save(drawn: figure.Figure, path: pathlib.Path) -> None:
    """Saves a figure as a PNG."""
    drawn.savefig(path)


def milliseconds(values: Iterable[float]) -> list[float]:
    """Converts us to ms."""
    return [value / 1000 for value in values]
