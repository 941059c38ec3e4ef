# SPDX-License-Identifier: Apache-2.0

"""``nova-rt interference``: files of who disturbs whom."""

import argparse
from collections.abc import Iterator
import json
from typing import Any

from nova_rt.cli import base
from nova_rt.operate.commands import measure
from rt_models.interference import document
from rt_models.interference import matrix

_STATUSES = 'Exit status: 0 done, 1 not a good file, 3 wrong usage.'


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'interference', help='who disturbs whom on a host, and by how much',
        description='Files that say how much throughput a network function '
                    'keeps beside each other one.', epilog=_STATUSES)
    actions = parser.add_subparsers(required=True, metavar='ACTION')
    show = actions.add_parser(
        'show', help='show each cell and how well it is known',
        description='Shows each cell of a file and how well it is known.',
        epilog=_STATUSES)
    show.add_argument(
        'file', nargs='?', default=document.SHIPPED, metavar='FILE',
        help='(default: the one that nova-scheduler has without '
             'interference_matrix)')
    base.add_format(show)
    show.set_defaults(run=_show)
    check = actions.add_parser(
        'check', help='whether nova-scheduler would take a file',
        description='Reads a file as nova-scheduler does.', epilog=_STATUSES)
    check.add_argument('file', metavar='FILE')
    base.add_format(check)
    check.set_defaults(run=_check)
    measure.register(actions)


def _show(args: argparse.Namespace) -> int:
    found = document.load(args.file)
    if args.format == 'json':
        print(json.dumps(_data(found), indent=2))
    else:
        print('\n'.join(_lines(found)))
    return 0


def _check(args: argparse.Namespace) -> int:
    found = document.load(args.file)
    count = len(found.types)
    if args.format == 'json':
        print(json.dumps({'file': args.file, 'applies_to': str(found.kind),
                          'types': count, 'cells': count * count}, indent=2))
        return 0
    print(f'{args.file}: good; {count} types, {count * count} cells, for '
          f'{found.kind} servers.')
    return 0


def _lines(found: matrix.Matrix) -> Iterator[str]:
    yield (f'Throughput of a target beside a competitor, over that alone; '
           f'for {found.kind} servers.')
    for name, value in found.conditions.items():
        yield f'{name}: {value}'
    for target, title in found.types.items():
        mean = found.means.get(target)
        yield ''
        yield (f'{target} ({title}), row mean {found.mean(target):.4f}'
               + (f', published {mean:.4f}' if mean is not None else ''))
        for cell in found.cells():
            if cell.target == target:
                yield f'  beside {cell.competitor:8} {_words(cell)}'


def _words(cell: matrix.Cell) -> str:
    text = f'{cell.value:.4f}  {cell.origin}'
    if cell.runs is not None:
        text += f', {cell.runs} runs'
    if cell.stdev is not None:
        text += f', +- {cell.stdev:.3f}'
    return text


def _data(found: matrix.Matrix) -> dict[str, Any]:
    return {
        'applies_to': str(found.kind), 'types': dict(found.types),
        'conditions': dict(found.conditions),
        'cells': [{
            'target': cell.target, 'competitor': cell.competitor,
            'value': cell.value, 'origin': str(cell.origin),
            'stdev': cell.stdev, 'runs': cell.runs}
            for cell in found.cells()],
        'row_means': {name: {'mean': found.mean(name),
                             'published': found.means.get(name)}
                      for name in found.types}}
