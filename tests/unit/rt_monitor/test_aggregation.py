# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.aggregation: sums of servers."""

import dataclasses
import ipaddress
import unittest

from rt_monitor import aggregation
from rt_monitor import graph
from rt_monitor import histogram
from rt_monitor import http
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot as monitor_snapshot
from rt_monitor import transactions
from rt_monitor import waits


def times(*ns):
    counts = [0] * histogram.BUCKETS
    for each in ns:
        counts[histogram.bucket_of(each)] += 1
    return histogram.Histogram.from_counts(counts, sum(ns))


def seen(ran, *waited):
    return sched.ServerUsage(waits.Usage(
        waits.Totals(ran, 2 * ran),
        {0: waits.Counts(ran=ran, exhausted=1, first=1, last=2)},
        times(*waited)), {0: waits.Usage()})


def answered(role, address, *ns):
    peer = transactions.Peer(role, ipaddress.IPv4Address(address), 80)
    return transactions.ServerTransactions(
        {peer: transactions.Edge(1, 2, times(*ns))})


def server(uuid, project, *addresses, **different):
    return servers.Watched(uuid, {servers.WHOLE: 1}, project=project,
                           addresses=addresses, **different)


SERVER, CLIENT = transactions.Role
REQUEST = http.Request(SERVER, 'GET', '/:n', '2xx')
LOOK = monitor_snapshot.Snapshot(
    10.0, 10.0, (), {
        'a': server('a', 'p', '10.0.0.1', vcpus=2,
                    reservation=servers.Granted(20_000, 100_000)),
        'b': server('b', 'p', '10.0.0.2', vcpus=1,
                    reservation=servers.Granted(10_000, 20_000)),
        'c': server('c', '', '10.0.0.3')},
    {'a': seen(1, 1_000), 'b': seen(2, 9_000, 9_000), 'c': seen(4),
     'other': seen(8)},
    answered={'a': answered(SERVER, '10.0.0.3', 5_000),
              'c': answered(CLIENT, '10.0.0.1', 6_000)},
    requests={'a': http.ServerRequests({REQUEST: times(5)}),
              'b': http.ServerRequests({REQUEST: times(7)})})


class AggregateTest(unittest.TestCase):

    def test_projects(self):
        found = aggregation.aggregate(LOOK, aggregation.By.PROJECT)
        self.assertEqual({'p', '-'}, found.usages.keys())
        whole = found.usages['p'].whole
        self.assertEqual((3, 2), (whole.totals.ran, whole.counts.exhausted))
        self.assertEqual(times(1_000, 9_000, 9_000), whole.waits)
        # Those beyond the bounds are nobody's.
        self.assertEqual(12, found.usages['-'].whole.totals.ran)
        self.assertEqual('p (2)', found.servers['p'].name)
        self.assertAlmostEqual(0.9, found.servers['p'].reserved_cpus, 5)
        self.assertIsNone(found.servers['-'].reserved_cpus)

    def test_vnfs(self):
        found = aggregation.aggregate(dataclasses.replace(LOOK, servers={
            **LOOK.servers,
            'a': server('a', 'p', vnf='v'), 'c': server('c', '', vnf='v')}),
            aggregation.By.VNF)
        self.assertEqual('v (2)', found.servers['v'].name)
        self.assertEqual({'v': 5, '-': 10}, {
            name: each.whole.totals.ran
            for name, each in found.usages.items()})

    def test_requests_of_projects(self):
        found = aggregation.aggregate(LOOK, aggregation.By.PROJECT)
        self.assertEqual({'p': http.ServerRequests({REQUEST: times(5, 7)})},
                         found.requests)

    def test_the_host(self):
        found = aggregation.aggregate(LOOK, aggregation.By.HOST)
        self.assertEqual(15, found.usages['host'].whole.totals.ran)
        self.assertEqual(2, len(found.answered['host'].edges))

    def test_graph_of_projects(self):
        found = graph.build(aggregation.aggregate(
            LOOK, aggregation.By.PROJECT), 4)
        self.assertEqual([('-', 'p', 80)], [*found.edges])
