# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.exposition and metrics, read by prometheus_client."""

import dataclasses
import itertools
import unittest

import hypothesis
from hypothesis import strategies as st
from prometheus_client import parser

from rt_monitor import counters
from rt_monitor import exposition
from rt_monitor import histogram
from rt_monitor import http
from rt_monitor import metrics
from rt_monitor import power
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot
from rt_monitor import tap
from rt_monitor import transactions
from rt_monitor import waits
from tests.unit import base


def usage(ran=2_000_000_000):
    counts = [0] * histogram.BUCKETS
    counts[histogram.bucket_of(3_000_000)] = 5
    times = histogram.Histogram.from_counts(counts, 15_000_000)
    return waits.Usage(
        waits.Totals(ran, 900_000_000),
        {1: waits.Counts(ran=ran, switches=7, preempted=3, exhausted=4,
                         starved=600_000_000, lost=400_000_000, first=1,
                         last=5)}, times, times)


def look_at(**seen):
    names = {uuid: servers.Watched(
        uuid, {servers.WHOLE: 1}, 2, 'web "1"\n', 'p', 'f',
        servers.Granted(20_000, 100_000), vnf='v') for uuid in seen}
    edge = transactions.Edge(700, 5_000, usage().waits, 8)
    peer = transactions.Peer(transactions.Role.SERVER, None, 80)
    answered = transactions.ServerTransactions(
        {peer: edge}, usage().waits, usage().waits,
        {transactions.Role.SERVER: edge},
        transactions.TransactionStats(1, 2, 3))
    return snapshot.Snapshot(
        10.0, 10.0, (snapshot.SourceState('sched'),), names, seen, 3, 4,
        dict.fromkeys(seen, answered),
        transactions.TransactionStats(1, 2, 3),
        dict.fromkeys(seen, tap.Datagrams(5, 6, 50, 60)),
        {**dict.fromkeys(seen, 2_500_000), power.IDLE: 7},
        {uuid: {0: counters.Work(1, 2, 3, 4),
                1: counters.Work(10, 20, 30, 40)}
         for uuid in (*seen, power.HOST)},
        requests=dict.fromkeys(seen, http.ServerRequests({http.Request(
            transactions.Role.SERVER, 'GET', '/a"\\b/:n',
            '2xx'): usage().waits}, http.HttpStats(7, 8))),
        failed_pushes=6, missed_runs={'sched': 9, 'tcp': 0})


def full():
    """Returns a snapshot with values for all metrics."""
    return look_at(u1=sched.ServerUsage(
        usage() + waits.Usage(waits.Totals(500_000_000, 0)), {0: usage()}))


def parsed(text):
    return {(sample.name, *sorted(sample.labels.items())): sample.value
            for family in parser.text_string_to_metric_families(text)
            for sample in family.samples}


