# SPDX-License-Identifier: Apache-2.0

"""Table 3: how far the models are from the measurements."""

from collections.abc import Callable, Iterator, Mapping, Sequence
import pathlib
import statistics

from paper import accuracy
from paper import bench
from paper import campaign
from paper import measured
from paper import points
from paper import published
from paper import report
from paper import rules

#: In us.  At the first a request is a fortieth of a period, at the last a
#: third.
DENSE_US = (100, 200, 400, 800)
GRIDS = {'100 to 800 us, 4 points': DENSE_US,
         '100 us to 5 ms, 11 points': published.INTERVALS_US}
HEADER = ('Bytes', 'LD', 'Q/P', 'Published', 'Paper', 'Exact',
          'Paper, controlled', 'Exact, controlled', 'Interval, measured',
          'RMSE us, exact')


def run(settings: bench.Settings, extent: bench.Extent) -> str:
    """Measures all rows; returns the tables."""
    grids = _grids(extent.scale)
    intervals = sorted({one for grid in grids.values() for one in grid})
    curves = campaign.run(settings, extent, [
        points.curve(intervals, row.size, row.load, row.share,
                     scale=extent.scale) for row in published.TABLE3])
    some = {name: _within(curves, [extent.scale * one for one in grid])
            for name, grid in grids.items()}
    dense, *_ = some.values()
    _plot(dense, settings.directory / 'table3.png')
    return '\n'.join((*(_grid(name, those) for name, those in some.items()),
                      rules.table(dense), rules.about(curves)))


def _grids(scale: int) -> Mapping[str, Sequence[int]]:
    """Returns the lists of the paper's intervals to measure.

    Runs at the paper's longest intervals would last for minutes at a scale.
    """
    if scale == 1:
        return GRIDS
    return {f'{scale} times 100 to 800 us, 4 points': DENSE_US}


def _within(curves: Sequence[accuracy.Curve],
            grid: Sequence[int]) -> list[accuracy.Curve]:
    return [accuracy.within(curve, grid) for curve in curves]


def _grid(name: str, curves: Sequence[accuracy.Curve]) -> str:
    """Returns a table; each cell has the mean / the 99th percentile."""
    rows = [[row.size, row.load, row.share, *_cells([row], [curve])]
            for row, curve in zip(published.TABLE3, curves, strict=True)]
    rows.append(['All', '', '', *_cells(published.TABLE3, curves)])
    lines = _lines(*(accuracy.View(curves, flag) for flag in (False, True)))
    return f'Intervals of {name}:\n\n{report.table(HEADER, rows)}\n' + (
        '\n'.join(report.item(line) for line in lines) + '\n')


def _cells(rows: Sequence[published.Row], curves: Sequence[accuracy.Curve]
           ) -> Iterator[str]:
    """Returns the cells, averaged over these rows."""
    plain, controlled = (accuracy.View(curves, flag)
                         for flag in (False, True))
    yield _pair('{:.2f} / {:.2f} %', lambda statistic: statistics.fmean(
        row.errors.mape(statistic) for row in rows))
    for view in (plain, controlled):
        for model in ('paper', 'exact'):
            yield _pair('{:.2f} / {:.2f} %', lambda statistic: (
                statistics.fmean(_errors(view, model, statistic))))
    yield _pair('+- {:.1f} / {:.1f} %', plain.interval)
    yield _pair('{:.0f} / {:.0f}', lambda statistic: statistics.fmean(
        plain.rmse('exact', statistic)))


def _pair(form: str, value: Callable[[str], float]) -> str:
    return form.format(*map(value, measured.STATISTICS))


def _errors(view: accuracy.View, model: str, statistic: str) -> list[float]:
    """Returns the error of each row, in per cent."""
    return [float(one) for one in view.errors(model, statistic)[:, 0]]


def _lines(plain: accuracy.View, controlled: accuracy.View) -> Iterator[str]:
    for view, what in ((plain, 'As measured'), (controlled, 'Controlled')):
        ratios = [f'{statistic} {one.value:.2f} +- {one.half:.2f}'
                  for statistic in measured.STATISTICS
                  for one in [view.estimate(statistic)]]
        lost = list(_lost(view))
        yield (f"{what}, the exact model's errors divided by those of the "
               "paper's model, with 95 % intervals (bootstrap of the runs): "
               f'{", ".join(ratios)}.  The exact model has larger errors in '
               f'{len(lost)} of {2 * len(view.curves)} cells'
               f'{": " if lost else ""}'
               f'{"; ".join(lost)}.')
    yield ("As measured, the exact model's errors divided by the published "
           'ones, on average over the rows: {}.'.format(', '.join(
               f'{statistic} {_over_published(plain, statistic):.2f}'
               for statistic in measured.STATISTICS)))


def _lost(view: accuracy.View) -> Iterator[str]:
    """Returns the cells in which the paper's model has smaller errors."""
    for statistic in measured.STATISTICS:
        errors = zip(*(_errors(view, model, statistic)
                       for model in ('exact', 'paper')), strict=True)
        for row, (exact, paper) in zip(published.TABLE3, errors, strict=True):
            if exact > paper:
                yield (f'{statistic} of {row.size} B, LD {row.load} '
                       f'({exact:.2f}, not {paper:.2f} %)')


def _over_published(view: accuracy.View, statistic: str) -> float:
    return statistics.fmean(one / row.errors.mape(statistic) for one, row in
                            zip(_errors(view, 'exact', statistic),
                                published.TABLE3, strict=True))


def _plot(curves: Sequence[accuracy.Curve], path: pathlib.Path) -> None:
    """Plots the errors of both models, as measured and controlled."""
    drawn, plots = report.subplots(2)
    for plot, statistic in zip(plots, measured.STATISTICS, strict=True):
        bars = list(_bars(curves, statistic))
        for place, (label, colour, values) in enumerate(bars):
            plot.barh([index + 0.16 * (place - 2)
                       for index in range(len(values))],
                      values, height=0.15, color=colour, label=label)
        plot.set_yticks(range(len(curves)), [
            f'{row.size} B, LD {row.load}' for row in published.TABLE3])
        plot.invert_yaxis()
        plot.set_xlabel(f'MAPE of the {statistic} in %')
    plots[1].set_yticklabels([])
    drawn.legend(*plots[0].get_legend_handles_labels(), fontsize='small',
                 loc='outside upper center', ncols=3)
    report.save(drawn, path)


def _bars(curves: Sequence[accuracy.Curve], statistic: str
          ) -> Iterator[tuple[str, str, list[float]]]:
    """Returns the label, the colour, and the error of each row."""
    yield 'published', 'grey', [row.errors.mape(statistic)
                                for row in published.TABLE3]
    for controlled, what in ((False, ''), (True, ', controlled')):
        view = accuracy.View(curves, controlled)
        for model, colours in (('paper', ('C1', 'navajowhite')),
                               ('exact', ('C0', 'lightblue'))):
            yield (f'{model} model{what}', colours[controlled],
                   _errors(view, model, statistic))
