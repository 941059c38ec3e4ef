# SPDX-License-Identifier: Apache-2.0

"""``nova-rt advise`` and ``nova-rt graph``, on looks that were made up."""

import ipaddress
import json
import pathlib
import tempfile
from unittest import mock

from rt_monitor import histogram
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot
from rt_monitor import transactions
from rt_monitor import waits
from rt_operate.commands import main
from rt_operate.commands import monitor
from tests.unit import commands

PEER = transactions.Peer(transactions.Role.SERVER,
                         ipaddress.IPv4Address('192.0.2.7'), 80)
#: Requests in each tenth of a second, at random times.
COUNTS = [90, 110, 95, 105, 100, 88, 112, 100, 93, 107] * 3


def made_up(count, answered=True, missed=0):
    buckets = [0] * histogram.BUCKETS
    buckets[histogram.bucket_of(40_000_000)] = count
    took = histogram.Histogram.from_counts(buckets, count * 40_000_000)
    server = servers.Watched('u1', {servers.WHOLE: 1}, 1, 'web',
                             reservation=servers.Granted(20_000, 100_000))
    usage = waits.Usage(waits.Totals(ran=count * 1_000_000))
    return snapshot.Snapshot(
        1.0, 1.0,
        (snapshot.SourceState('tcp', '' if answered else 'of a reason'),),
        {'u1': server}, {'u1': sched.ServerUsage(usage, {})},
        answered={'u1': transactions.ServerTransactions(
            {PEER: transactions.Edge(0, 0, took)},
            stats=transactions.TransactionStats(answers=count))}
        if answered else {},
        network=transactions.TransactionStats() if answered else None,
        missed_runs={'tcp': missed})


class AdviseTest(commands.CommandTest):

    main = staticmethod(main.main)

    def run_main(self, *argv, **options):
        with mock.patch.object(monitor, 'snapshots', lambda *_, **__: (
                made_up(count, **options) for count in COUNTS)):
            return super().run_main(*argv)

    def advise(self, *argv, **options):
        return self.run_main('advise', *argv, '--target-ms', '20',
                             '--kernel', 'cbs', **options)

    def test_text(self):
        for name in ('web', 'u1'):
            status, out, err = self.advise(name)
            self.assertEqual((0, ''), (status, err))
            self.assertIn('Requests: 100.0 a second, 1.000 ms of CPU', out)
            self.assertRegex(out, r'p99 is (39|40)\.\d+ ms \(measured\), so '
                             r'the target is missed now')
            self.assertRegex(
                out, r'Advice beside any servers: .* p99 is then at most '
                r'1\d\.\d+ ms, whatever')
            self.assertRegex(
                out, r'Advice beside one busy server: .* p99 then meets the')
            self.assertRegex(out, r'openstack flavor create rt-\d+-\d+ ')

    def test_json(self):
        found = json.loads(self.advise('web', '-f', 'json')[1])
        self.assertEqual(100, found['rate_hz'])
        self.assertLessEqual(found['promised_us'], 20_000)

    def test_no_such_server(self):
        status, out, err = self.advise('nosuch')
        self.assertEqual((1, ''), (status, out))
        self.assertIn('Cannot monitor server nosuch: no server with this', err)

    def test_nothing_was_asked(self):
        status, out, err = self.advise('web', answered=False)
        self.assertEqual((1, ''), (status, out))
        self.assertIn('the server answered no request over TCP', err)

    def test_events_are_missing(self):
        status, out, err = self.advise('web', missed=2)
        self.assertEqual((1, ''), (status, out))
        self.assertIn('did not give these events', err)
        self.assertIn('Advice beside', self.advise('web', missed=1)[1])

    def test_graph(self):
        for form, word in (('text', 'Requests from outside: 90.0'),
                           ('json', '"192.0.2.7"'), ('dot', 'digraph')):
            status, out, err = self.run_main('graph', '-f', form)
            self.assertEqual((0, ''), (status, err))
            self.assertIn(word, out)

    def test_graph_into_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'graph.html')
            self.assertEqual((0, '', ''), self.run_main(
                'graph', '-o', str(path)))
            self.assertIn('<svg', path.read_text())
            status, out, err = self.run_main('graph', '-o', folder)
            self.assertEqual((1, ''), (status, out))
            self.assertIn('Is a directory', err)

    def test_graph_of_projects(self):
        status, out, err = self.run_main('graph', '--by', 'project')
        self.assertEqual((0, ''), (status, err))
        self.assertIn('(1)', out)

    def test_graph_without_transactions(self):
        status, out, err = self.run_main('graph', answered=False)
        self.assertEqual((1, ''), (status, out))
        self.assertIn('transactions: of a reason', err)

    def test_nonsense(self):
        for argv in (('graph', '--percentile', '1'),
                     ('graph', '--percentile', 'x'), ('advise', 'web')):
            self.assertEqual((3, ''), self.run_main(*argv)[:2])
