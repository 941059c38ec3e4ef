# SPDX-License-Identifier: Apache-2.0

"""``nova-rt advise``: derives a reservation for a server from its load."""

import argparse
from collections.abc import Iterator, Sequence
import dataclasses
import functools
import itertools
import json
from typing import Any

from nova_rt.cli import formats
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions
from rt_operate import advice as rt_advice
from rt_operate.commands import answer as rt_answer
from rt_operate.commands import flavors
from rt_operate.commands import keep
from rt_operate.commands import monitor
from rt_operate.commands import this_host

#: The time is divided into this many parts, because the variance between parts
#: shows whether requests arrive at random.
_PARTS = 120
#: How long one measurement takes, and in how many parts, with --apply.
_APPLY_S, _APPLY_PARTS = 5.0, 10
_WATCH_S = 30.0
_US_PER_MS = 1000


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``advise``."""
    parser = commands.add_parser(
        'advise', help='advise a reservation for a server from its load',
        description='Watches a server of this host for some seconds, and '
                    'prints the reservation that would meet a target for its '
                    'response times, and how far to trust this advice.  '
                    'Needs root.  Changes nothing without --apply.',
        epilog=monitor.EPILOG)
    formats.add_option(parser)
    parser.add_argument('server', metavar='SERVER', nargs='?',
                        help='the UUID or the name of the server')
    parser.add_argument('--target-ms', type=float, metavar='MS',
                        help='the response time to meet, at the percentile '
                             'of --percentile; needed with SERVER')
    parser.add_argument(
        '--percentile', type=float, default=0.99, metavar='PART',
        help='the part of the requests that must meet the target (default: '
             '%(default)s)')
    parser.add_argument(
        '--ram', type=int, default=512, metavar='MB',
        help='the memory of the flavor (default: %(default)s)')
    _add_apply(parser)
    parser.add_argument(
        '--seconds', type=monitor.seconds, metavar='N', help='how long to '
        f'watch (default: {_WATCH_S:g}; with --apply {_APPLY_S:g})')
    this_host.add_options(parser)
    parser.set_defaults(run=functools.partial(run, parser))


def _add_apply(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        '--apply', action='store_true', help='watch again and again, and '
        'change the runtime of the server while it runs, between the shares '
        'hw:cpu.rt_auto_min_share and hw:cpu.rt_auto_max_share of its flavor; '
        'needs the configuration of Nova with its databases')
    parser.add_argument(
        '--all', action='store_true', help='with --apply and without SERVER, '
        'change all servers of this host whose flavors also have '
        'hw:cpu.rt_auto_target_ms (and hw:cpu.rt_auto_percentile)')
    parser.add_argument(
        '--dry-run', action='store_true', help='with --apply, say what would '
        'change, and change nothing')
    parser.add_argument(
        '--most-changes', type=_whole, default=6, metavar='N', help='with '
        '--apply, change a server at most N times a minute (default: '
        '%(default)s)')
    parser.add_argument(
        '--audit-log', metavar='FILE', help='with --apply, add a line of '
        'JSON to FILE for what is printed')
    parser.add_argument(
        '--times', type=int, metavar='N', help='with --apply, stop after N '
        'measurements (default: go on until interrupted)')
    parser.add_argument(
        '--config-file', action='append', default=[], metavar='FILE',
        help='with --apply, a nova.conf; may be repeated (default: the files '
        'that Nova reads)')


def _whole(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(
            f'{text} is not a whole number above 0')
    return int(text)


def run(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    _check(parser, args)
    target = None if args.all else rt_load.Target(
        args.target_ms * _US_PER_MS, args.percentile)
    kernel, note = this_host.kernel(args)
    if args.apply:
        return keep.run(args, target, kernel, _measurements(args))
    assert target is not None  # noqa: S101
    _, measured = _measure(args)
    advice = rt_advice.advise(measured, target, kernel)
    flavor = flavors.reserved(advice.wanted, measured.vcpus, args.ram)
    formats.show(
        args, lambda: '\n'.join([
            *_lines(measured, advice, args.percentile),
            *filter(None, [note]), '', flavor]),
        lambda: json.dumps({
            'requests': measured.requests, 'rate_hz': measured.rate_hz,
            'cpu_us': measured.cpu_us, **dataclasses.asdict(advice),
            'flavor': flavor, 'note': note or None}, indent=2))
    return 0


def _check(parser: argparse.ArgumentParser, args: argparse.Namespace
           ) -> None:
    """Ends the command if its options do not belong together."""
    if args.all == bool(args.server):
        parser.error('give either SERVER or --all')
    if args.all and not args.apply:
        parser.error('--all needs --apply')
    if args.all == (args.target_ms is not None):
        parser.error('SERVER needs --target-ms; with --all the target is '
                     'that of the flavor')


def _measure(args: argparse.Namespace) -> tuple[str, rt_advice.MeasuredLoad]:
    """Returns the UUID of the server, and its load over some seconds."""
    counted = [*itertools.islice(monitor.snapshots(
        (args.seconds or _WATCH_S) / _PARTS), _PARTS)]
    uuid = _uuid(counted[-1], args.server)
    return uuid, measured_load(counted, uuid)


def _measurements(args: argparse.Namespace
                  ) -> Iterator[dict[str, rt_advice.MeasuredLoad]]:
    """Yields the loads of the servers, again and again."""
    watched = monitor.snapshots((args.seconds or _APPLY_S) / _APPLY_PARTS)
    while counted := [*itertools.islice(watched, _APPLY_PARTS)]:
        uuids = ([uuid for uuid, server in counted[-1].servers.items()
                  if server.reservation and all(
                      uuid in each.servers for each in counted)]
                 if args.all else [_uuid(counted[-1], args.server)])
        yield {uuid: measured_load(counted, uuid) for uuid in uuids}


def _uuid(snapshot: monitor_snapshot.Snapshot, wanted: str) -> str:
    """Returns the UUID of the server with this UUID or name.

    :raises CannotMonitor: when no server or several servers match
    """
    uuids = [uuid for uuid, server in snapshot.servers.items()
             if wanted in (uuid, server.name)]
    if len(uuids) != 1:
        raise exception.CannotMonitor(
            what=f'server {wanted}', reason=(
                'several servers have this name; give the UUID' if uuids else
                'no server with this UUID or name runs on this host'))
    return uuids[0]


def measured_load(snapshots: Sequence[monitor_snapshot.Snapshot], uuid: str
                  ) -> rt_advice.MeasuredLoad:
    """Returns the measurements of a server in consecutive snapshots.

    :param snapshots: each snapshot counts from the previous snapshot
    """
    server = snapshots[-1].servers[uuid]
    edges = [snapshot.answered[uuid].total(transactions.Role.SERVER)
             if uuid in snapshot.answered else transactions.Edge()
             for snapshot in snapshots]
    totals = [edge.took for edge in edges]
    usages = [snapshot.usages.get(uuid) for snapshot in snapshots]
    granted = server.reservation
    return rt_advice.MeasuredLoad(
        [total.count for total in totals],
        sum(snapshot.span_s for snapshot in snapshots),
        [usage.vcpus_ns / 1e9 if usage else 0.0 for usage in usages],
        server.vcpus or max(1, len(server.groups) - 1),
        sum(totals[1:], totals[0]),
        rt_reservation.Reservation(granted.runtime_us, granted.period_us)
        if granted else None,
        sum(usage.whole.counts.exhausted for usage in usages if usage),
        sum(edge.unclear for edge in edges))


def _lines(measured: rt_advice.MeasuredLoad,
           advice: rt_advice.ReservationAdvice, part: float) -> list[str]:
    name = rt_answer.percent(part)
    met = 'is met' if advice.met else 'is missed'
    lines = [f'Requests: {measured.rate_hz:.1f} a second, '
             f'{measured.cpu_us / _US_PER_MS:.3f} ms of CPU time each.',
             f'Now: {measured.reservation or "no reservation"}; {name} is '
             f'{advice.measured_us / _US_PER_MS:.3f} ms (measured), so the '
             f'target {met} now.']
    if advice.predicted_us is not None:
        lines.append(f'The model predicts at most '
                     f'{advice.predicted_us / _US_PER_MS:.3f} ms for {name}, '
                     f'whatever else runs on the same pCPUs.')
    elif measured.reservation:
        lines.append('The reservation serves fewer requests than arrive.')
    lines += [
        f'Advice beside any servers: {advice.wanted}; {name} is then at most '
        f'{advice.promised_us / _US_PER_MS:.3f} ms, whatever else runs on '
        f'the same pCPUs (proven bound).',
        'Advice beside one busy server: ' + (
            'the same reservation.' if advice.beside == advice.wanted else
            f'{advice.beside}; {name} then meets the target if that server '
            'uses the rest of the pCPU (simulation).')]
    has = measured.reservation
    if advice.met and has and has.share < advice.wanted.share:
        lines.append('Beside the servers that share its pCPUs now, the '
                     'server meets the target with a smaller reservation; '
                     'with the advised reservation, the server meets the '
                     'target beside any servers.')
    return [*lines, *advice.doubts]
