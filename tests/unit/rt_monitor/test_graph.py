# SPDX-License-Identifier: Apache-2.0

"""rt_monitor.graph, operational and drawing, on a chain of servers."""

import dataclasses
import ipaddress
import json
import unittest
from xml.etree import ElementTree

import hypothesis
from hypothesis import strategies as st

from rt_monitor import drawing
from rt_monitor import graph
from rt_monitor import histogram
from rt_monitor import operational
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot
from rt_monitor import transactions
from rt_monitor import waits
from tests.unit import base

SERVER, CLIENT = transactions.Role


def took(count, ms):
    counts = [0] * histogram.BUCKETS
    counts[histogram.bucket_of(int(ms * 1e6))] += count
    return transactions.Edge(count * 100, count * 10,
                             histogram.Histogram.from_counts(
                                 counts, int(count * ms * 1e6)))


def peer(role, address, port=80):
    return transactions.Peer(role, ipaddress.ip_address(address), port)


def server(number, share=None):
    granted = servers.Granted(int(share * 1e5), 100_000) if share else None
    return servers.Watched(f'u{number}', {servers.WHOLE: number}, 1,
                           f'tier"{number}', reservation=granted,
                           addresses=(f'10.0.0.{number}',), sockets=False)


def seen(cpus, lost=0.0):
    return sched.ServerUsage(waits.Usage(
        waits.Totals(ran=int(cpus * 1e10)),
        {0: waits.Counts(lost=int(lost * 1e10))}), {})


#: From outside to u1, 100 requests a second; to u2 and u3 from there.
CHAIN = snapshot.Snapshot(
    10.0, 10.0, (), {f'u{n}': server(n, share) for n, share in
                     ((1, None), (2, 0.5), (3, None))},
    {'u1': seen(0.2), 'u2': seen(0.4), 'u3': seen(0.6)},
    answered={
        'u1': transactions.ServerTransactions({
            peer(SERVER, '192.0.2.7'): took(1000, 50),
            peer(CLIENT, '10.0.0.2'): took(2000, 20),
            peer(CLIENT, '10.0.0.3'): took(1000, 5)}),
        'u2': transactions.ServerTransactions({
            peer(SERVER, '10.0.0.1'): took(2000, 19),
            peer(SERVER, '10.0.0.1', 81): took(10, 3),
            peer(CLIENT, '10.0.0.3'): took(500, 9)}),
        'u3': transactions.ServerTransactions({
            peer(SERVER, '10.0.0.1'): took(1000, 4),
            peer(SERVER, '10.0.0.2'): took(500, 8)}),
    }, network=transactions.TransactionStats())

NOT_KNOWN = ('cores', 'reservation', 'neighbours', 'worst')


