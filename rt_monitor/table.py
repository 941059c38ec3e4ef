# SPDX-License-Identifier: Apache-2.0

"""Shows a snapshot, as text for a person or as JSON."""

from collections.abc import Iterable, Iterator, Sequence
import json
from typing import Any

from rt_monitor import histogram
from rt_monitor import http
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions
from rt_monitor import waits

_NS = 1e9
_MS_NS = 1e6
_HEADINGS = ('SERVER', 'NAME', 'CPU', 'VCPUS', 'EMULATOR', 'RESERVED', 'USED',
             'EXHAUSTED', 'THROTTLED', 'LOST', 'WAIT p50', 'p99', 'REQUESTS',
             'TOOK p99')
#: The columns for programs, with their units.
COLUMNS = ('Server', 'Name', 'CPUs', 'vCPUs', 'Emulator (CPUs)',
           'Reserved (CPUs)', 'Used (part)', 'Exhausted (periods)',
           'Throttled (part)', 'Lost (part)', 'Wait p50 (ms)',
           'Wait p99 (ms)', 'Requests (1/s)', 'Took p99 (ms)')
_QUANTILES = (0.5, 0.99)
_NAME = 24
#: Stands for the rate of a server where some exchanges are unclear.
_UNCLEAR = 'unclear'


def text(snapshot: monitor_snapshot.Snapshot) -> str:
    """Returns a table with a line for each server, the busiest one first."""
    rows = [_row(snapshot, uuid, usage) for uuid, usage in _ordered(snapshot)]
    widths = [max(map(len, column))
              for column in zip(_HEADINGS, *rows, strict=True)]
    lines = [_line(row, widths) for row in (_HEADINGS, *rows)]
    if not rows and not any(source.reason for source in snapshot.sources):
        lines = ['No server runs on this host.']
    return '\n'.join([*lines, *_requests(snapshot), *_notes(snapshot)])


def rows(snapshot: monitor_snapshot.Snapshot
         ) -> list[tuple[str | int | float | None, ...]]:
    """Returns a row for each server, the busiest one first, with COLUMNS."""
    return [_numbers(snapshot, uuid, usage)
            for uuid, usage in _ordered(snapshot)]


def _numbers(snapshot: monitor_snapshot.Snapshot, uuid: str,
             server_usage: sched.ServerUsage
             ) -> tuple[str | int | float | None, ...]:
    """Returns the values of COLUMNS; None for an unknown one."""
    server, usage = snapshot.servers.get(uuid), server_usage.whole
    granted = server.reserved_cpus if server else None
    vcpus = server_usage.vcpus_ns / _NS / snapshot.span_s
    shown = snapshot.shows_budget(uuid)
    answered = snapshot.answered.get(uuid)
    total = answered and answered.total(transactions.Role.SERVER)
    told = total if total and not total.unclear else None
    return (
        uuid, server.name if server else '',
        _rounded(usage.totals.ran / _NS / snapshot.span_s),
        _rounded(vcpus) if server_usage.vcpus else None,
        None if server_usage.emulator_ns is None
        else _rounded(server_usage.emulator_ns / _NS / snapshot.span_s),
        None if granted is None else _rounded(granted),
        _rounded(vcpus / granted) if granted else None,
        *((usage.counts.exhausted,
           _rounded(usage.counts.starved / _NS / snapshot.span_s),
           _rounded(usage.lost_ns / _NS / snapshot.span_s),
           *(_quantile_ms(usage.waits, quantile) for quantile in _QUANTILES))
          if shown else (None,) * 5),
        _rounded(told.took.count / snapshot.span_s) if told else None,
        _quantile_ms(told.took, _QUANTILES[-1]) if told else None)


def _rounded(value: float) -> float:
    return round(value, 6)


def _quantile_ms(times: histogram.Histogram, quantile: float) -> float | None:
    return (_rounded(times.quantile_ns(quantile) / _MS_NS) if times.count
            else None)


def _ordered(snapshot: monitor_snapshot.Snapshot
             ) -> list[tuple[str, sched.ServerUsage]]:
    return sorted(snapshot.usages.items(),
                  key=lambda item: (-item[1].whole.totals.ran, item[0]))


