# SPDX-License-Identifier: Apache-2.0

"""``nova-rt monitor`` and ``nova-rt top``: watch servers from outside."""

import argparse
from collections.abc import Iterator
import contextlib
import itertools
import sys
import time
from typing import Any

from nova_rt.cli import base
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
#: The shortest and longest time between two looks, in seconds.
_LEAST, _MOST = 0.1, 86_400.0


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``monitor``."""
    parser = commands.add_parser(
        'monitor', help='show what the servers of this host use and wait for',
        description='Watches the servers of this host from outside for some '
                    'seconds, and prints how much of its reservation each '
                    'server used and what it waited for.  Needs root; '
                    'changes nothing.',
        epilog=EPILOG)
    base.add_format(parser)
    add_seconds(parser, 5.0)
    add_by(parser)
    add_http(parser)
    parser.set_defaults(run=run)


def register_top(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``top``."""
    parser = commands.add_parser(
        'top', help='the same as monitor, again and again',
        description='Watches the servers of this host from outside until the '
                    'command is interrupted.  Needs root; changes nothing.',
        epilog=EPILOG)
    add_seconds(parser, 2.0)
    add_by(parser)
    parser.add_argument(
        '--rounds', type=_rounds, metavar='N',
        help='end after N rounds (default: when interrupted)')
    parser.set_defaults(run=run_top)


def add_seconds(parser: argparse.ArgumentParser, default: float) -> None:
    """Adds the option ``--seconds``."""
    parser.add_argument(
        '--seconds', type=_seconds, default=default, metavar='N',
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


def _seconds(text: str) -> float:
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


def run(args: argparse.Namespace) -> int:
    """Runs ``nova-rt monitor`` and returns its exit status."""
    look = grouped(next(snapshots(args.seconds, args.http)), args)
    print(table.as_json(look) if args.format == 'json' else table.text(look))
    return 0


def run_top(args: argparse.Namespace) -> int:
    """Runs ``nova-rt top`` and returns its exit status."""
    # A file or a pipe gets the lines without control characters.
    clear = _CLEAR if sys.stdout.isatty() else ''
    for look in itertools.islice(snapshots(args.seconds), args.rounds):
        print(f'{clear}{table.text(grouped(look, args))}', flush=True)
    return 0


def grouped(look: monitor_snapshot.Snapshot, args: argparse.Namespace
            ) -> monitor_snapshot.Snapshot:
    """Returns the snapshot with its servers added up as the options say."""
    return aggregation.aggregate(look, args.by) if args.by else look


def snapshots(seconds: float, with_http: bool = False
              ) -> Iterator[monitor_snapshot.Snapshot]:
    """Yields, every *seconds*, what happened since the previous snapshot.

    :param with_http: read requests of HTTP/1, too
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
        before = monitor.read()
        while True:
            time.sleep(seconds)
            now = monitor.read()
            yield now.since(before)
            _watch(monitor, finder)
            before = now


def _watch(monitor: monitor_snapshot.Monitor, finder: groups.Finder) -> None:
    servers = finder.find()
    monitor.watch(servers)
    monitor.follow(servers)
