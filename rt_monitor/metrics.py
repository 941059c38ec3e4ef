# SPDX-License-Identifier: Apache-2.0

"""The metrics of a snapshot.  Only this module and compute name metrics.

The label of a server is its UUID.  The name, project, flavor and VNF of a
server are labels of one metric, ``nova_rt_server_info``.  Queries join the
other metrics with this metric.
"""

from collections.abc import Callable, Iterator

from rt_monitor import exposition
from rt_monitor import histogram
from rt_monitor import power
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions
from rt_monitor import waits

_NS = 1e9
_US = 1e6
_SERVER = 'nova_rt_server_'

#: These metrics are missing where the monitor does not see that a budget runs
#: out.
_OF_BUDGETS = frozenset({'lost_seconds_total', 'throttled_seconds_total',
                         'exhausted_periods_total'})
#: The sums of a server: name, help, and a function that returns the number.
_SUMS: tuple[tuple[str, str, Callable[[waits.Usage], float]], ...] = (
    ('cpu_seconds_total', 'CPU time of the tasks of the server, including '
     'tasks that have ended.', lambda usage: usage.totals.ran / _NS),
    ('runnable_seconds_total', 'Time for which tasks of the server were '
     'runnable but did not run.', lambda usage: usage.totals.waited / _NS),
    ('lost_seconds_total', 'Time with budget in which a task of the server '
     'could have run on a pCPU and none did.',
     lambda usage: usage.lost_ns / _NS),
    ('throttled_seconds_total', 'Time without budget in which a task of the '
     'server could have run on a pCPU and none did.',
     lambda usage: usage.counts.starved / _NS),
    ('exhausted_periods_total', 'Periods in which the budget ran out, counted '
     'for each pCPU or thread.', lambda usage: usage.counts.exhausted),
    ('switches_total', 'Switches of a CPU to a task of the server.',
     lambda usage: usage.counts.switches),
    ('preemptions_total', 'Switches away from a task of the server that was '
     'still runnable.', lambda usage: usage.counts.preempted),
)


def families(snapshot: monitor_snapshot.Snapshot) -> list[exposition.Family]:
    """Returns all metrics of a snapshot."""
    return [*_monitor(snapshot), *_servers(snapshot), *_sums(snapshot),
            *_parts(snapshot), *_times(snapshot), *_transactions(snapshot),
            *_requests(snapshot), *_datagrams(snapshot), *_counted(snapshot),
            *_energy(snapshot)]


def _monitor(snapshot: monitor_snapshot.Snapshot
             ) -> Iterator[exposition.Family]:
    sources = exposition.Family(
        'nova_rt_monitor_source', 'gauge',
        'Always 1; the labels have the state of a source, and the reason why '
        'it is off.')
    for source in snapshot.sources:
        sources.add(1, {'source': source.name, 'state': source.state,
                        'reason': source.reason})
    watched = exposition.Family(
        'nova_rt_monitor_servers', 'gauge',
        'Servers that are watched, including those beyond the bounds.')
    watched.add(len(snapshot.servers), {})
    beyond = exposition.Family(
        'nova_rt_monitor_servers_beyond', 'gauge',
        'Servers beyond the bounds, which are counted together as other.')
    beyond.add(snapshot.beyond, {})
    unseen = exposition.Family(
        'nova_rt_monitor_unseen_switches_total', 'counter',
        'Switches of tasks for which the kernel sent no event.')
    unseen.add(snapshot.missed_switches, {})
    missed = exposition.Family(
        'nova_rt_monitor_missed_runs_total', 'counter',
        'Events that the kernel did not give to the programs of a source.')
    for name, count in snapshot.missed_runs.items():
        missed.add(count, {'source': name})
    yield from (sources, watched, beyond, unseen, missed)
    if snapshot.failed_pushes is not None:
        yield from _counters(('failed_pushes_total', 'Pushes of metrics that '
                              'the endpoint did not accept.',
                              snapshot.failed_pushes))


def _counters(*counters: tuple[str, str, int]) -> Iterator[exposition.Family]:
    for name, about, value in counters:
        family = exposition.Family(f'nova_rt_monitor_{name}', 'counter',
                                   about)
        family.add(value, {})
        yield family


def _servers(snapshot: monitor_snapshot.Snapshot
             ) -> Iterator[exposition.Family]:
    info = exposition.Family(
        f'{_SERVER}info', 'gauge', 'Always 1; the labels have the name, '
        'project, flavor and VNF of a server.')
    share = exposition.Family(
        f'{_SERVER}reserved_share', 'gauge',
        'Part of a pCPU that is reserved for each vCPU.')
    runtime = exposition.Family(
        f'{_SERVER}reserved_runtime_seconds', 'gauge',
        'CPU time that is reserved for each vCPU in every period.')
    period = exposition.Family(
        f'{_SERVER}reserved_period_seconds', 'gauge',
        'The period of the reservation.')
    vcpus = exposition.Family(f'{_SERVER}vcpus', 'gauge',
                              'The number of vCPUs of the server.')
    for uuid, server in snapshot.servers.items():
        labels = {'server': exposition.clean(uuid)}
        info.add(1, {**labels, **{
            name: exposition.clean(getattr(server, name))
            for name in ('name', 'project', 'flavor', 'vnf')}})
        if server.vcpus:
            vcpus.add(server.vcpus, labels)
        if server.reservation:
            share.add(server.reservation.share, labels)
            runtime.add(server.reservation.runtime_us / _US, labels)
            period.add(server.reservation.period_us / _US, labels)
    yield from (info, vcpus, share, runtime, period)


