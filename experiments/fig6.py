# SPDX-License-Identifier: Apache-2.0

"""Fig. 6: response times where the network is negligible."""

from matplotlib import axes

from experiments import bench
from experiments import measure
from experiments import report

#: Fewer than in Table 3, for more points.
SEEDS = 2
#: us.  The paper goes on to 5 ms, where a point takes minutes.
INTERVALS_US = (100, 200, 500, 1000, 2000)
#: (load, Q / P) of its two plots.
PLOTS = ((0.5, 0.8), (0.8, 0.9))
SIZE = 128
HEADER = ('LD', 'Interval', '2 delta', 'Mean', 'Paper', 'Exact', 'Replay',
          'p99', 'Paper', 'Exact', 'Replay')
#: Model, line.
LINES = (('paper', ':'), ('exact', '-'))


def run(settings: bench.Settings) -> str:
    """Measure both plots; returns a table."""
    settings = settings.with_seeds(SEEDS)
    curves = {load: bench.curve(settings, f'fig6-{load}', INTERVALS_US, SIZE,
                                load, share) for load, share in PLOTS}
    bench.write(settings.directory / 'fig6.csv', curves.values())
    drawn, plots = report.subplots(len(curves))
    for plot, (load, curve) in zip(plots, curves.items(), strict=True):
        draw(plot, curve)
        plot.set_title(f'LD = {load}')
    plots[0].legend(fontsize='small')
    report.save(drawn, settings.directory / 'fig6.png')
    return report.table(HEADER, (
        (load, *row) for load, curve in curves.items() for row in rows(curve)
    ))


def rows(curve: bench.Curve) -> list[list[str]]:
    """A row for each point: measured and predicted, in us."""
    found = []
    for number, point in enumerate(curve.points):
        said = [curve.predictions(model)[number]
                for model in measure.MODELS]
        mean, p99 = point.mean_us, point.p99_us
        found.append([
            f'{point.workload.intervals.mean:g}', f'{point.delay_us:.0f}',
            f'{mean.value:.0f} +- {mean.half:.0f}',
            *(f'{one.mean_us:.0f}' for one in said),
            f'{p99.value:.0f} +- {p99.half:.0f}',
            *(f'{one.p99_us:.0f}' for one in said)])
    return found


def draw(plot: axes.Axes, curve: bench.Curve) -> None:
    """Markers for what was measured, lines for the models; log scales."""
    times = report.milliseconds(
        point.workload.intervals.mean for point in curve.points)
    for statistic, colour in (('mean_us', 'C0'), ('p99_us', 'C1')):
        measured = [getattr(point, statistic) for point in curve.points]
        plot.errorbar(
            times, report.milliseconds(one.value for one in measured),
            report.milliseconds(one.half for one in measured),
            fmt='o', color=colour, label=statistic.removesuffix('_us'))
        for model, line in LINES:
            plot.plot(times, report.milliseconds(
                getattr(one, statistic) for one in curve.predictions(model)),
                line, color=colour, label=f'{model} model')
    plot.loglog()
    plot.set_xlabel('mean interval of requests in ms')
    plot.set_ylabel('response time in ms')