def _row(snapshot: monitor_snapshot.Snapshot, uuid: str,
         server_usage: sched.ServerUsage) -> tuple[str, ...]:
    server = snapshot.servers.get(uuid)
    usage = server_usage.whole
    vcpus = server_usage.vcpus_ns / _NS / snapshot.span_s
    granted = server.reserved_cpus if server else None
    return (
        uuid, (server.name if server else '')[:_NAME],
        _cpus(usage.totals.ran, snapshot),
        _cpus(server_usage.vcpus_ns if server_usage.vcpus else None, snapshot),
        _cpus(server_usage.emulator_ns, snapshot),
        '-' if granted is None else f'{granted:.3f}',
        '-' if not granted else f'{vcpus / granted:.1%}',
        *_budget(snapshot, uuid, usage), *_answers(snapshot, uuid))


def _cpus(ns: int | None, snapshot: monitor_snapshot.Snapshot) -> str:
    return '-' if ns is None else f'{ns / _NS / snapshot.span_s:.3f}'


def _budget(snapshot: monitor_snapshot.Snapshot, uuid: str, usage: waits.Usage
            ) -> Iterator[str]:
    """Yields the cells that need to know when the budget ran out."""
    cells = (str(usage.counts.exhausted),
             _part(usage.counts.starved, snapshot),
             _part(usage.lost_ns, snapshot),
             *(_ms(usage.waits, quantile) for quantile in _QUANTILES))
    shown = snapshot.shows_budget(uuid)
    return (cell if shown else '-' for cell in cells)


def _part(ns: int, snapshot: monitor_snapshot.Snapshot) -> str:
    return f'{ns / _NS / snapshot.span_s:.1%}'


def _ms(times: histogram.Histogram, quantile: float) -> str:
    if not times.count:
        return '-'
    return f'{times.quantile_ns(quantile) / _MS_NS:.3f} ms'


def _answers(snapshot: monitor_snapshot.Snapshot, uuid: str
             ) -> tuple[str, str]:
    """Returns requests answered per second, and the time of slow answers."""
    traffic = snapshot.answered.get(uuid)
    if traffic is None:
        return '-', '-'
    total = traffic.total(transactions.Role.SERVER)
    if total.unclear:
        return _UNCLEAR, '-'
    took = total.took
    return f'{took.count / snapshot.span_s:.1f}/s', _ms(took, _QUANTILES[-1])


def _line(row: Sequence[str], widths: Iterable[int]) -> str:
    # The first two columns are text, the others are numbers.
    return '  '.join(
        cell.ljust(width) if column < 2 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ).rstrip()


def _requests(snapshot: monitor_snapshot.Snapshot) -> Iterator[str]:
    for uuid, traffic in snapshot.requests.items():
        for request, took in sorted(
                traffic.requests.items(), key=lambda item: -item[1].count):
            if took.count:
                asks = request.role is transactions.Role.CLIENT
                yield (f'{uuid}  {"asks " if asks else ""}{request.method} '
                       f'{request.path} {request.status}: '
                       f'{took.count / snapshot.span_s:.1f}/s, p50 '
                       f'{_ms(took, 0.5)}, p99 {_ms(took, 0.99)}')


def _notes(snapshot: monitor_snapshot.Snapshot) -> Iterator[str]:
    for uuid, traffic in snapshot.answered.items():
        total = traffic.total(transactions.Role.SERVER)
        if total.unclear:
            yield (f'{uuid}: {total.unclear} exchanges cannot be told apart '
                   f'as requests (TLS, HTTP/2, requests that overtake each '
                   f'other); {total.took.count} requests can.')
    for name, count in snapshot.missed_runs.items():
        if count:
            yield (f'The kernel did not give {count} events to the programs '
                   f'of {name}, so the numbers of some servers are too small.')
    for source in snapshot.sources:
        if source.reason:
            yield f'Without {source.name}: {source.reason}.'
    if snapshot.beyond:
        verb = 's are' if snapshot.beyond > 1 else ' is'
        yield (f'{snapshot.beyond} server{verb} beyond the first '
               f'{servers.SERVERS} and counted under the name '
               f'{servers.OTHER_NAME}.')