def _sums(snapshot: monitor_snapshot.Snapshot) -> Iterator[exposition.Family]:
    for name, about, number in _SUMS:
        family = exposition.Family(f'{_SERVER}{name}', 'counter', about)
        for uuid, usage in snapshot.usages.items():
            if name not in _OF_BUDGETS or snapshot.shows_budget(uuid):
                family.add(number(usage.whole), _labels(uuid))
        yield family
    emulator = exposition.Family(
        f'{_SERVER}emulator_cpu_seconds_total', 'counter',
        'CPU time of the emulator, I/O, vhost and KVM threads of the server, '
        'which are not vCPUs.')
    for uuid, usage in snapshot.usages.items():
        if usage.emulator_ns is not None:
            emulator.add(usage.emulator_ns / _NS, _labels(uuid))
    yield emulator
    seen_for = exposition.Family(
        f'{_SERVER}seen_seconds', 'gauge',
        'Time from the first to the last moment at which a task of the '
        'server was seen.')
    for uuid, usage in snapshot.usages.items():
        seen_for.add(usage.whole.counts.lifetime_ns / _NS, _labels(uuid))
    yield seen_for


def _parts(snapshot: monitor_snapshot.Snapshot) -> Iterator[exposition.Family]:
    by_vcpu = exposition.Family(
        'nova_rt_vcpu_cpu_seconds_total', 'counter', 'CPU time of the vCPU.')
    throttled = exposition.Family(
        'nova_rt_vcpu_throttled_seconds_total', 'counter',
        'Time for which the vCPU was runnable without budget.')
    by_cpu = exposition.Family(
        'nova_rt_server_pcpu_seconds_total', 'counter',
        'CPU time of the server on the pCPU, measured at its switches.')
    for uuid, server in snapshot.usages.items():
        for vcpu, usage in server.vcpus.items():
            labels = {**_labels(uuid), 'vcpu': str(vcpu)}
            by_vcpu.add(usage.totals.ran / _NS, labels)
            if snapshot.shows_budget(uuid):
                throttled.add(usage.counts.starved / _NS, labels)
        for cpu, counts in server.whole.cpus.items():
            by_cpu.add(counts.ran / _NS, {**_labels(uuid), 'cpu': str(cpu)})
    yield from (by_vcpu, throttled, by_cpu)


def _times(snapshot: monitor_snapshot.Snapshot) -> Iterator[exposition.Family]:
    waited, used = _Times('wait', 'Time for which the server waited for a '
                          'CPU with budget.'), _Times(
        'period_use', 'CPU time of the budget that was used in a period.')
    for uuid, usage in snapshot.usages.items():
        if snapshot.shows_budget(uuid):
            waited.add(usage.whole.waits, _labels(uuid))
            used.add(usage.whole.uses, _labels(uuid))
    yield from (*waited.families, *used.families)


def _transactions(snapshot: monitor_snapshot.Snapshot
                  ) -> Iterator[exposition.Family]:
    took = _Times('transaction', 'Time from the sending (client) or the '
                  'arrival (server) of a request to the last byte of its '
                  'answer.')
    waiting = _Times('request_wait', 'Time from the arrival of a request to '
                     'its first read.')
    first = _Times('first_byte', 'Time from the arrival of a request to the '
                   'first byte of its answer.')
    received = exposition.Family(
        f'{_SERVER}received_bytes_total', 'counter', 'Bytes read over TCP.')
    sent = exposition.Family(
        f'{_SERVER}sent_bytes_total', 'counter', 'Bytes sent over TCP.')
    unclear = exposition.Family(
        f'{_SERVER}unclear_exchanges_total', 'counter', 'Exchanges on TCP '
        'connections that cannot be read as one request after another; these '
        'exchanges do not count as transactions.')
    late = exposition.Family(
        f'{_SERVER}late_connections_total', 'counter', 'Connections that were '
        'open before the monitor began to watch the server.')
    beyond = exposition.Family(
        f'{_SERVER}peers_beyond_total', 'counter', 'Transactions with peers '
        'for which the monitor has no place, because the server has more '
        'peers than places.')
    answers = exposition.Family(
        f'{_SERVER}answers_total', 'counter', 'Answers over TCP that the '
        'server has begun, whether their transactions have ended or not.')
    for uuid, traffic in snapshot.answered.items():
        late.add(traffic.stats.late, _labels(uuid))
        beyond.add(traffic.stats.beyond, _labels(uuid))
        answers.add(traffic.stats.answers, _labels(uuid))
        for role in transactions.Role:
            total = traffic.total(role)
            if not total.received and not total.sent:
                continue
            labels = {**_labels(uuid), 'role': role.name.lower()}
            took.add(total.took, labels)
            unclear.add(total.unclear, labels)
            received.add(total.received, labels)
            sent.add(total.sent, labels)
        waiting.add(traffic.waiting, _labels(uuid))
        first.add(traffic.first, _labels(uuid))
    yield from (received, sent, unclear, late, beyond, answers,
                *took.families, *waiting.families, *first.families)


