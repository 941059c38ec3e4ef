# SPDX-License-Identifier: Apache-2.0

"""Shows a look between two moments, as text for a person or as JSON."""

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


def text(look: monitor_snapshot.Snapshot) -> str:
    """Returns a table with a line for each server, the busiest one first."""
    rows = [_row(look, uuid, seen) for uuid, seen in _ordered(look)]
    widths = [max(map(len, column))
              for column in zip(_HEADINGS, *rows, strict=True)]
    lines = [_line(row, widths) for row in (_HEADINGS, *rows)]
    if not rows and not any(source.reason for source in look.sources):
        lines = ['No server runs on this host.']
    return '\n'.join([*lines, *_requests(look), *_notes(look)])


def rows(look: monitor_snapshot.Snapshot
         ) -> list[tuple[str | int | float | None, ...]]:
    """Returns a row for each server, the busiest one first, with COLUMNS."""
    return [_numbers(look, uuid, seen) for uuid, seen in _ordered(look)]


def _numbers(look: monitor_snapshot.Snapshot, uuid: str,
             seen: sched.ServerUsage) -> tuple[str | int | float | None, ...]:
    """Returns the values of COLUMNS; None for an unknown one."""
    server, usage = look.servers.get(uuid), seen.whole
    granted = server.reserved_cpus if server else None
    vcpus = seen.vcpus_ns / _NS / look.span_s
    shown = look.shows_budget(uuid)
    answered = look.answered.get(uuid)
    total = answered and answered.total(transactions.Role.SERVER)
    told = total if total and not total.unclear else None
    return (
        uuid, server.name if server else '',
        _rounded(usage.totals.ran / _NS / look.span_s),
        _rounded(vcpus) if seen.vcpus else None,
        None if seen.emulator_ns is None
        else _rounded(seen.emulator_ns / _NS / look.span_s),
        None if granted is None else _rounded(granted),
        _rounded(vcpus / granted) if granted else None,
        *((usage.counts.exhausted,
           _rounded(usage.counts.starved / _NS / look.span_s),
           _rounded(usage.lost_ns / _NS / look.span_s),
           *(_quantile_ms(usage.waits, quantile) for quantile in _QUANTILES))
          if shown else (None,) * 5),
        _rounded(told.took.count / look.span_s) if told else None,
        _quantile_ms(told.took, _QUANTILES[-1]) if told else None)


def _rounded(value: float) -> float:
    return round(value, 6)


def _quantile_ms(times: histogram.Histogram, quantile: float) -> float | None:
    return (_rounded(times.quantile_ns(quantile) / _MS_NS) if times.count
            else None)


def _ordered(look: monitor_snapshot.Snapshot
             ) -> list[tuple[str, sched.ServerUsage]]:
    return sorted(look.usages.items(),
                  key=lambda item: (-item[1].whole.totals.ran, item[0]))


def _row(look: monitor_snapshot.Snapshot, uuid: str, seen: sched.ServerUsage
         ) -> tuple[str, ...]:
    server = look.servers.get(uuid)
    usage = seen.whole
    vcpus = seen.vcpus_ns / _NS / look.span_s
    granted = server.reserved_cpus if server else None
    return (
        uuid, (server.name if server else '')[:_NAME],
        _cpus(usage.totals.ran, look),
        _cpus(seen.vcpus_ns if seen.vcpus else None, look),
        _cpus(seen.emulator_ns, look),
        '-' if granted is None else f'{granted:.3f}',
        '-' if not granted else f'{vcpus / granted:.1%}',
        *_budget(look, uuid, usage), *_answers(look, uuid))


def _cpus(ns: int | None, look: monitor_snapshot.Snapshot) -> str:
    return '-' if ns is None else f'{ns / _NS / look.span_s:.3f}'


def _budget(look: monitor_snapshot.Snapshot, uuid: str, usage: waits.Usage
            ) -> Iterator[str]:
    """Yields the cells that need to know when the budget ran out."""
    cells = (str(usage.counts.exhausted), _part(usage.counts.starved, look),
             _part(usage.lost_ns, look),
             *(_ms(usage.waits, quantile) for quantile in _QUANTILES))
    shown = look.shows_budget(uuid)
    return (cell if shown else '-' for cell in cells)


def _part(ns: int, look: monitor_snapshot.Snapshot) -> str:
    return f'{ns / _NS / look.span_s:.1%}'


