# SPDX-License-Identifier: Apache-2.0

"""Shows how the result changes if other rules choose the runs."""

from collections.abc import Sequence
import math

from paper import accuracy
from paper import measured
from paper import report

#: The rules of the tables are the fourth.
RULES = {
    'every run counts': measured.Limits(math.inf, math.inf, math.inf),
    'steal only': measured.Limits(late_us=math.inf, latest_us=math.inf),
    'no limit for the latest request': measured.Limits(latest_us=math.inf),
    'as in the tables': measured.LIMITS,
    'latest request 2 ms': measured.Limits(latest_us=2000),
    'latest request 1 ms': measured.Limits(latest_us=1000)}
HEADER = ('Rules', 'Runs', 'Paper', 'Exact', 'Ratio', 'Ratio, controlled')


def table(curves: Sequence[accuracy.Curve]) -> str:
    """Returns the average errors of the rows, mean / 99th percentile, by rule.

    If a rule excludes all runs of a point, the point keeps all its runs.
    """
    return 'With other rules for the runs that count:\n\n' + report.table(
        HEADER, [_row(name, limits, curves)
                 for name, limits in RULES.items()])


def _row(name: str, limits: measured.Limits,
         curves: Sequence[accuracy.Curve]) -> list[str]:
    again = [[measured.Measured(one.point, one.runs, limits) for one in curve]
             for curve in curves]
    plain, controlled = (accuracy.View(again, flag) for flag in (False, True))
    return [name, str(sum(len(one.counted) for curve in again
                          for one in curve)),
            *(_pair([plain.errors(model, statistic)[:, 0].mean()
                     for statistic in measured.STATISTICS], ' %')
              for model in ('paper', 'exact')),
            *(_pair([view.ratio(statistic)[0]
                     for statistic in measured.STATISTICS])
              for view in (plain, controlled))]


def _pair(values: Sequence[float], unit: str = '') -> str:
    mean, p99 = values
    return f'{mean:.2f} / {p99:.2f}{unit}'


def about(curves: Sequence[accuracy.Curve]) -> str:
    """Returns a sentence about the number, time and conditions of the runs."""
    runs = [run for curve in curves for one in curve for run in one.runs]
    left_out = [run for run in runs if not measured.LIMITS.allow(run)]
    loads = sorted(run.load_average for run in runs)
    starts = sorted(run.started for run in runs)
    seconds = sum(run.seconds for run in runs)
    return (
        f'{len(runs)} runs of {seconds / 60:.0f} minutes, from {starts[0]} '
        f'to {starts[-1]}, at load averages from {loads[0]:.1f} to '
        f'{loads[-1]:.1f}; {len(left_out)} of them '
        f'were disturbed (steal '
        f'{sum(run.steal > measured.LIMITS.steal for run in left_out)}, '
        'client late '
        f'{sum(run.late_p99_us > measured.LIMITS.late_us for run in left_out)}'
        ', or late once '
        f'{sum(run.latest_us > measured.LIMITS.latest_us for run in left_out)}'
        ').\n')