def _requests(snapshot: monitor_snapshot.Snapshot
              ) -> Iterator[exposition.Family]:
    took = _Times('http', 'Time from the sending (client) or the arrival '
                  '(server) of an HTTP/1 request to the last byte of its '
                  'answer.')
    beyond = exposition.Family(
        f'{_SERVER}http_beyond_total', 'counter', 'HTTP requests of kinds '
        'for which the monitor has no place, because the server has more '
        'kinds of requests than places.')
    unclear = exposition.Family(
        f'{_SERVER}unclear_http_connections_total', 'counter', 'HTTP '
        'connections that are no longer counted, because a request came '
        'before the answer to the previous one.')
    for uuid, traffic in snapshot.requests.items():
        beyond.add(traffic.stats.beyond, _labels(uuid))
        unclear.add(traffic.stats.unclear, _labels(uuid))
        for request, times in traffic.requests.items():
            took.add(times, {
                **_labels(uuid), 'role': request.role.name.lower(),
                'method': request.method, 'path': request.path,
                'status': request.status})
    yield from (beyond, unclear, *took.families)


def _datagrams(snapshot: monitor_snapshot.Snapshot
               ) -> Iterator[exposition.Family]:
    for part in ('received', 'sent'):
        count = exposition.Family(
            f'{_SERVER}{part}_datagrams_total', 'counter',
            f'Datagrams that the server {part} over UDP.')
        size = exposition.Family(
            f'{_SERVER}{part}_datagram_bytes_total', 'counter',
            f'Bytes that the server {part} over UDP, without headers.')
        for uuid, counts in snapshot.datagrams.items():
            count.add(getattr(counts, part), _labels(uuid))
            size.add(getattr(counts, f'{part}_bytes'), _labels(uuid))
        yield from (count, size)


def _counted(snapshot: monitor_snapshot.Snapshot
             ) -> Iterator[exposition.Family]:
    for name, about, part in (
            ('cycles', 'CPU cycles', 'cycles'),
            ('instructions', 'Instructions', 'instructions'),
            ('cache_references', 'Accesses to the last-level cache',
             'references'),
            ('cache_misses', 'Misses of the last-level cache', 'misses')):
        family = exposition.Family(f'{_SERVER}{name}_total', 'counter',
                                   f'{about} of the server, from the '
                                   'hardware counters of the CPUs.')
        for uuid, by_cpu in snapshot.counted.items():
            if uuid not in (power.HOST, power.IDLE):
                family.add(sum(getattr(work, part)
                               for work in by_cpu.values()), _labels(uuid))
        yield family


def _energy(snapshot: monitor_snapshot.Snapshot
            ) -> Iterator[exposition.Family]:
    servers = exposition.Family(
        f'{_SERVER}energy_joules_total', 'counter',
        'Energy of the CPU sockets that is attributed to the server by its '
        'work; the label method has the measure of work.')
    rest = exposition.Family(
        'nova_rt_host_energy_joules_total', 'counter',
        'Energy of the CPU sockets that is not attributed to a server.')
    for name, energy_uj in snapshot.energy_uj.items():
        if name in (power.HOST, power.IDLE):
            rest.add(energy_uj / _US, {'part': name,
                                       'method': snapshot.method})
        else:
            servers.add(energy_uj / _US, {**_labels(name),
                                          'method': snapshot.method})
    yield from (servers, rest)


class _Times:
    """Two metrics of the same times: a coarse histogram and its quantiles.

    The quantiles are computed from the fine buckets.
    """

    def __init__(self, name: str, about: str) -> None:
        self._coarse = exposition.Family(f'{_SERVER}{name}_seconds',
                                         'histogram', about)
        self._fine = exposition.Family(
            f'{_SERVER}{name}_quantile_seconds', 'summary',
            f'{about}  A quantile of all times until now.')

    def add(self, times: histogram.Histogram, labels: dict[str, str]
            ) -> None:
        """Adds the times; does nothing if there are none."""
        if not times.count:
            return
        self._coarse.observe(times, labels)
        self._fine.add_quantiles(times, labels)

    @property
    def families(self) -> tuple[exposition.Family, exposition.Family]:
        """The histogram and the quantiles."""
        return self._coarse, self._fine


def _labels(uuid: str) -> dict[str, str]:
    return {'server': exposition.clean(uuid)}
