# SPDX-License-Identifier: Apache-2.0

"""``nova-rt graph``: shows which servers call each other."""

import argparse
import os
import pathlib
from typing import Any

from nova_rt.rules import exception
from rt_operate.commands import monitor


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``graph``."""
    parser = commands.add_parser(
        'graph', help='show which servers call each other, and which one '
                      'saturates first',
        description='Watches the servers of this host for some seconds, and '
                    'shows which servers call each other over TCP, how long '
                    'answers take, and which server saturates first.  Needs '
                    'root; changes nothing.',
        epilog=monitor.EPILOG)
    monitor.add_seconds(parser, 10.0)
    monitor.add_by(parser)
    parser.add_argument(
        '-f', '--format', choices=('text', 'json', 'dot', 'html'),
        default='text', help='the format of the output (default: '
                             '%(default)s)')
    parser.add_argument(
        '-o', '--output', metavar='FILE',
        help='write to FILE instead of standard output; the ending .json, '
             '.dot or .html chooses the format')
    parser.add_argument(
        '--percentile', type=_part, default=0.9, metavar='PART',
        help='the percentile of response times that each edge shows '
             '(default: %(default)s)')
    parser.set_defaults(run=run)


def _part(text: str) -> float:
    try:
        if 0 < float(text) < 1:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f'{text} is not a number between 0 and 1')


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    # Imported here, because they need networkx.
    from rt_monitor import drawing
    from rt_monitor import graph
    snapshot = monitor.grouped(next(monitor.snapshots(args.seconds)), args)
    if snapshot.network is None:
        raise exception.CannotMonitor(
            what='transactions', reason=next(
                source.reason for source in snapshot.sources
                if source.name == 'tcp'))
    server_graph = graph.build(snapshot, os.cpu_count() or 1)
    text = drawing.FORMATS[_format(args)](server_graph, args.percentile)
    if args.output:
        _write(args.output, text)
    else:
        print(text)
    return 0


def _format(args: argparse.Namespace) -> str:
    ending = pathlib.PurePath(args.output or '').suffix[1:]
    return ending if ending in ('json', 'dot', 'html') else str(args.format)


def _write(path: str, text: str) -> None:
    try:
        pathlib.Path(path).write_text(text)
    except OSError as error:
        raise exception.CannotPlot(path=path, reason=error.strerror
                                   ) from error