class GraphTest(unittest.TestCase):

    def setUp(self):
        self.graph = graph.build(CHAIN, 4)

    def test_both_ends_are_joined(self):
        edge = self.graph.edges['u1', 'u2', 80]
        self.assertEqual({SERVER, CLIENT}, {*edge})
        self.assertEqual({'192.0.2.7', 'u1', 'u2'}, {
            asks for asks, _, _ in self.graph.edges})

    def test_by_floating_addresses(self):
        """Each end sees the other's floating address."""
        one, two = (dataclasses.replace(
            server(n), addresses=(f'10.0.0.{n}', f'203.0.113.{n}'))
            for n in (1, 2))
        found = graph.build(snapshot.Snapshot(
            10.0, 10.0, (), {'u1': one, 'u2': two},
            {'u1': seen(0.1), 'u2': seen(0.1)}, answered={
                'u1': transactions.ServerTransactions({
                    peer(CLIENT, '203.0.113.2'): took(7, 2)}),
                'u2': transactions.ServerTransactions({
                    peer(SERVER, '203.0.113.1'): took(7, 1)})}), 4)
        [(ends, edge)] = found.edges.items()
        self.assertEqual((('u1', 'u2', 80), {SERVER, CLIENT}),
                         (ends, {*edge}))
        self.assertEqual(0, found.arrival_rate_hz)

    def test_operational(self):
        self.assertEqual(100, self.graph.arrival_rate_hz)
        # U of u3 is 0.6 of its core; u2 uses 0.8 of its reservation.
        rate, first = self.graph.saturation['cores']
        self.assertEqual('u3', first)
        self.assertAlmostEqual(100 / 0.6, rate)
        rate, first = self.graph.saturation['reservation']
        self.assertEqual('u2', first)
        self.assertAlmostEqual(125, rate)
        self.assertAlmostEqual(0.006, self.graph.vertices['u3'].demand_s)
        self.assertAlmostEqual(0.004, self.graph.vertices['u3'].own_s)

    def test_time_that_neighbours_take_counts_as_used(self):
        """A server that loses as much as it uses gets half of its cores."""
        rate, first = self.graph.saturation['neighbours']
        self.assertEqual(('u2', 125), (first, round(rate)))
        found = graph.build(dataclasses.replace(CHAIN, usages={
            **CHAIN.usages, 'u1': seen(0.2, 0.7)}), 4)
        rate, first = found.saturation['neighbours']
        self.assertEqual('u1', first)
        self.assertAlmostEqual(100 / 0.9, rate)
        self.assertAlmostEqual(125, found.saturation['reservation'][0])
        self.assertIn('Beside the present neighbours, tier"1 saturates first',
                      drawing.text(found, 0.9))

    def test_at_worst(self):
        """A server without a reservation may get no more than now."""
        self.assertEqual(100, self.graph.saturation['worst'][0])
        self.assertIn('At worst, tier"1 saturates first, at 100.0 requests',
                      drawing.text(self.graph, 0.9))
        reserved = {f'u{n}': server(n, 0.8) for n in (1, 2, 3)}
        found = graph.build(dataclasses.replace(
            CHAIN, servers=reserved), 4).saturation
        self.assertEqual('u3', found['worst'][1])
        self.assertEqual(133, round(found['worst'][0]))
        self.assertEqual(found['reservation'], found['worst'])

    @hypothesis.given(st.floats(0.01, 4), st.floats(0, 4),
                      st.one_of(st.none(), st.floats(0.01, 4)))
    @base.PROPERTY
    def test_the_worst_is_not_above_the_best(self, used, lost, reserved):
        one = operational.Centre(used, 4, 0, reserved, lost)
        self.assertLessEqual(one.tightest, one.at_worst * 1.000001)
        if reserved:
            self.assertAlmostEqual(one.tightest, one.at_worst)

    def test_the_vcpus_of_a_container_do_not_limit_its_threads(self):
        """One that uses 3.8 of 4 cores is not saturated yet."""
        for sockets, wanted in ((True, 0.95), (False, 3.8)):
            one = dataclasses.replace(server(1), sockets=sockets)
            found = graph.build(dataclasses.replace(
                CHAIN, servers={'u1': one}, usages={'u1': seen(3.8)}), 4)
            self.assertAlmostEqual(
                wanted, found.vertices['u1'].centre.utilization)

    def test_critical_path(self):
        # 8 ms is the fastest edge by u2, 4 ms on the direct way.
        self.assertEqual(['192.0.2.7', 'u1', 'u2', 'u3'],
                         graph.critical_path(self.graph, 0.9))

    def test_unclear_exchanges(self):
        """No number is built on requests that cannot be told apart."""
        unclear = transactions.Edge(10, 20, unclear=5)
        found = graph.build(dataclasses.replace(CHAIN, answered={
            **CHAIN.answered, 'u3': transactions.ServerTransactions({
                peer(SERVER, '192.0.2.9'): unclear})}), 4)
        self.assertEqual({'u3': 5}, found.unclear)
        self.assertIsNone(found.arrival_rate_hz)
        self.assertEqual(dict.fromkeys(NOT_KNOWN),
                         found.saturation)
        self.assertEqual([], graph.critical_path(found, 0.9))
        text = drawing.text(found, 0.9)
        self.assertIn('tier"3: 5 exchanges are unclear', text)
        self.assertIn('192.0.2.9 -> tier"3:80: 5 unclear exchanges', text)
        self.assertIsNone(found.vertices['u3'].own_s)

    def test_events_are_missing(self):
        """The programs for traffic of virtual machines miss no events."""
        containers = {uuid: dataclasses.replace(each, sockets=True)
                      for uuid, each in CHAIN.servers.items()}
        machines, few, many = (graph.build(dataclasses.replace(
            CHAIN, servers=servers_, missed_runs={'tcp': count}), 4)
            for servers_, count in ((CHAIN.servers, 100), (containers, 1),
                                    (containers, 100)))
        self.assertEqual([0, 0], [machines.missed, few.missed])
        self.assertEqual(self.graph, machines)
        self.assertEqual(100, many.missed)
        self.assertIsNone(many.arrival_rate_hz)
        self.assertEqual(dict.fromkeys(NOT_KNOWN), many.saturation)
        self.assertEqual([], graph.critical_path(many, 0.9))
        self.assertIn('did not give 100 events', drawing.text(many, 0.9))

    def test_peers_beyond_the_places(self):
        """Peers beyond the places have neither an address nor a port."""
        seen_of = transactions.ServerTransactions(
            {peer(SERVER, '192.0.2.9'): took(3, 1)},
            sums={SERVER: took(3, 1) + took(4, 9)},
            stats=transactions.TransactionStats(0, 4))
        rest = seen_of.peers[transactions.Peer(SERVER, None, None)]
        self.assertEqual(took(4, 9), rest)
        found = graph.build(dataclasses.replace(
            CHAIN, answered={'u1': seen_of}), 4)
        self.assertIn(('others', 'u1', None), found.edges)
        self.assertIn('others -> tier"1: 4 requests',
                      drawing.text(found, 0.9))

    def test_slowest_edge_of_a_pair(self):
        directed = self.graph.directed(0.9)
        self.assertAlmostEqual(19e6, directed['u1']['u2']['took'],
                               delta=19e6 * 0.016)

    def test_nothing_is_said(self):
        found = graph.build(snapshot.Snapshot(1.0, 1.0, (), {}), 4)
        self.assertEqual([], graph.critical_path(found, 0.9))
        self.assertEqual(dict.fromkeys(NOT_KNOWN),
                         found.saturation)
        self.assertIn('0.0 a second', drawing.text(found, 0.9))

    def test_text(self):
        text = drawing.text(self.graph, 0.9)
        self.assertIn('tier"2 saturates first, at 125.0 requests', text)
        self.assertIn('Critical path: 192.0.2.7 -> tier"1 -> tier"2', text)

    def test_json(self):
        found = json.loads(drawing.as_json(self.graph, 0.9))
        self.assertEqual('u3', found['saturation']['cores']['server'])
        self.assertEqual(5, len(found['edges']))

    def test_dot(self):
        text = drawing.dot(self.graph, 0.9)
        self.assertIn(r'[label="tier\"1\n20%"]', text)
        self.assertEqual(3, text.count('color=red'))

    def page(self, **changed):
        found = graph.build(dataclasses.replace(CHAIN, **changed), 4)
        text = drawing.as_html(found, 0.9).partition('\n')[2]
        return ElementTree.fromstring(text)  # noqa: S314

    def test_page(self):
        shown = self.page()
        self.assertEqual(4, len(shown.findall('.//rect')))
        self.assertEqual(3, len(shown.findall('.//path[@class]')))
        texts = [one.text for one in shown.iter('text')]
        self.assertIn('tier"1', texts)
        self.assertIn('40% of its cores, 80% reserved', texts)

    def test_page_of_hostile_names(self):
        hostile = dataclasses.replace(
            server(1), name='<script>alert(1)</script>&"')
        shown = self.page(servers={**CHAIN.servers, 'u1': hostile})
        self.assertEqual([], shown.findall('.//script'))
        self.assertIn(hostile.name, [one.text for one in shown.iter('text')])

    def test_page_of_servers_that_ask_each_other(self):
        asks = {**CHAIN.answered, 'u3': transactions.ServerTransactions({
            peer(CLIENT, '10.0.0.1'): took(5, 1)})}
        self.assertEqual(4, len(self.page(answered=asks).findall('.//rect')))

    @hypothesis.given(st.dictionaries(st.text(), st.floats(0.001, 8),
                                      min_size=1), st.floats(0.1, 1e5))
    @base.PROPERTY
    def test_at_the_saturation_rate_the_first_is_full(self, used, rate):
        found, first = operational.saturation_rate_hz(used, rate)
        self.assertAlmostEqual(1.0, used[first] * found / rate)
        self.assertTrue(all(u * found / rate <= 1.000001
                            for u in used.values()))
