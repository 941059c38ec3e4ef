# SPDX-License-Identifier: Apache-2.0

"""``nova-rt monitor``, ``nova-rt top``, ``nova-rt-monitor``: words, output."""

import contextlib
import csv
import dataclasses
import io
import json
import pathlib
from unittest import mock

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import namespaces
from nova_rt.rules import exception
from rt_monitor import budgets
from rt_monitor import counters
from rt_monitor import groups
from rt_monitor import histogram
from rt_monitor import http
from rt_monitor import libbpf
from rt_monitor import objects
from rt_monitor import paths
from rt_monitor import rapl
from rt_monitor import sched
from rt_monitor import servers
from rt_monitor import snapshot
from rt_monitor import table
from rt_monitor import tap
from rt_monitor import transactions
from rt_monitor import waits
from rt_operate.commands import main
from rt_operate.commands import serve
from tests.unit import commands

_HERE = pathlib.Path(__file__)


def seen(ran=0, exhausted=0, emulator=0):
    usage = waits.Usage(waits.Totals(ran, 2 * ran), {0: waits.Counts(
        ran=ran, exhausted=exhausted, starved=ran, lost=ran, last=1)})
    return sched.ServerUsage(usage + waits.Usage(waits.Totals(emulator, 0)),
                             {0: usage})


class Scheduler:
    """Two servers; each look finds more."""

    name = 'sched'
    budgets = True
    missed = 0

    def __init__(self):
        self.looks = 0

    def sees_budgets(self):
        return self.budgets

    def apply(self, change):
        self.change = change

    def read(self, register):
        self.looks += 1
        return {'u1': seen(1_000_000 * self.looks),
                'u2': seen(5_000_000 * self.looks, self.looks)}

    def missed_switches(self):
        return 0

    def missed_runs(self):
        return self.missed * self.looks

    def close(self):
        self.looks = -1


class Paths:
    """The second server answers; each look finds one request more."""

    name = 'http'
    object = None
    looks = 0

    def apply(self, change):
        """Does nothing: this scheduler needs no groups."""

    def point(self, register):
        """Does nothing: this source has no interfaces."""

    def read(self, register):
        self.looks += 1
        return {'u2': http.ServerRequests({http.Request(
            transactions.Role.CLIENT, 'GET', '/x/:n', '2xx'):
                times(*[2_000_000] * self.looks)})}

    def close(self):
        """Does nothing: this source holds nothing."""


def times(*ns):
    counts = [0] * histogram.BUCKETS
    for each in ns:
        counts[histogram.bucket_of(each)] += 1
    return histogram.Histogram.from_counts(counts, sum(ns))


SERVERS = [
    servers.Watched('u1', {servers.WHOLE: 1}, name='plain'),
    servers.Watched('u2', {servers.WHOLE: 2}, 2, 'reserved', 'p', 'f',
                    servers.Granted(20_000, 100_000))]


class Terminal(io.StringIO):

    def isatty(self):
        return True