def as_json(snapshot: monitor_snapshot.Snapshot) -> str:
    """Returns the same numbers as JSON, exact and with times in ns."""
    return json.dumps({
        'seconds': snapshot.span_s,
        'sources': [{'source': source.name, 'state': source.state,
                     'reason': source.reason or None}
                    for source in snapshot.sources],
        'servers': {uuid: {
            **_as_json(snapshot.servers.get(uuid), usage,
                       snapshot.shows_budget(uuid)),
            'transactions': _transactions(snapshot.answered[uuid])
            if uuid in snapshot.answered else None,
            'http': _exchanges(snapshot.requests[uuid])
            if uuid in snapshot.requests else None}
            for uuid, usage in _ordered(snapshot)},
        'beyond': snapshot.beyond,
        'unseen_switches': snapshot.missed_switches,
        'missed_runs': dict(snapshot.missed_runs)}, indent=2)


def _as_json(server: servers.Watched | None, server_usage: sched.ServerUsage,
             shows_budget: bool) -> dict[str, Any]:
    about: dict[str, Any] = {}
    if server:
        about = {'name': server.name, 'project': server.project,
                 'flavor': server.flavor, 'vnf': server.vnf,
                 'vcpus': server.vcpus or None}
        if server.reservation:
            about |= {'runtime_us': server.reservation.runtime_us,
                      'period_us': server.reservation.period_us}
    return {**about, 'reserved_cpus': server.reserved_cpus if server else None,
            **_usage(server_usage.whole, shows_budget),
            'emulator_cpu_ns': server_usage.emulator_ns,
            'wait_ns': (_times(server_usage.whole.waits)
                        if shows_budget else None),
            'by_vcpu': {vcpu: _usage(usage, shows_budget)
                        for vcpu, usage in server_usage.vcpus.items()},
            'by_pcpu': {cpu: counts.ran
                        for cpu, counts in server_usage.whole.cpus.items()}}


def _usage(usage: waits.Usage, shows_budget: bool) -> dict[str, int | None]:
    counts = usage.counts
    of_budget = {'lost_ns': usage.lost_ns, 'throttled_ns': counts.starved,
                 'exhausted_periods': counts.exhausted}
    return {'cpu_ns': usage.totals.ran, 'runnable_ns': usage.totals.waited,
            **(of_budget if shows_budget else dict.fromkeys(of_budget)),
            'switches': counts.switches, 'preemptions': counts.preempted}


def _times(times: histogram.Histogram) -> dict[str, float]:
    return {'count': times.count, 'mean': times.mean_ns,
            **{f'p{quantile * 100:g}': times.quantile_ns(quantile)
               for quantile in (0.5, 0.75, 0.9, 0.99, 0.999)}}


def _exchanges(traffic: http.ServerRequests) -> list[dict[str, Any]]:
    return [{'role': request.role.name.lower(), 'method': request.method,
             'path': request.path, 'status': request.status,
             'took_ns': _times(took)}
            for request, took in traffic.requests.items()]


def _transactions(traffic: transactions.ServerTransactions) -> dict[str, Any]:
    return {'request_wait_ns': _times(traffic.waiting),
            'first_byte_ns': _times(traffic.first),
            'late_connections': traffic.stats.late,
            'peers_beyond': traffic.stats.beyond,
            'answers': traffic.stats.answers,
            **{role.name.lower(): _traffic(traffic.total(role))
               for role in transactions.Role},
            'peers': [{
                'role': peer.role.name.lower(), 'port': peer.port,
                'address': str(peer.address) if peer.address else None,
                **_traffic(edge)}
                for peer, edge in traffic.peers.items()]}


def _traffic(edge: transactions.Edge) -> dict[str, Any]:
    return {'received': edge.received, 'sent': edge.sent,
            'unclear': edge.unclear, 'took_ns': _times(edge.took)}