class ExpositionTest(unittest.TestCase):

    def metrics(self):
        return parsed(exposition.text(metrics.families(full())))

    def value(self, name, *labels):
        return self.metrics()[(f'nova_rt_{name}', *labels)]

    def test_sums(self):
        labels = ('server', 'u1')
        self.assertEqual(2.5, self.value('server_cpu_seconds_total', labels))
        self.assertEqual(0.5, self.value('server_emulator_cpu_seconds_total',
                                         labels))
        self.assertEqual(0.4, self.value('server_lost_seconds_total',
                                         labels))
        self.assertEqual(0.6, self.value('server_throttled_seconds_total',
                                         labels))
        self.assertEqual(4, self.value('server_exhausted_periods_total',
                                       labels))
        self.assertEqual(0.2, self.value('server_reserved_share', labels))
        self.assertEqual(2.0, self.value(
            'server_pcpu_seconds_total', ('cpu', '1'), labels))
        self.assertEqual(2.0, self.value(
            'vcpu_cpu_seconds_total', labels, ('vcpu', '0')))

    def test_names_are_labels_of_one_metric_alone(self):
        self.assertEqual(1, self.value(
            'server_info', ('flavor', 'f'), ('name', 'web "1"?'),
            ('project', 'p'), ('server', 'u1'), ('vnf', 'v')))
        for name, *labels in self.metrics():
            if name != 'nova_rt_server_info':
                self.assertNotIn('name', dict(labels), name)

    def test_histogram(self):
        labels = ('server', 'u1')
        self.assertEqual(5, self.value('server_wait_seconds_count', labels))
        self.assertEqual(0.015, self.value('server_wait_seconds_sum',
                                           labels))
        self.assertEqual(0, self.value('server_wait_seconds_bucket',
                                       ('le', '0.0025'), labels))
        self.assertEqual(5, self.value('server_wait_seconds_bucket',
                                       ('le', '0.005'), labels))
        self.assertAlmostEqual(0.003, self.value(
            'server_wait_quantile_seconds', ('quantile', '0.99'), labels),
            delta=0.00005)

    def test_of_the_monitor(self):
        self.assertEqual(1, self.value('monitor_source', (
            'reason', ''), ('source', 'sched'), ('state', 'on')))
        self.assertEqual(3, self.value('monitor_servers_beyond'))
        self.assertEqual(4, self.value('monitor_unseen_switches_total'))
        self.assertEqual([9, 0], [
            self.value('monitor_missed_runs_total', ('source', name))
            for name in ('sched', 'tcp')])

    def test_transactions(self):
        labels = (('role', 'server'), ('server', 'u1'))
        self.assertEqual(700, self.value('server_received_bytes_total',
                                         *labels))
        self.assertEqual(5_000, self.value('server_sent_bytes_total',
                                           *labels))
        self.assertEqual(5, self.value('server_transaction_seconds_count',
                                       *labels))
        self.assertEqual(5, self.value('server_request_wait_seconds_count',
                                       ('server', 'u1')))
        self.assertEqual(8, self.value('server_unclear_exchanges_total',
                                       *labels))
        self.assertEqual([1, 2, 3], [
            self.value(f'server_{name}_total', ('server', 'u1'))
            for name in ('late_connections', 'peers_beyond', 'answers')])

    def test_requests(self):
        labels = (('method', 'GET'), ('path', '/a"\\b/:n'),
                  ('role', 'server'), ('server', 'u1'), ('status', '2xx'))
        self.assertEqual(5, self.value('server_http_seconds_count', *labels))
        self.assertEqual([7, 8], [
            self.value(f'server_{name}_total', ('server', 'u1'))
            for name in ('http_beyond', 'unclear_http_connections')])

    def test_pushes(self):
        self.assertEqual(6, self.value('monitor_failed_pushes_total'))

    def test_datagrams(self):
        self.assertEqual([5, 6, 50, 60], [self.value(
            f'server_{name}_total', ('server', 'u1')) for name in (
            'sent_datagrams', 'received_datagrams', 'sent_datagram_bytes',
            'received_datagram_bytes')])

    def test_counters(self):
        self.assertEqual([11, 22, 33, 44], [self.value(
            f'server_{name}_total', ('server', 'u1')) for name in (
            'cycles', 'instructions', 'cache_references', 'cache_misses')])

    def test_energy(self):
        method = ('method', 'cycles')
        self.assertEqual(2.5, self.value(
            'server_energy_joules_total', method, ('server', 'u1')))
        self.assertEqual(7e-6, self.value(
            'host_energy_joules_total', method, ('part', 'idle')))

    def test_a_source_that_is_off_has_no_metric(self):
        found = parsed(exposition.text(metrics.families(snapshot.Snapshot(
            1.0, 1.0, (snapshot.SourceState('sched', 'EPERM'),), {}, {}))))
        self.assertFalse([key for key in found if 'server_' in key[0]])
        self.assertIn(('nova_rt_monitor_source', ('reason', 'EPERM'),
                       ('source', 'sched'), ('state', 'off')), found)

    def test_budgets_that_are_not_seen_have_no_metric(self):
        found = full()
        unseen = {uuid: dataclasses.replace(
            server, reservation=servers.Granted(1, 5, of_group=True))
            for uuid, server in found.servers.items()}
        gone = {key[0] for key in self.metrics()} - {key[0] for key in parsed(
            exposition.text(metrics.families(dataclasses.replace(
                found, servers=unseen, group_budgets=False))))}
        self.assertEqual({
            'nova_rt_server_lost_seconds_total',
            'nova_rt_server_throttled_seconds_total',
            'nova_rt_server_exhausted_periods_total',
            'nova_rt_vcpu_throttled_seconds_total',
            *(f'nova_rt_server_{time}_{name}'
              for time in ('wait', 'period_use') for name in (
                  'quantile_seconds', 'seconds_bucket', 'seconds_count',
                  'seconds_sum'))}, gone)

    def test_those_beyond_are_as_the_others(self):
        found = full()
        for of_group, seen in itertools.product((True, False), repeat=2):
            granted = servers.Granted(1, 5, of_group)
            self.assertEqual(
                seen or not of_group, dataclasses.replace(found, servers={
                    'u1': servers.Watched('u1', {}, reservation=granted),
                    'u2': servers.Watched('u2', {}),
                }, group_budgets=seen).shows_budget(servers.OTHER_NAME))

    @hypothesis.given(st.text(max_size=100), st.floats(0, 1e12))
    @base.PROPERTY
    def test_any_text(self, text, value):
        family = exposition.Family('nova_rt_x', 'gauge', 'About x.')
        family.add(value, {'name': exposition.clean(text)})
        [(key, found)] = parsed(exposition.text([family])).items()
        self.assertEqual(value, found)
        self.assertEqual(('name', exposition.clean(text)), key[1])
        self.assertLessEqual(len(key[1][1]), exposition.LONGEST)


class ConventionTest(unittest.TestCase):

    def test_only_summaries_have_quantiles(self):
        """``promtool check metrics`` has the same rule."""
        for family in metrics.families(full()):
            quantiles = any('quantile="' in line for line in family.lines)
            self.assertEqual(family.kind == 'summary', quantiles,
                             family.name)
