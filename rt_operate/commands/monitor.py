# SPDX-License-Identifier: Apache-2.0

"""``nova-rt top``: watches servers from outside.

``nova-rt monitor`` is the older name of the command, and prints once.
"""

import argparse
from collections.abc import Iterator
import contextlib
import itertools
import sys
import time
from typing import Any

from nova_rt.cli import formats
from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import namespaces
from nova_rt.rules import exception
from rt_monitor import aggregation
from rt_monitor import groups
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import table

EPILOG = ('Exit status: 0 done, 1 the servers cannot be watched or there is '
          'no answer, 3 wrong usage.')
_CLEAR = '\x1b[H\x1b[2J'
#: The shortest and longest time between two snapshots, in seconds.
_LEAST, _MOST = 0.1, 86_400.0
#: New servers are noticed within this time.
_FIND_S = 1.0


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``monitor``, the older name of ``top --once``."""
    parser = commands.add_parser(
        'monitor', help='the older name of top --once, for one release',
        description='The same as nova-rt top --once --seconds 5.  The name '
                    'will be removed in the next release.', epilog=EPILOG)
    _add_options(parser, 5.0)
    parser.set_defaults(run=run_monitor, rounds=1)


def register_top(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``top``."""
    parser = commands.add_parser(
        'top', help='show what the servers of this host use and wait for',
        description='Watches the servers of this host from outside, and '
                    'prints again and again how much of its reservation each '
                    'server used and what it waited for.  Needs root; '
                    'changes nothing.',
        epilog=EPILOG)
    _add_options(parser, 2.0)
    rounds = parser.add_mutually_exclusive_group()
    rounds.add_argument(
        '--rounds', type=_rounds, metavar='N',
        help='end after N rounds (default: when interrupted; with formats '
             'other than text after one round)')
    rounds.add_argument('--once', dest='rounds', action='store_const',
                        const=1, help='the same as --rounds 1')
    parser.set_defaults(run=run)


def _add_options(parser: argparse.ArgumentParser, seconds: float) -> None:
    formats.add_option(parser, lists=True)
    add_seconds(parser, seconds)
    add_by(parser)
    add_http(parser)


def add_seconds(parser: argparse.ArgumentParser, default: float) -> None:
    """Adds the option ``--seconds``."""
    parser.add_argument(
        '--seconds', type=seconds, default=default, metavar='N',
        help='how long to watch (default: %(default)g)')


def add_by(parser: argparse.ArgumentParser) -> None:
    """Adds the option ``--by``."""
    parser.add_argument(
        '--by', type=aggregation.By, choices=[*aggregation.By],
        help='add up the servers of one project, flavor or VNF, or all '
             'servers of the host (default: show each server)')


def add_http(parser: argparse.ArgumentParser) -> None:
    """Adds the option ``--http``."""
    parser.add_argument(
        '--http', action='store_true',
        help='read the unencrypted HTTP/1 requests of servers with a '
             'reservation (methods, paths and statuses); these are data of '
             'tenants')


def seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if _LEAST <= float(text) <= _MOST:
            return float(text)
    raise argparse.ArgumentTypeError(
        f'{text} is not a number between {_LEAST:g} and {_MOST:g}')


def _rounds(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(
            f'{text} is not a whole number above 0')
    return int(text)


def run_monitor(args: argparse.Namespace) -> int:
    """Runs ``nova-rt monitor`` and returns its exit status."""
    print('nova-rt: the next release will not have "monitor"; run nova-rt '
          'top --once', file=sys.stderr)
    return run(args)


def run(args: argparse.Namespace) -> int:
    """Runs ``nova-rt top`` and returns its exit status."""
    person = args.format == formats.TEXT
    rounds = args.rounds or (None if person else 1)
    # A file or a pipe gets the lines without control characters.
    clear = _CLEAR if person and rounds != 1 and sys.stdout.isatty() else ''
    for snapshot in itertools.islice(
            snapshots(args.seconds, args.http), rounds):
        _print(args, grouped(snapshot, args), clear)
    return 0


def _print(args: argparse.Namespace, snapshot: monitor_snapshot.Snapshot,
           clear: str) -> None:
    formats.show(args, lambda: clear + table.text(snapshot),
                 lambda: table.as_json(snapshot),
                 lambda: formats.Table(table.COLUMNS, table.rows(snapshot)))
    sys.stdout.flush()


def grouped(snapshot: monitor_snapshot.Snapshot, args: argparse.Namespace
            ) -> monitor_snapshot.Snapshot:
    """Returns the snapshot with its servers added up as the options say."""
    return aggregation.aggregate(snapshot, args.by) if args.by else snapshot


def snapshots(seconds: float, with_http: bool = False,
              with_edges: bool = True) -> Iterator[monitor_snapshot.Snapshot]:
    """Yields, every *seconds*, what happened since the previous snapshot.

    :param with_http: read requests of HTTP/1, too
    :param with_edges: read what passed between servers and their peers, too
    :raises CannotMonitor: when no source can be read
    :raises OutsideHost: when this process cannot see the servers
    """
    host = host_files.Host()
    namespaces.verify(host)
    with contextlib.closing(monitor_snapshot.Monitor(with_http)) as monitor:
        if all(source.reason for source in monitor.sources):
            raise exception.CannotMonitor(
                what='this host', reason=monitor.sources[0].reason)
        finder = groups.Finder(host)
        _watch(monitor, finder)
        before = monitor.read(with_edges)
        listed_s = before.at_s
        while True:
            time.sleep(seconds)
            now = monitor.read(with_edges)
            yield now.since(before)
            if now.at_s >= listed_s + min(_FIND_S, seconds):
                _watch(monitor, finder)
                listed_s = now.at_s
            before = now


def _watch(monitor: monitor_snapshot.Monitor, finder: groups.Finder) -> None:
    servers = finder.find()
    monitor.watch(servers)
    monitor.follow(servers)
