# SPDX-License-Identifier: Apache-2.0

"""Fig. 7: requests of exponential size over a link of limited bandwidth."""

from experiments import bench
from experiments import fig6
from experiments import report

#: Fewer than in Table 3, for more points.
SEEDS = 2
#: us.
INTERVALS_US = (250, 300, 400, 600, 1000)
#: Mb/s.
BANDWIDTHS = (100, 200, 500, 1000)
SIZE, LOAD, SHARE = 2048, 0.5, 0.8


def run(settings: bench.Settings) -> str:
    """Measure a curve for each bandwidth; returns a table."""
    settings = settings.with_seeds(SEEDS)
    curves = {megabits: bench.curve(
        settings, f'fig7-{megabits}', INTERVALS_US, SIZE, LOAD, SHARE,
        megabits) for megabits in BANDWIDTHS}
    bench.write(settings.directory / 'fig7.csv', curves.values())
    _plot(curves, settings)
    return report.table(
        ('Mb/s', *fig6.HEADER[1:], 'Lost'),
        ((megabits, *row, point.lost) for megabits, curve in curves.items()
         for row, point in zip(fig6.rows(curve), curve.points, strict=True)))


def _plot(curves: dict[int, bench.Curve], settings: bench.Settings) -> None:
    drawn, plots = report.subplots(2)
    for plot, statistic in zip(plots, ('mean_us', 'p99_us'), strict=True):
        for number, (megabits, curve) in enumerate(curves.items()):
            times = report.milliseconds(
                point.workload.intervals.mean for point in curve.points)
            plot.plot(times, report.milliseconds(
                getattr(point, statistic).value for point in curve.points),
                'o', color=f'C{number}', label=f'{megabits} Mb/s')
            for model, line in fig6.LINES:
                plot.plot(times, report.milliseconds(
                    getattr(one, statistic)
                    for one in curve.predictions(model)), line,
                    color=f'C{number}')
        plot.loglog()
        plot.set_xlabel('mean interval of requests in ms')
        plot.set_ylabel(f'{statistic.removesuffix("_us")} in ms')
    plots[0].legend(fontsize='small')
    report.save(drawn, settings.directory / 'fig7.png')
