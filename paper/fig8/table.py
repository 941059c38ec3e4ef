# SPDX-License-Identifier: Apache-2.0

"""Makes the tables and the plot of Fig. 8 from the data."""

from collections.abc import Iterator, Sequence
import pathlib
from typing import NamedTuple

import numpy as np

from paper.fig8 import pairs
from paper.fig8 import records
from paper import published
from paper import records as paper_records
from paper import report
from paper import samples

#: The largest p99 beside a reserved neighbour over the p99 without one.
BAR = 1.05
_RATIOS = ('Kernel', 'Held by', 'Server us', 'Neighbour us', 'Sold', 'Runs',
           'Periodic / none', 'Greedy / none', f'At most {BAR}',
           'Fair / reservation')
_TIMES = ('Kernel', 'Pair', 'Scheduler', 'Neighbour', 'Mean us', 'Median us',
          'p99 us', 'Below limit', 'Paper: p99 us')


#: What the legend says.
_NAMES = {pairs.FAIR: 'fair scheduler', pairs.RESERVED: 'reservation'}
_BESIDE = {pairs.NOBODY: ', no neighbour',
           pairs.PERIODIC: ', periodic neighbour',
           pairs.GREEDY: ', greedy neighbour'}


class Set(NamedTuple):
    """The runs of one pair of reservations on one kernel."""

    kernel: str
    place: str
    pair: str


class Ratio(NamedTuple):
    """A ratio of 99th percentiles, and the ratios of single pairs of runs."""

    value: float
    least: float
    most: float

    def __str__(self) -> str:
        return f'{self.value:.3f} ({self.least:.3f} to {self.most:.3f})'


def sets(runs: Sequence[records.Run]) -> list[Set]:
    """Returns each set that has runs, in order."""
    order = {name: place for place, name in enumerate(pairs.PAIRS)}
    return sorted({Set(run.kernel, run.place, run.pair) for run in runs},
                  key=lambda one: (one.place, one.kernel, order[one.pair]))


def case_runs(runs: Sequence[records.Run], wanted: Set, scheduler: str,
              noise: str) -> list[records.Run]:
    """Returns the runs of one case of a set, in their order."""
    return sorted((run for run in runs if (
        run.kernel, run.place, run.pair) == wanted and (
            run.scheduler, run.noise) == (scheduler, noise)),
        key=lambda run: run.number)


def ratio(above: Sequence[records.Run], below: Sequence[records.Run]
          ) -> Ratio:
    """Returns the median p99 of some runs divided by that of other runs.

    A stall of the machine in a single run would distort a mean, but not a
    median; the ratios of single runs show such a stall.
    """
    each = [one.p99_us / other.p99_us
            for one, other in zip(above, below, strict=False)]
    medians = [np.median([run.p99_us for run in some])
               for some in (above, below)]
    return Ratio(float(medians[0] / medians[1]), min(each), max(each))


def isolation(runs: Sequence[records.Run], one: Set, noise: str) -> Ratio:
    """Returns the p99 beside a reserved neighbour over the p99 alone."""
    return ratio(case_runs(runs, one, pairs.RESERVED, noise),
                 case_runs(runs, one, pairs.RESERVED, pairs.NOBODY))


def text(runs: Sequence[records.Run]) -> str:
    """Returns both tables."""
    return f'{ratios(runs)}\n{times(runs)}'


def ratios(runs: Sequence[records.Run]) -> str:
    """Returns how much a neighbour changes the p99 of a server."""
    return report.table(_RATIOS, _ratios(runs))


def times(runs: Sequence[records.Run]) -> str:
    """Returns the response times of each case."""
    return report.table(_TIMES, _times(runs))


def _ratios(runs: Sequence[records.Run]) -> Iterator[Sequence[object]]:
    for one in sets(runs):
        pair = pairs.PAIRS[one.pair]
        quiet = case_runs(runs, one, pairs.RESERVED, pairs.NOBODY)
        if not quiet:
            continue
        noisy = case_runs(runs, one, pairs.RESERVED, pairs.PERIODIC)
        found = [isolation(runs, one, noise)
                 for noise in (pairs.PERIODIC, pairs.GREEDY)
                 if case_runs(runs, one, pairs.RESERVED, noise)]
        fair = case_runs(runs, one, pairs.FAIR, pairs.PERIODIC)
        yield (one.kernel, one.place, *map(_budget, (pair.server, pair.noise)),
               f'{quiet[0].offered_ppm / 1e6:.2f}', len(quiet),
               *[*found, '-'][:2],
               'yes' if max(each.value for each in found) <= BAR else 'no',
               f'{ratio(fair, noisy).value:.1f}' if fair else '-')


def _budget(reservation: pairs.Reservation) -> str:
    return f'{reservation.runtime_us}/{reservation.period_us}'


def _times(runs: Sequence[records.Run]) -> Iterator[Sequence[object]]:
    for one in sets(runs):
        scale = pairs.PAIRS[one.pair].scale
        for case in pairs.CASES:
            found = case_runs(runs, one, *case)
            if not found:
                continue
            p99 = samples.estimate([run.p99_us for run in found])
            said = published.FIG8.get((case[0], case[1] != pairs.NOBODY))
            yield (one.kernel, one.pair, *case,
                   f'{np.mean([run.measured.mean_us for run in found]):.0f}',
                   f'{np.mean([run.median_us for run in found]):.0f}',
                   f'{p99.value:.0f} +- {p99.half:.0f}',
                   f'{100 * np.mean([run.good for run in found]):.1f} %',
                   '-' if case[1] == pairs.GREEDY or scale > 1 else said)


def plot(runs: Sequence[records.Run], path: pathlib.Path) -> None:
    """Plots the distribution functions of the first set."""
    one = sets(runs)[0]
    drawn, (axes,) = report.subplots(1)
    for case in [case for case in pairs.CASES if case_runs(runs, one, *case)]:
        levels = np.array([run.measured.quantiles_us
                           for run in case_runs(runs, one, *case)]
                          ).mean(axis=0)
        axes.plot(report.milliseconds(levels), paper_records.LEVELS,
                  marker='.', label=_NAMES[case[0]] + _BESIDE[case[1]])
    axes.set_xscale('log')
    report.logarithmic(axes.xaxis)
    pair = pairs.PAIRS[one.pair]
    axes.set_title(f'{one.kernel}: {_budget(pair.server)} us, neighbour '
                   f'{_budget(pair.noise)} us', fontsize='medium')
    axes.set_xlabel('response time in ms (median and higher quantiles)')
    axes.set_ylabel('part of all requests')
    axes.legend(fontsize='small')
    report.save(drawn, path)
