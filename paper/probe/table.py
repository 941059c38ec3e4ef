# SPDX-License-Identifier: Apache-2.0

"""The table of goals: measured values, their spread, and the verdicts."""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import statistics

from paper.probe import changes
from paper.probe import costs
from paper.probe import records
from paper.probe import shares
from paper import report

#: The largest relative error of a throttled cell.
LARGEST = 0.05
HEADER = ('Row', 'Bar', 'n', 'Measured', 'Worst', 'Met')
Numbers = Sequence[float]


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """One row of the table.

    :ivar judge: returns the measured value, the worst value, and whether both
        meet their goals
    """

    row: str
    text: str
    judge: Callable[[Sequence[records.Record]], tuple[str, str, bool]]


def _errors(cells: Sequence[records.Record]) -> Numbers:
    return [100 * abs(one.value / one.truth - 1)
            for one in cells if one.value is not None and one.truth]


def _throttled(cells: Sequence[records.Record]) -> tuple[str, str, bool]:
    errors = _errors(cells)
    silent = len(cells) - len(errors)
    if not errors:
        return 'none answered', '', False
    return (f'mean {statistics.mean(errors):.2f} %, {silent} unanswered',
            f'{max(errors):.2f} %',
            statistics.mean(errors) <= 2
            and max(errors) <= 100 * LARGEST and not silent)


def _burst(cells: Sequence[records.Record]) -> tuple[str, str, bool]:
    errors = _errors(cells)
    if not errors:
        return 'all bound', '', False
    near = sum(one <= 5 for one in errors)
    return (f'{near} of {len(errors)} within 5 %, mean '
            f'{statistics.mean(errors):.2f} %, '
            f'{len(cells) - len(errors)} bound',
            f'{max(errors):.2f} %',
            near >= 0.9 * len(errors) and max(errors) <= 10)


def _interval(cells: Sequence[records.Record]) -> tuple[str, str, bool]:
    bounded = [one for one in cells if one.lower is not None
               and one.upper is not None and one.truth is not None]
    if not bounded:
        return 'no report has one', '', False
    right = sum((one.lower or 0) <= (one.truth or 0) <= (one.upper or 0)
                for one in bounded)
    widths = [((one.upper or 0) - (one.lower or 0)) / (one.truth or 1)
              for one in bounded]
    return (f'{100 * right / len(bounded):.1f} %, median width '
            f'{100 * statistics.median(widths):.0f} % of the truth',
            f'{100 * max(widths):.0f} % wide', right >= 0.95 * len(bounded))


def _most(limit: float, unit: str, digits: int, scale: float = 1.0
          ) -> Callable[[Sequence[records.Record]], tuple[str, str, bool]]:
    def judge(cells: Sequence[records.Record]) -> tuple[str, str, bool]:
        values = [scale * one.value for one in cells if one.value is not None]
        silent = len(cells) - len(values)
        if not values:
            return 'none seen', '', False
        return (f'mean {statistics.mean(values):.{digits}f} {unit}'
                + (f', {silent} not seen' if silent else ''),
                f'{max(values):.{digits}f} {unit}',
                max(values) <= limit and not silent)
    return judge


def _none(cells: Sequence[records.Record]) -> tuple[str, str, bool]:
    count = sum(one.value or 0 for one in cells)
    return (f'{count:.0f} in {len(cells) * changes.PIECE_S / 60:.0f} min',
            f'{count:.0f}', not count and len(cells) * changes.PIECE_S >= 600)


def _points(cells: Sequence[records.Record]) -> tuple[str, str, bool]:
    errors = [abs((one.value or 0) - (one.truth or 0)) for one in cells]
    return (f'mean {statistics.mean(errors):.2f} points (outside '
            f'{statistics.mean(one.truth or 0 for one in cells):.1f} %)',
            f'{max(errors):.2f} points', max(errors) <= 2)


def _spread(cells: Sequence[records.Record]) -> tuple[str, str, bool]:
    """Returns two spreads: from decile to decile, and from least to most."""
    values = [one.value for one in cells if one.value is not None]
    middle = statistics.median(values)
    deciles = statistics.quantiles(values, n=10, method='inclusive')
    spread = 100 * (deciles[-1] - deciles[0]) / middle
    return (f'p10 to p90 {spread:.2f} %, median {middle:.2f} us, load average '
            f'{min(one.load_average for one in cells):.0f} to '
            f'{max(one.load_average for one in cells):.0f}',
            f'{100 * (max(values) - min(values)) / middle:.2f} %', spread <= 2)


BARS = (
    Bar(shares.THROTTLED, 'mean 2 %, max 5 %', _throttled),
    Bar(shares.BURST, '90 % of cells within 5 %, all 10 %', _burst),
    Bar('interval', 'holds the truth in 95 %', _interval),
    Bar(costs.PASSIVE, '0.05 % of a CPU', _most(0.05, '%', 3, 100)),
    Bar(costs.MEMORY, '25 MB', _most(25, 'MB', 1)),
    Bar(costs.BURSTS, '1 % of the reservation', _most(1, '%', 2, 100)),
    Bar(changes.HALVED, 'seen in 1 s', _most(1, 's', 2)),
    Bar(changes.ALARMS, 'none in 10 min', _none),
    Bar(changes.IDLE, 'seen in 500 P', _most(500, 'P', 0)),
    Bar(costs.POD, '2 points', _points),
    Bar(costs.SPEED, 'spread 2 %', _spread))


def rows(data: records.Data) -> Iterator[Sequence[object]]:
    """Yields the cells of each row of the table."""
    for bar in BARS:
        cells = data.select(bar.row)
        if bar.row == 'interval':
            cells = data.select(shares.THROTTLED) + data.select(shares.BURST)
        if not cells:
            yield bar.row, bar.text, 0, 'not measured', '', 'no'
            continue
        measured, worst, met = bar.judge(cells)
        yield bar.row, bar.text, len(cells), measured, worst, (
            'yes' if met else 'no')


def text(data: records.Data) -> str:
    """Returns all rows as reStructuredText."""
    return report.table(HEADER, rows(data))
