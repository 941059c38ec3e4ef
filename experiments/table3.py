# SPDX-License-Identifier: Apache-2.0

"""Table 3: how far the models are from what is measured."""

from collections.abc import Iterable, Sequence
import pathlib
import statistics

from experiments import accuracy
from experiments import bench
from experiments import measure
from experiments import published
from experiments import report

#: us.  From where a request is a fortieth of a period to a third of one.
INTERVALS_US = (100, 200, 400, 800)
HEADER = ('Bytes', 'LD', 'Q/P', 'Published', 'Paper', 'Exact', 'Replay',
          'RMSE us', '95 % interval')


def errors(points: Sequence[measure.Point],
           predictions: Sequence[measure.Prediction]) -> accuracy.Errors:
    """Over the points of a row."""
    means = [point.mean_us.value for point in points]
    p99s = [point.p99_us.value for point in points]
    predicted = [one.mean_us for one in predictions]
    predicted_p99s = [one.p99_us for one in predictions]
    return accuracy.Errors(
        accuracy.rmse(means, predicted), accuracy.mape(means, predicted),
        accuracy.rmse(p99s, predicted_p99s),
        accuracy.mape(p99s, predicted_p99s))


def run(settings: bench.Settings) -> str:
    """Measure all rows; returns the table."""
    name = 'table3'
    found: dict[str, bench.Curve] = {}
    for row in published.TABLE3:
        found[f'{row.size} B, LD {row.load}'] = bench.curve(
            settings, f'{name}-{row.size}-{row.load}', INTERVALS_US,
            row.size, row.load, row.share)
    bench.write(settings.directory / f'{name}.csv', found.values())
    _plot(found, settings.directory / f'{name}.png')
    return report.table(HEADER, (
        _row(row, curve) for row, curve in zip(
            published.TABLE3, found.values(), strict=True))
    ) + f'\n{_summary(found.values())}\n'


def _row(row: published.Row, curve: bench.Curve) -> list[str]:
    """Each cell is of the mean / of the 99th percentile."""
    found = {model: errors(curve.points, curve.predictions(model))
             for model in measure.MODELS}
    exact = found['exact']
    return [str(row.size), str(row.load), str(row.share), *(
        f'{one.mean_mape:.2f} / {one.p99_mape:.2f} %'
        for one in (row.errors, *found.values())),
        f'{exact.mean_rmse:.0f} / {exact.p99_rmse:.0f}',
        '+- {:.1f} / {:.1f} %'.format(*curve.intervals)]


def _summary(curves: Iterable[bench.Curve]) -> str:
    here = [errors(curve.points, curve.predictions('exact'))
            for curve in curves]
    ratios = [[getattr(one, name) / getattr(row.errors, name)
               for one, row in zip(here, published.TABLE3, strict=True)]
              for name in ('mean_mape', 'p99_mape')]
    return ('MAPE of the exact model over the published one: mean '
            '{:.2f} on average and {:.2f} at most, p99 {:.2f} and {:.2f}'
            .format(*(of(cells) for cells in ratios
                      for of in (statistics.fmean, max))))


def _plot(found: dict[str, bench.Curve], path: pathlib.Path) -> None:
    drawn, plots = report.subplots(2)
    for plot, statistic in zip(plots, ('mean', 'p99'), strict=True):
        bars = {'published': [getattr(row.errors, f'{statistic}_mape')
                              for row in published.TABLE3]}
        for model in ('paper', 'exact'):
            bars[f'{model} model, here'] = [
                getattr(errors(curve.points, curve.predictions(model)),
                        f'{statistic}_mape') for curve in found.values()]
        for place, (label, values) in enumerate(bars.items()):
            plot.barh([index + 0.27 * (place - 1)
                       for index in range(len(values))],
                      values, height=0.25, label=label)
        plot.set_yticks(range(len(found)), list(found))
        plot.invert_yaxis()
        plot.set_xlabel(f'MAPE of the {statistic} in %')
    plots[1].set_yticklabels([])
    plots[0].legend(fontsize='small')
    report.save(drawn, path)
