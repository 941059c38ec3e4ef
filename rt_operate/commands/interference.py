# SPDX-License-Identifier: Apache-2.0

"""``nova-rt interference``: shows and checks interference matrices."""

import argparse
from collections.abc import Iterator
import json
from typing import Any

from nova_rt.cli import formats
from rt_models.interference import document
from rt_models.interference import matrix
from rt_operate.commands import measure

_STATUSES = ('Exit status: 0 done, 1 the file is not valid, 3 wrong usage.')


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``interference``."""
    parser = commands.add_parser(
        'interference', help='show, check or measure how much network '
                             'functions slow each other down',
        description='Works with interference matrices: files that say how '
                    'much of its throughput a network function keeps beside '
                    'each other network function.', epilog=_STATUSES)
    actions = parser.add_subparsers(required=True, metavar='ACTION')
    show = actions.add_parser(
        'show', help='show each cell and how well its value is known',
        description='Shows each cell of a file and how well its value is '
                    'known.',
        epilog=_STATUSES)
    show.add_argument(
        'file', nargs='?', default=document.SHIPPED, metavar='FILE',
        help='the matrix (default: the matrix that nova-scheduler uses when '
             'interference_matrix is not set)')
    formats.add_option(show, lists=True)
    show.set_defaults(run=_show)
    check = actions.add_parser(
        'check', help='check whether nova-scheduler accepts a file',
        description='Reads a file as nova-scheduler does, and prints what '
                    'is wrong with it.', epilog=_STATUSES)
    check.add_argument('file', metavar='FILE')
    formats.add_option(check)
    check.set_defaults(run=_check)
    measure.register(actions)


def _show(args: argparse.Namespace) -> int:
    loaded = document.load(args.file)
    formats.show(args, lambda: '\n'.join(_lines(loaded)),
                 lambda: json.dumps(_data(loaded), indent=2),
                 lambda: _table(loaded))
    return 0


def _check(args: argparse.Namespace) -> int:
    loaded = document.load(args.file)
    count = len(loaded.types)
    formats.show(
        args, lambda: f'{args.file}: valid; {count} types, {count * count} '
        f'cells, for {loaded.kind} servers.', lambda: json.dumps({
            'file': args.file, 'applies_to': str(loaded.kind),
            'types': count, 'cells': count * count}, indent=2))
    return 0


def _lines(loaded: matrix.Matrix) -> Iterator[str]:
    yield (f'Throughput of a target beside a competitor, divided by its '
           f'throughput alone; for {loaded.kind} servers.')
    for name, value in loaded.conditions.items():
        yield f'{name}: {value}'
    for target, title in loaded.types.items():
        mean = loaded.means.get(target)
        yield ''
        yield (f'{target} ({title}), row mean {loaded.mean(target):.4f}'
               + (f', published {mean:.4f}' if mean is not None else ''))
        for cell in loaded.cells():
            if cell.target == target:
                yield f'  beside {cell.competitor:8} {_words(cell)}'


def _table(loaded: matrix.Matrix) -> formats.Table:
    return formats.Table(
        ('Target', 'Competitor', 'Throughput', 'Origin', 'Stdev', 'Runs'),
        [(cell.target, cell.competitor, cell.value, str(cell.origin),
          cell.stdev, cell.runs) for cell in loaded.cells()])


def _words(cell: matrix.Cell) -> str:
    text = f'{cell.value:.4f}  {cell.origin}'
    if cell.runs is not None:
        text += f', {cell.runs} runs'
    if cell.stdev is not None:
        text += f', +- {cell.stdev:.3f}'
    return text


def _data(loaded: matrix.Matrix) -> dict[str, Any]:
    return {
        'applies_to': str(loaded.kind), 'types': dict(loaded.types),
        'conditions': dict(loaded.conditions),
        'cells': [{
            'target': cell.target, 'competitor': cell.competitor,
            'value': cell.value, 'origin': str(cell.origin),
            'stdev': cell.stdev, 'runs': cell.runs}
            for cell in loaded.cells()],
        'row_means': {name: {'mean': loaded.mean(name),
                             'published': loaded.means.get(name)}
                      for name in loaded.types}}