class MonitorTest(commands.CommandTest):

    main = staticmethod(main.main)

    def setUp(self):
        super().setUp()
        self.scheduler = Scheduler()
        self.trouble = ''
        for patch in (
                mock.patch.object(namespaces, 'trouble',
                                  lambda host: self.trouble),
                mock.patch.object(objects, 'path', return_value=_HERE),
                mock.patch.object(budgets, 'why_not', return_value=''),
                mock.patch.object(sched, 'Scheduler', self.start(
                    'sched', lambda: self.scheduler)),
                mock.patch.object(transactions, 'Transactions',
                                  self.start('tcp', self.refuse)),
                mock.patch.object(tap, 'Taps',
                                  self.start('tap', self.refuse)),
                mock.patch.object(counters, 'Counters',
                                  self.start('counters', self.refuse)),
                mock.patch.object(rapl, 'Power',
                                  self.start('power', self.no_meter)),
                mock.patch.object(groups.Finder, 'find',
                                  return_value=SERVERS)):
            patch.start()
            self.addCleanup(patch.stop)

    def test_http(self):
        with mock.patch.object(paths, 'Paths', self.start('http', Paths)):
            self.assertIn('u2  asks GET /x/:n 2xx: ', self.out(
                'top', '--once', '--seconds', '0.1', '--http'))
            found = json.loads(self.out('top', '--once', '--seconds', '0.1',
                                        '--http', '-f', 'json'))
        self.assertIn({'source': 'http', 'state': 'on', 'reason': None},
                      found['sources'])
        self.assertIsNone(found['servers']['u1']['http'])
        [request] = found['servers']['u2']['http']
        self.assertEqual(('client', 'GET', '/x/:n', '2xx', 1), (
            *(request[name] for name in ('role', 'method', 'path', 'status')),
            request['took_ns']['count']))

    def test_http_is_not_read_unless_asked_for(self):
        with mock.patch.object(paths, 'Paths', self.start(
                'http', self.fail)):
            found = json.loads(self.out('top', '--once', '--seconds', '0.1',
                                        '-f', 'json'))
        self.assertNotIn('http', [each['source']
                                  for each in found['sources']])

    @staticmethod
    def start(name, function):
        """Returns what is used in place of the class of a source."""
        kind = mock.Mock(side_effect=function)
        kind.name = name
        return kind

    @staticmethod
    def refuse():
        raise exception.CannotMonitor(what='tcp', reason='of a reason')

    @staticmethod
    def no_meter(host):
        raise exception.CannotMonitor(what='power', reason='of a meter')

    def out(self, *argv):
        return self.run_main(*argv)[1]

    def test_text(self):
        status, out, err = self.run_main('top', '--once', '--seconds',
                                         '0.1')
        self.assertEqual((0, ''), (status, err))
        heading, first, second, *notes = out.splitlines()
        self.assertEqual(['Without tcp: of a reason.',
                          'Without tap: of a reason.',
                          'Without counters: of a reason.',
                          'Without power: of a meter.'], notes)
        self.assertTrue(heading.startswith('SERVER'))
        # The one that uses more.
        self.assertRegex(
            first, r'^u2 +reserved( +\d\.\d+){3} +0\.400 +\d+\.\d%')
        self.assertRegex(second, r'^u1 +plain( +\d\.\d+){3} +- +- +0')
        self.assertEqual(-1, self.scheduler.looks)

    def test_emulator(self):
        """The reservation is for the vCPUs, not for other threads."""
        look = snapshot.Snapshot(1.0, 1.0, (), {'u': SERVERS[1]}, {
            'u': seen(200_000_000, emulator=300_000_000)})
        heading, row = table.text(look).splitlines()
        self.assertEqual(('0.500', '0.200', '0.300', '0.400', '50.0%'), tuple(
            row.split()[2:7]))
        self.assertEqual(['CPU', 'VCPUS', 'EMULATOR'], heading.split()[2:5])
        server = json.loads(table.as_json(look))['servers']['u']
        self.assertEqual((500_000_000, 300_000_000), (
            server['cpu_ns'], server['emulator_cpu_ns']))

    def test_emulator_of_a_container(self):
        """A container has only its own threads."""
        usage = waits.Usage(waits.Totals(200_000_000, 0))
        look = snapshot.Snapshot(1.0, 1.0, (), {'u': SERVERS[1]}, {
            'u': sched.ServerUsage(usage, {})})
        self.assertEqual(['0.200', '-', '-', '0.400', '50.0%'], table.text(
            look).splitlines()[1].split()[2:7])
        self.assertIsNone(json.loads(table.as_json(look))['servers']['u'][
            'emulator_cpu_ns'])

    def test_json(self):
        status, out, _ = self.run_main('top', '--seconds', '0.1', '-f', 'json')
        found = json.loads(out)
        self.assertEqual(0, status)
        server = found['servers']['u2']
        self.assertEqual((5_000_000, 10_000_000, 5_000_000, 1, 0.4), (
            server['cpu_ns'], server['runnable_ns'], server['lost_ns'],
            server['exhausted_periods'], server['reserved_cpus']))
        self.assertEqual(5_000_000, server['by_vcpu']['0']['cpu_ns'])
        self.assertIsNone(found['servers']['u1']['reserved_cpus'])

    def test_events_that_programs_missed(self):
        note = 'did not give 3 events to the programs of sched'
        self.assertNotIn('did not give', self.out(
            'top', '--once', '--seconds', '0.1'))
        self.scheduler.missed = 3
        self.assertIn(note, self.out('top', '--once', '--seconds', '0.1'))
        self.assertEqual(3, json.loads(self.out(
            'top', '--seconds', '0.1', '-f', 'json'))['missed_runs']['sched'])

    def test_budgets_that_are_not_seen(self):
        """An unknown number is not shown as 0."""
        unseen = [dataclasses.replace(
            SERVERS[1], reservation=servers.Granted(1, 5, of_group=True))]
        self.scheduler.budgets = False
        with (mock.patch.object(groups.Finder, 'find', return_value=unseen),
              mock.patch.object(budgets, 'why_not', return_value='of it')):
            text = self.out('top', '--once', '--seconds', '0.1')
            found = json.loads(self.out(
                'top', '--seconds', '0.1', '-f', 'json'))
        self.assertRegex(text, r'u2 .*0\.400 +\d+\.\d% +(- +){4}-')
        self.assertIn('Without budgets: of it.', text)
        server = found['servers']['u2']
        for one in (server, server['by_vcpu']['0']):
            self.assertEqual([None] * 3, [one[name] for name in (
                'lost_ns', 'throttled_ns', 'exhausted_periods')])
        self.assertIsNone(server['wait_ns'])
        self.assertEqual(5_000_000, server['cpu_ns'])

    def test_top(self):
        status, out, err = self.run_main('top', '--seconds', '0.1',
                                         '--rounds', '2')
        self.assertEqual((0, ''), (status, err))
        self.assertEqual(2, out.count('SERVER'))

    def test_top_clears_a_terminal_and_no_file(self):
        argv = ('top', '--seconds', '0.1', '--rounds', '2')
        self.assertNotIn('\x1b', self.out(*argv))
        with mock.patch.object(io, 'StringIO', Terminal):
            out = self.out(*argv)
            self.assertTrue(out.startswith('\x1b[H\x1b[2JSERVER'), out)
            # One table, or data, does not clear what the user has there.
            for more in (('--once',), ('--once', '-f', 'csv')):
                self.assertNotIn('\x1b', self.out(*argv[:3], *more))

    def test_the_older_name_works_and_says_so(self):
        status, out, err = self.run_main('monitor', '--seconds', '0.1')
        self.assertEqual((0, 1), (status, out.count('SERVER')))
        self.assertEqual('nova-rt: the next release will not have "monitor"; '
                         'run nova-rt top --once\n', err)

    def test_rows_for_programs(self):
        heading, first, second = csv.reader(io.StringIO(self.out(
            'top', '--once', '--seconds', '0.1', '-f', 'csv')))
        self.assertEqual([*table.COLUMNS], heading)
        found = dict(zip(heading, first, strict=True))
        self.assertEqual(('u2', 'reserved', '0.4', '1'), tuple(
            found[name] for name in ('Server', 'Name', 'Reserved (CPUs)',
                                     'Exhausted (periods)')))
        self.assertGreater(float(found['Used (part)']), 0)
        # An unknown value is empty, not 0.
        self.assertEqual(('u1', ''), (second[0], second[5]))
        self.assertEqual('u2 0.4\nu1 \n', self.out(
            'top', '--seconds', '0.1', '-f', 'value', '-c', 'server', '-c',
            'Reserved (CPUs)'))

    def test_outside_of_the_host(self):
        """Servers may exist although the command cannot see any."""
        self.trouble = 'why'
        for command in ('top', 'graph'):
            self.assertEqual(
                (1, '', 'nova-rt: This process does not see the host: '
                 'why.\n'), self.run_main(command))

    def test_nonsense(self):
        for argv in (('top', '--seconds', 'nan'), ('top', '--rounds', '0'),
                     ('top', '--seconds', '0'), ('top', '--rounds', 'x'),
                     ('top', '--once', '--rounds', '2')):
            status, out, err = self.run_main(*argv)
            self.assertEqual((3, ''), (status, out))
            self.assertRegex(err, r': error: .*\n$')

    def test_refused(self):
        for reason, words in (
                (libbpf.why(1), 'CAP_BPF'), (libbpf.why(2), 'ENOENT'),
                (libbpf.why(13), 'EACCES'),
                (libbpf.BUILD, f'Cannot monitor this host: {libbpf.BUILD}.')):
            error = exception.CannotMonitor(what='sched', reason=reason)
            with mock.patch.object(sched, 'Scheduler', self.start(
                    'sched', mock.Mock(side_effect=error))):
                status, out, err = self.run_main('top')
            self.assertEqual((1, ''), (status, out))
            self.assertIn(words, err)


