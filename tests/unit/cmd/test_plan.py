# SPDX-License-Identifier: Apache-2.0

"""``nova-rt plan`` and ``nova-rt predict``."""

import json
import logging
import os
import subprocess
import sys
import tempfile
from unittest import mock

import ddt
import fixtures

from nova_rt.cmd import main
from nova_rt.model import exact
from nova_rt.model import load as rt_load
from nova_rt.model import paper
from nova_rt import reservation as rt_reservation
from tests.unit import commands

LOAD = ('--arrival-rate', '1000', '--service-rate', '2000')
PREDICT = ('predict', '--runtime-us', '1600', '--period-us', '2000', *LOAD)
PLAN = ('plan', *LOAD, '--period-us', '2000')

_BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('nova', 'libvirt', 'matplotlib', 'scipy'):
            raise ImportError(f'{name} is not installed')

sys.meta_path.insert(0, Blocked())
from nova_rt.cmd import main
sys.exit(main.main(sys.argv[1:]))
"""


class CommandTest(commands.CommandTest):

    main = staticmethod(main.main)

    def json(self, *argv):
        status, out, err = self.run_main(*argv, '-f', 'json')
        self.assertEqual((0, ''), (status, err))
        return json.loads(out)


@ddt.ddt
class PredictTest(CommandTest):

    TRIP = (rt_load.Load(1000, 2000), rt_reservation.Reservation(1600, 2000))

    def test_json(self):
        seen = self.json(*PREDICT, '--percentile', '.99')
        trip = exact.predict(*self.TRIP)
        self.assertEqual((1600, 2000, 0.8), (
            seen['runtime_us'], seen['period_us'], seen['share']))
        self.assertAlmostEqual(trip.mean_us / 1000, seen['mean_ms'], 5)
        self.assertEqual(['0.99'], list(seen['percentiles']))
        self.assertAlmostEqual(trip.percentile_us(0.99) / 1000,
                               seen['percentiles']['0.99'], 5)

    def test_model_of_the_paper(self):
        seen = self.json(*PREDICT, '--model', 'paper')
        self.assertAlmostEqual(paper.mean_us(*self.TRIP) / 1000,
                               seen['mean_ms'], 5)
        self.assertAlmostEqual(seen['mean_ms'] + 2,
                               seen['bound']['mean_ms'], 5)

    def test_network_and_overhead(self):
        seen = self.json(*PREDICT, '--network-delay-us', '50',
                         '--network-rate', '4000', '--overhead-us', '10')
        trip = exact.predict(*self.TRIP, rt_load.Network(50, 4000), 10)
        self.assertAlmostEqual(trip.mean_us / 1000, seen['mean_ms'], 5)

    def test_text(self):
        status, out, err = self.run_main(*PREDICT)
        self.assertEqual((0, ''), (status, err))
        self.assertIn('1600 us every 2000 us (share 0.800); the requests use '
                      '62.5% of it.', out)
        for name in ('mean', 'p50', 'p90', 'p99', 'p99.9'):
            self.assertRegex(out, rf'(?m)^{name} +\d+\.\d{{3}} +\d+\.\d{{3}}$')

    @ddt.data(
        (('--runtime-us', '0'), "cpu.rt_runtime_us='0'"),
        (('--runtime-us', '3000'), 'more than the period of 2000'),
        (('--period-us', '9999999'), 'periods here are 2 to 4194304'),
        (('--arrival-rate', '1600'), 'the reservation serves 1600 requests'),
        (('--arrival-rate', '1600', '--model', 'paper'),
         'the reservation takes 1600 requests'),
        (('--arrival-rate', '0'), 'Invalid arrival rate in Hz 0.0'),
        (('--arrival-rate', '-1'), 'Invalid arrival rate in Hz -1.0'),
        (('--service-rate', 'nan'), 'Invalid service rate in Hz nan'),
        (('--service-rate', 'inf'), 'Invalid service rate in Hz inf'),
        (('--percentile', '99'), 'Invalid percentile 99.0'),
        (('--percentile', '1'), 'Invalid percentile 1.0'),
        (('--network-delay-us', '-1'), 'Invalid network delay in us -1.0'),
        (('--network-rate', '900'), 'the network takes 900 requests'),
        (('--overhead-us', '1600'), 'Invalid overhead in us 1600.0'),
        (('--overhead-us', '5', '--model', 'paper'),
         'the model of the paper knows none'))
    @ddt.unpack
    def test_refused(self, argv, reason):
        status, out, err = self.run_main(*PREDICT, *argv)
        self.assertEqual((1, ''), (status, out))
        self.assertIn(reason, err)
        self.assertRegex(err, r'\Anova-rt: [^\n]+\.\n\Z')

    def test_usage(self):
        for argv in (PREDICT[:3], (*PREDICT, '--arrival-rate', 'many'),
                     (*PREDICT, '--model', 'mine')):
            status, out, err = self.run_main(*argv)
            self.assertEqual((3, ''), (status, out))
            self.assertIn('usage: nova-rt predict', err)


@ddt.ddt
class PlanTest(CommandTest):

    def test_percentile(self):
        seen = self.json(*PLAN, '--percentile', '0.95', '--target-ms', '5')
        self.assertLessEqual(seen['percentiles']['0.95'], 5)
        less = self.json(
            'predict', *LOAD, '--period-us', '2000', '--percentile', '0.95',
            '--runtime-us', str(seen['runtime_us'] - 1))
        self.assertGreater(less['percentiles']['0.95'], 5)

    def test_mean(self):
        seen = self.json(*PLAN, '--mean-ms', '2')
        self.assertLessEqual(seen['mean_ms'], 2)
        self.assertEqual(exact.runtime_for_mean(
            arrival_rate_hz=1000, service_rate_hz=2000, period_us=2000,
            target_us=2000), seen['runtime_us'])

    def test_paper(self):
        seen = self.json(*PLAN, '--mean-ms', '2', '--model', 'paper')
        self.assertEqual(1500, seen['runtime_us'])
        self.assertEqual(2, seen['mean_ms'])

    def test_flavor(self):
        command = ('openstack flavor create rt-1500-2000 --vcpus 1 --ram 512 '
                   '--property hw:cpu.rt_runtime_us=1500 '
                   '--property hw:cpu.rt_period_us=2000')
        argv = (*PLAN, '--mean-ms', '2', '--model', 'paper')
        self.assertEqual(command, self.json(*argv)['flavor'])
        self.assertEqual(command, self.run_main(*argv)[1].splitlines()[-1])

    def test_vcpus_share_the_requests(self):
        seen = self.json('plan', '--arrival-rate', '3000', '--service-rate',
                         '2000', '--vcpus', '3', '--period-us', '2000',
                         '--mean-ms', '2')
        self.assertEqual(self.json(*PLAN, '--mean-ms', '2')['runtime_us'],
                         seen['runtime_us'])
        self.assertIn('--vcpus 3', seen['flavor'])

    def test_period_is_chosen(self):
        seen = self.json('plan', *LOAD, '--mean-ms', '20',
                         '--overhead-us', '50')
        self.assertEqual(5000, seen['period_us'])

    @ddt.data(
        (('--target-ms', '1'), 'with 2000 us every 2000 us, the most'),
        (('--mean-ms', '2', '--max-share', '0.7'),
         'with 1400 us every 2000 us, the most allowed'),
        (('--mean-ms', '2', '--max-share', '1.5'), 'Invalid maximum share'),
        (('--mean-ms', '2', '--network-delay-us', '1000'),
         'the way there and back alone takes 2000 us'),
        (('--mean-ms', '0'), 'Invalid target in us 0.0'),
        (('--target-ms', 'nan'), 'Invalid target in us nan'),
        (('--target-ms', '9', '--percentile', '0'), 'Invalid percentile'),
        (('--mean-ms', '9', '--percentile', '7'), 'Invalid percentile'),
        (('--mean-ms', '9', '--vcpus', '0'), 'Invalid number of vCPUs 0'),
        (('--mean-ms', '9', '--period-us', '0'), 'Invalid period in us 0'),
        (('--mean-ms', '9', '--arrival-rate', '2000'),
         'to serve these requests at all takes a share of 1.020'))
    @ddt.unpack
    def test_refused(self, argv, reason):
        status, out, err = self.run_main(*PLAN, *argv)
        self.assertEqual((1, ''), (status, out))
        self.assertIn(reason, err)
        self.assertRegex(err, r'\Anova-rt: [^\n]+\.\n\Z')

    def test_usage(self):
        for argv in ((), ('--mean-ms', '2', '--target-ms', '3')):
            status, _, err = self.run_main(*PLAN, *argv)
            self.assertEqual(3, status)
            self.assertIn('usage: nova-rt plan', err)


class PlotTest(CommandTest):

    def setUp(self):
        super().setUp()
        # It tells of each font it looks at.
        self.useFixture(fixtures.FakeLogger('matplotlib', logging.WARNING))
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def plot(self, name):
        path = os.path.join(self.directory.name, name)
        return path, *self.run_main(*PREDICT, '--plot', path)

    def test_drawn(self):
        path, status, out, _ = self.plot('x.png')
        self.assertEqual(0, status)
        self.assertIn('Response time', out)
        with open(path, 'rb') as file:
            self.assertEqual(b'\x89PNG', file.read(4))

    def test_cannot_be_written(self):
        for name in ('no/such.png', 'x.nosuch'):
            path, status, out, err = self.plot(name)
            self.assertEqual((1, ''), (status, out))
            self.assertIn(f'nova-rt: Cannot draw {path}: ', err)

    def test_without_matplotlib(self):
        with mock.patch.dict(sys.modules, {'matplotlib': None}):
            path, status, _, err = self.plot('x.png')
        self.assertEqual(
            (1, f'nova-rt: Cannot draw {path}: matplotlib is not installed; '
             'install nova-rt[plot].\n'), (status, err))

    def test_without_nova(self):
        done = subprocess.run(
            [sys.executable, '-c', _BLOCKED, *PREDICT, '-f', 'json'],
            capture_output=True, text=True, check=False)
        self.assertEqual((0, ''), (done.returncode, done.stderr))
        self.assertEqual(1600, json.loads(done.stdout)['runtime_us'])
