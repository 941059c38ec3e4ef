# SPDX-License-Identifier: Apache-2.0

"""Fig. 7: requests of exponential size over a link of limited bandwidth."""

from collections.abc import Sequence

from matplotlib import axes

from paper import bench
from paper import campaign
from paper import fig6
from paper import measured
from paper import points
from paper import report

#: The intervals in us.
INTERVALS_US = (250, 300, 400, 600, 1000)
#: The bandwidths in Mb/s.
BANDWIDTHS = (100, 200, 500, 1000)
SIZE, LOAD, SHARE = 2048, 0.5, 0.8


def run(settings: bench.Settings, extent: bench.Extent) -> str:
    """Measures a curve for each bandwidth; returns a table."""
    curves = campaign.run(settings, extent, [
        points.curve(INTERVALS_US, SIZE, LOAD, SHARE, megabits,
                     extent.scale)
        for megabits in BANDWIDTHS])
    drawn, plots = report.subplots(len(measured.STATISTICS))
    for plot, statistic in zip(plots, measured.STATISTICS, strict=True):
        _draw(plot, curves, statistic, extent.scale)
    report.legend(drawn, plots[0], fig6.marks())
    report.save(drawn, settings.directory / 'fig7.png')
    return report.table(
        ('Mb/s', *fig6.HEADER[1:], 'Lost'),
        ((megabits // extent.scale, *row,
          sum(run.lost for run in one.runs))
         for megabits, curve in zip(BANDWIDTHS, curves, strict=True)
         for row, one in zip(fig6.rows(curve), curve, strict=True)))


def _draw(plot: axes.Axes,
          curves: Sequence[Sequence[measured.Measured]],
          statistic: str, scale: int) -> None:
    for number, (megabits, curve) in enumerate(
            zip(BANDWIDTHS, curves, strict=True)):
        fig6.draw_curve(plot, curve, statistic, f'C{number}',
                        f'{megabits // scale} Mb/s')
    fig6.finish(plot, f'{statistic} in ms')
