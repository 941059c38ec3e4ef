# SPDX-License-Identifier: Apache-2.0

"""The numbers that pages show about rt-probe, by name."""

from collections.abc import Iterable, Iterator
import statistics

from paper.probe import changes
from paper.probe import costs
from paper.probe import latency
from paper.probe import records
from paper.probe import shares
from paper.probe import table
from rt_models.colocation import summary

Named = Iterator[tuple[str, str]]


def named(data: records.Data) -> Named:
    """Yields the name and the text of each number."""
    for row, bar, number, measured, worst, met in table.rows(data):
        for what, value in (('bar', bar), ('n', number),
                            ('measured', measured), ('worst', worst),
                            ('met', met)):
            yield f'probe.{row}.{what}', str(value)
    yield 'probe.load', _span((one.load_average for one in data.records), 0)
    yield from _throttled(data)
    yield ('probe.load-passive.span', _span(
        (100 * (one.value or 0) for one in data.select(costs.PASSIVE)), 3,
        ' %'))
    for kind in ('quota', 'rt-group'):
        yield f'probe.halved.{kind}', _span(
            (one.value or 0 for one in data.select(changes.HALVED)
             if one.cell.startswith(f'{kind} ')), 2, ' s')
    yield from _latency(data)


def _throttled(data: records.Data) -> Named:
    """Yields how many cells miss the bar, and the worst cell."""
    errors = {one.cell: (abs(one.value / one.truth - 1), one)
              for one in data.select(shares.THROTTLED)
              if one.value is not None and one.truth}
    yield 'probe.throttled.off', str(sum(
        error > table.LARGEST for error, _ in errors.values()))
    _, worst = max(errors.values(), key=lambda found: found[0])
    yield 'probe.throttled.worst.cell', worst.cell
    yield 'probe.throttled.worst.value', f'{worst.value:.4f}'
    yield 'probe.throttled.worst.truth', f'{worst.truth:.4f}'


def _latency(data: records.Data) -> Named:
    """Yields how far the ways differ, and the runs of one way."""
    ways = {mode: [one for one in data.select(latency.LATENCY)
                   if one.cell.startswith(f'{mode} ')]
            for mode in latency.MODES}
    tails = {mode: [one.value or 0 for one in runs]
             for mode, runs in ways.items()}
    means = [statistics.mean(one.lower or 0 for one in runs)
             for runs in ways.values()]
    yield 'latency.mean', f'{100 * (max(means) / min(means) - 1):.0f} %'
    usual = statistics.mean(tails[latency.WITHOUT])
    for mode, values in tails.items():
        yield (f'latency.{mode}.p99',
               f'{100 * (statistics.mean(values) / usual - 1):.0f} %')
    yield 'latency.noise', _span(
        (100 * summary.cv(values) for values in tails.values()), 0, ' %')


def _span(values: Iterable[float], digits: int, unit: str = '') -> str:
    least, *_, most = sorted(values)
    return f'{least:.{digits}f} to {most:.{digits}f}{unit}'