def _ms(times: histogram.Histogram, quantile: float) -> str:
    if not times.count:
        return '-'
    return f'{times.quantile_ns(quantile) / _MS_NS:.3f} ms'


def _answers(look: monitor_snapshot.Snapshot, uuid: str) -> tuple[str, str]:
    """Returns requests answered per second, and the time of slow answers."""
    seen = look.answered.get(uuid)
    if seen is None:
        return '-', '-'
    total = seen.total(transactions.Role.SERVER)
    if total.unclear:
        return _UNCLEAR, '-'
    took = total.took
    return f'{took.count / look.span_s:.1f}/s', _ms(took, _QUANTILES[-1])


def _line(row: Sequence[str], widths: Iterable[int]) -> str:
    # The first two columns are text, the others are numbers.
    return '  '.join(
        cell.ljust(width) if column < 2 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ).rstrip()


def _requests(look: monitor_snapshot.Snapshot) -> Iterator[str]:
    for uuid, seen in look.requests.items():
        for request, took in sorted(
                seen.requests.items(), key=lambda item: -item[1].count):
            if took.count:
                asks = request.role is transactions.Role.CLIENT
                yield (f'{uuid}  {"asks " if asks else ""}{request.method} '
                       f'{request.path} {request.status}: '
                       f'{took.count / look.span_s:.1f}/s, p50 '
                       f'{_ms(took, 0.5)}, p99 {_ms(took, 0.99)}')


def _notes(look: monitor_snapshot.Snapshot) -> Iterator[str]:
    for uuid, seen in look.answered.items():
        total = seen.total(transactions.Role.SERVER)
        if total.unclear:
            yield (f'{uuid}: {total.unclear} exchanges cannot be told apart '
                   f'as requests (TLS, HTTP/2, requests that overtake each '
                   f'other); {total.took.count} requests can.')
    for source in look.sources:
        if source.reason:
            yield f'Without {source.name}: {source.reason}.'
    if look.beyond:
        verb = 's are' if look.beyond > 1 else ' is'
        yield (f'{look.beyond} server{verb} beyond the first '
               f'{servers.SERVERS} and counted under the name '
               f'{servers.OTHER_NAME}.')


def as_json(look: monitor_snapshot.Snapshot) -> str:
    """Returns the same numbers as JSON, exact and with times in ns."""
    return json.dumps({
        'seconds': look.span_s,
        'sources': [{'source': source.name, 'state': source.state,
                     'reason': source.reason or None}
                    for source in look.sources],
        'servers': {uuid: {
            **_as_json(look.servers.get(uuid), seen,
                       look.shows_budget(uuid)),
            'transactions': _transactions(look.answered[uuid])
            if uuid in look.answered else None,
            'http': _exchanges(look.requests[uuid])
            if uuid in look.requests else None}
            for uuid, seen in _ordered(look)},
        'beyond': look.beyond,
        'unseen_switches': look.missed_switches}, indent=2)


def _as_json(server: servers.Watched | None, seen: sched.ServerUsage,
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
            **_usage(seen.whole, shows_budget),
            'emulator_cpu_ns': seen.emulator_ns,
            'wait_ns': _times(seen.whole.waits) if shows_budget else None,
            'by_vcpu': {vcpu: _usage(usage, shows_budget)
                        for vcpu, usage in seen.vcpus.items()},
            'by_pcpu': {cpu: counts.ran
                        for cpu, counts in seen.whole.cpus.items()}}


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


def _exchanges(seen: http.ServerRequests) -> list[dict[str, Any]]:
    return [{'role': request.role.name.lower(), 'method': request.method,
             'path': request.path, 'status': request.status,
             'took_ns': _times(took)}
            for request, took in seen.requests.items()]


def _transactions(seen: transactions.ServerTransactions) -> dict[str, Any]:
    return {'request_wait_ns': _times(seen.waiting),
            'first_byte_ns': _times(seen.first),
            'late_connections': seen.stats.late,
            'peers_beyond': seen.stats.beyond,
            **{role.name.lower(): _traffic(seen.total(role))
               for role in transactions.Role},
            'peers': [{
                'role': peer.role.name.lower(), 'port': peer.port,
                'address': str(peer.address) if peer.address else None,
                **_traffic(edge)}
                for peer, edge in seen.peers.items()]}


def _traffic(edge: transactions.Edge) -> dict[str, Any]:
    return {'received': edge.received, 'sent': edge.sent,
            'unclear': edge.unclear, 'took_ns': _times(edge.took)}