class ServiceTest(commands.CommandTest):

    main = staticmethod(serve.main)

    def test_nonsense(self):
        for argv in (('--port', '65536'), ('--port', 'x'),
                     ('--clients', 'x'), ('--nosuch',),
                     ('--otlp-endpoint', 'ftp://x/'),
                     ('--otlp-endpoint', 'http://'),
                     ('--otlp-endpoint', 'http://x:y/'),
                     ('--otlp-endpoint', 'http://x/', '--otlp-interval', '0'),
                     ('--otlp-endpoint', 'http://x/', '--otlp-interval',
                      'nan'), ('--otlp-interval', '60'),
                     ('--otlp-endpoint', 'http://x/', '--otlp-key', 'x')):
            status, out, err = self.run_main(*argv)
            self.assertEqual((3, ''), (status, out))
            self.assertIn('nova-rt-monitor: error: ', err)

    def test_no_such_user(self):
        status, out, err = self.run_main('--user', 'nosuch!')
        self.assertEqual((1, ''), (status, out))
        self.assertIn('nosuch!', err)

    def test_without_rights(self):
        """The sentence says which right is lacking and what to do."""
        for permitted, names in (
                ('0', 'CAP_DAC_READ_SEARCH, CAP_BPF, CAP_PERFMON'),
                ('8000000000', 'CAP_DAC_READ_SEARCH, CAP_PERFMON'),
                ('200000', 'CAP_DAC_READ_SEARCH')):
            with self.on_host(f'Name:\tx\nCapPrm:\t{permitted}'):
                self.assertEqual(
                    (1, '', 'nova-rt-monitor: Cannot monitor this host: this '
                     f'process lacks {names}; run it as root.\n'),
                    self.run_main('--user', 'root'))

    def test_without_programs(self):
        """The service says so at its start, and serves what is left."""
        with (self.on_host('CapPrm:\t1ffffffffff'),
              mock.patch.object(objects, 'path', return_value=pathlib.Path(
                  '/nosuch')),
              mock.patch.object(snapshot, 'Monitor', side_effect=(
                  exception.CannotMonitor(what='x', reason='y')))):
            self.assertEqual(
                (1, '', f'nova-rt-monitor: {libbpf.BUILD}\n'
                 'nova-rt-monitor: Cannot monitor x: y.\n'),
                self.run_main('--user', 'root'))

    def test_outside_of_the_host(self):
        with self.on_host('CapPrm:\t4', trouble='why'):
            self.assertEqual(
                (1, '', 'nova-rt-monitor: This process does not see the '
                 'host: why.\n'), self.run_main('--user', 'root'))

    @contextlib.contextmanager
    def on_host(self, status, trouble=''):
        with (mock.patch.object(namespaces, 'trouble', return_value=trouble),
              mock.patch.object(host_files.Host, 'read',
                                return_value=status),
              mock.patch.object(snapshot, 'Monitor',
                                side_effect=AssertionError)):
            yield
