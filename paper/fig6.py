# SPDX-License-Identifier: Apache-2.0

"""Fig. 6: response times with a negligible network."""

from collections.abc import Sequence

from matplotlib import axes
from matplotlib import lines

from paper import bench
from paper import campaign
from paper import measured
from paper import points
from paper import published
from paper import report
from paper import table3

#: The (load, Q / P) of its two plots, which are rows of Table 3.
PLOTS = ((0.5, 0.8), (0.8, 0.9))
SIZE = 128
HEADER = ('LD', 'Interval', '2 delta', 'Mean', 'Controlled', 'Paper', 'Exact',
          'p99', 'Controlled', 'Paper', 'Exact')
MODELS = ('paper', 'exact')
#: The models, their lines, and their names in the legend.
LINES = (('paper', ':', "the paper's model"), ('exact', '-', 'exact model'))


def run(settings: bench.Settings, extent: bench.Extent) -> str:
    """Measures both plots; returns a table."""
    intervals = (published.INTERVALS_US if extent.scale == 1
                 else table3.DENSE_US)
    curves = campaign.run(settings, extent, [
        points.curve(intervals, SIZE, *plot, scale=extent.scale)
        for plot in PLOTS])
    drawn, plots = report.subplots(len(curves))
    for plot, (load, _), curve in zip(plots, PLOTS, curves, strict=True):
        draw(plot, curve)
        plot.set_title(f'LD = {load}')
    report.legend(drawn, plots[0], marks())
    report.save(drawn, settings.directory / 'fig6.png')
    return report.table(HEADER, (
        (load, *row) for (load, _), curve in zip(PLOTS, curves, strict=True)
        for row in rows(curve)))


def rows(curve: Sequence[measured.Measured]) -> list[list[str]]:
    """Returns a row for each point: measured and predicted, in us."""
    return [[f'{point.point.interval_us:g}', f'{point.delay_us:.0f}',
             *(cell for statistic in measured.STATISTICS
               for cell in _cells(point, statistic))] for point in curve]


def _cells(point: measured.Measured, statistic: str) -> list[str]:
    both = [point.estimate(statistic, flag) for flag in (False, True)]
    return [*(f'{one.value:.0f} +- {one.half:.0f}' for one in both),
            *(f'{point.predicted[model].value(statistic):.0f}'
              for model in MODELS)]


def draw(plot: axes.Axes, curve: Sequence[measured.Measured]) -> None:
    """Draws mean and 99th percentile over the interval, on log scales."""
    for number, statistic in enumerate(measured.STATISTICS):
        draw_curve(plot, curve, statistic, f'C{number}', statistic)
    finish(plot, 'response time in ms')


def finish(plot: axes.Axes, label: str) -> None:
    """Makes the axes of a plot of times over the interval."""
    plot.loglog()
    for axis in (plot.xaxis, plot.yaxis):
        report.logarithmic(axis)
    plot.set_xlabel('mean interval of requests in ms')
    plot.set_ylabel(label)


def marks() -> list[lines.Line2D]:
    """Returns what the legend says of lines and crosses."""
    return [lines.Line2D([], [], marker='x', linestyle='', color='black',
                         label='controlled'),
            *(lines.Line2D([], [], color='black', linestyle=line, label=name)
              for _, line, name in LINES)]


def draw_curve(plot: axes.Axes, curve: Sequence[measured.Measured],
               statistic: str, colour: str, label: str) -> None:
    """Draws the models, measured values (dots), controlled ones (crosses)."""
    times = report.milliseconds(one.point.interval_us for one in curve)
    estimates = [one.estimate(statistic) for one in curve]
    plot.errorbar(
        times, report.milliseconds(one.value for one in estimates),
        report.milliseconds(one.half for one in estimates),
        fmt='o', color=colour, label=label)
    plot.plot(times, report.milliseconds(
        float(one.controlled(statistic)[0]) for one in curve),
        'x', color='black', zorder=3)
    for model, line, _ in LINES:
        plot.plot(times, report.milliseconds(
            one.predicted[model].value(statistic) for one in curve),
            line, color=colour)
