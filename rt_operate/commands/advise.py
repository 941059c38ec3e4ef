# SPDX-License-Identifier: Apache-2.0

"""``nova-rt advise``: derives a reservation for a server from its load."""

import argparse
from collections.abc import Iterable, Iterator
import dataclasses
import functools
import itertools
import json
from typing import Any

from nova_rt.cli import formats
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import load as rt_load
from rt_monitor import histogram
from rt_monitor import servers
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions
from rt_operate import advice as rt_advice
from rt_operate.commands import answer as rt_answer
from rt_operate.commands import flavors
from rt_operate.commands import keep
from rt_operate.commands import monitor
from rt_operate.commands import this_host

#: One measurement takes this time; with --apply this shorter time.
_WATCH_S, _APPLY_S = 30.0, 5.0
#: A measurement has parts of at least this length, and at most this many
#: parts.
PART_S, _MOST_PARTS = 0.05, 6_000
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


def _parts(seconds: float) -> tuple[Iterator[monitor_snapshot.Snapshot], int]:
    """Returns the snapshots of parts, and how many make one measurement."""
    count = max(1, min(_MOST_PARTS, round(seconds / PART_S)))
    return monitor.snapshots(seconds / count, with_edges=False), count


def _measure(args: argparse.Namespace) -> tuple[str, rt_advice.MeasuredLoad]:
    """Returns the UUID of the server, and its load over some seconds."""
    watched, count = _parts(args.seconds or _WATCH_S)
    first = next(watched)
    uuid = _uuid(first, args.server)
    return uuid, measured_load(itertools.chain(
        [first], itertools.islice(watched, count - 1)), uuid)


def _measurements(args: argparse.Namespace
                  ) -> Iterator[dict[str, rt_advice.MeasuredLoad]]:
    """Yields the loads of the servers, again and again."""
    watched, count = _parts(args.seconds or _APPLY_S)
    for first in watched:
        uuids = ([uuid for uuid, server in first.servers.items()
                  if server.reservation] if args.all
                 else [_uuid(first, args.server)])
        loads = {uuid: _PartsOfLoad() for uuid in uuids}
        for part in itertools.chain([first],
                                    itertools.islice(watched, count - 1)):
            # A server that has ended has no measurement.
            loads = {uuid: load for uuid, load in loads.items()
                     if uuid in part.servers}
            for uuid, load in loads.items():
                load.add(part, uuid)
        yield {uuid: load.whole() for uuid, load in loads.items()}


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


def measured_load(snapshots: Iterable[monitor_snapshot.Snapshot], uuid: str
                  ) -> rt_advice.MeasuredLoad:
    """Returns the measurements of a server in consecutive snapshots.

    :param snapshots: each snapshot counts from the previous snapshot
    """
    load = _PartsOfLoad()
    for snapshot in snapshots:
        load.add(snapshot, uuid)
    return load.whole()


class _PartsOfLoad:
    """Adds up the load of a server; keeps no snapshots, which are large."""

    def __init__(self) -> None:
        self._server: servers.Watched | None = None
        self._counts: list[int] = []
        self._cpu_s: list[float] = []
        self._took = histogram.Histogram()
        self._span_s = 0.0
        self._exhausted = self._unclear = self._missed = 0

    def add(self, snapshot: monitor_snapshot.Snapshot, uuid: str) -> None:
        """Adds a snapshot, which counts from the previous snapshot."""
        self._server = snapshot.servers.get(uuid, self._server)
        self._span_s += snapshot.span_s
        traffic = snapshot.answered.get(uuid,
                                        transactions.ServerTransactions())
        total = traffic.total(transactions.Role.SERVER)
        self._counts.append(traffic.stats.answers)
        self._took += total.took
        self._unclear += total.unclear
        self._missed += snapshot.missed_traffic([uuid])
        usage = snapshot.usages.get(uuid)
        self._cpu_s.append(usage.vcpus_ns / 1e9 if usage else 0.0)
        self._exhausted += usage.whole.counts.exhausted if usage else 0

    def whole(self) -> rt_advice.MeasuredLoad:
        """Returns the load in all snapshots together."""
        assert self._server  # noqa: S101
        granted = self._server.reservation
        return rt_advice.MeasuredLoad(
            self._counts, self._span_s, self._cpu_s,
            self._server.vcpus or max(1, len(self._server.groups) - 1),
            self._took, rt_reservation.Reservation(
                granted.runtime_us, granted.period_us) if granted else None,
            self._exhausted, self._unclear, self._missed)


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
