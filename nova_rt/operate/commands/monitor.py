# SPDX-License-Identifier: Apache-2.0

"""``nova-rt monitor`` and ``nova-rt top``: servers seen from outside."""

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
from rt_monitor import look as monitor_look
from rt_monitor import table

EPILOG = 'Exit status: 0 done, 1 no answer, 3 wrong usage.'
_CLEAR = '\x1b[H\x1b[2J'
#: The longest and shortest time between two looks, in seconds.
_LEAST, _MOST = 0.1, 86_400.0


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'monitor', help='what the servers of this host use and wait for',
        description='Watch the servers of this host from outside for some '
                    'seconds, and say what each used of its reservation and '
                    'waited for.  Needs root; changes nothing.',
        epilog=EPILOG)
    base.add_format(parser)
    add_seconds(parser, 5.0)
    add_by(parser)
    add_http(parser)
    parser.set_defaults(run=run)


def register_top(commands: 'argparse._SubParsersAction[Any]') -> None:
    parser = commands.add_parser(
        'top', help='the same, again and again',
        description='Watch the servers of this host from outside until '
                    'interrupted.  Needs root; changes nothing.',
        epilog=EPILOG)
    add_seconds(parser, 2.0)
    add_by(parser)
    parser.add_argument(
        '--rounds', type=_rounds, metavar='N',
        help='end after so many (default: when interrupted)')
    parser.set_defaults(run=run_top)


def add_seconds(parser: argparse.ArgumentParser, default: float) -> None:
    parser.add_argument(
        '--seconds', type=_seconds, default=default, metavar='N',
        help='how long to watch (default: %(default)g)')


def add_by(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--by', type=aggregation.By, choices=[*aggregation.By],
        help='put servers of one project, flavor or VNF together, or all of '
             'the host (default: each by itself)')


def add_http(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--http', action='store_true',
        help='read requests of HTTP/1 in clear text, which are tenants\', of '
             'servers with a reservation: methods, paths, statuses')


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if _LEAST <= float(text) <= _MOST:
            return float(text)
    raise argparse.ArgumentTypeError(
        f'{text} is no number between {_LEAST:g} and {_MOST:g}')


def _rounds(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'{text} is no number from 1')
    return int(text)


def run(args: argparse.Namespace) -> int:
    look = grouped(next(looks(args.seconds, args.http)), args)
    print(table.as_json(look) if args.format == 'json' else table.text(look))
    return 0


def run_top(args: argparse.Namespace) -> int:
    # A file, or the next command, wants the lines alone.
    clear = _CLEAR if sys.stdout.isatty() else ''
    for look in itertools.islice(looks(args.seconds), args.rounds):
        print(f'{clear}{table.text(grouped(look, args))}', flush=True)
    return 0


def grouped(look: monitor_look.Look, args: argparse.Namespace
            ) -> monitor_look.Look:
    """A look as the options want it."""
    return aggregation.aggregate(look, args.by) if args.by else look


def looks(seconds: float, with_http: bool = False
          ) -> Iterator[monitor_look.Look]:
    """Yields what came after the look before, every so many seconds.

    :param with_http: read requests of HTTP/1, too
    :raises CannotMonitor: no source is there
    :raises OutsideHost: servers cannot be seen
    """
    host = host_files.Host()
    namespaces.verify(host)
    with contextlib.closing(monitor_look.Monitor(with_http)) as monitor:
        if all(source.reason for source in monitor.sources):
            raise exception.CannotMonitor(
                what='this host', reason=monitor.sources[0].reason)
        finder = groups.Finder(host)
        _watch(monitor, finder)
        before = monitor.look()
        while True:
            time.sleep(seconds)
            now = monitor.look()
            yield now.since(before)
            _watch(monitor, finder)
            before = now


def _watch(monitor: monitor_look.Monitor, finder: groups.Finder) -> None:
    found = finder.find()
    monitor.watch(found)
    monitor.follow(found)
