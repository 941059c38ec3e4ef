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

from nova_rt.machine.host import ticks
from nova_rt.machine.kernel import passive
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import contended
from rt_models.model import exact
from rt_models.model import kernel
from rt_models.model import load as rt_load
from rt_models.model import paper
from rt_models.model import simulated
from rt_operate.commands import main
from tests.unit import commands

LOAD = ('--arrival-rate', '1000', '--service-rate', '2000',
        '--kernel', 'cbs')
GROUPS = ('--kernel', 'rt_group_sched', '--tick-us', '400')
PREDICT = ('predict', '--runtime-us', '1600', '--period-us', '2000', *LOAD)
PLAN = ('plan', *LOAD, '--period-us', '2000')

_BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('nova', 'libvirt', 'matplotlib', 'scipy'):
            raise ImportError(f'{name} is not installed')

sys.meta_path.insert(0, Blocked())
from rt_operate.commands import main
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
        self.assertAlmostEqual(seen['mean_ms'] + 0.4,
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
        self.assertIn('Requests: 1000 a second.\n'
                      'Kernel: cbs, charged by a timer.\n\n', out)
        self.assertIn('alone on its CPU    at most, with others\n', out)
        for name in ('mean', 'p50', 'p90', 'p99', 'p99.9'):
            self.assertRegex(out, rf'(?m)^{name} +\d+\.\d{{3}} +\d+\.\d{{3}}$')

    def test_mean_cpu_time(self):
        argv = list(PREDICT)
        at = argv.index('--service-rate')
        argv[at:at + 2] = '--cpu-ms', '0.5'
        self.assertEqual(self.json(*PREDICT), self.json(*argv))

    def test_vcpus_share_the_requests(self):
        argv = ('--arrival-rate', '2000', '--vcpus', '2')
        one, two = self.json(*PREDICT), self.json(*PREDICT, *argv)
        self.assertEqual((2, 2000), (two['vcpus'], two['arrival_rate_hz']))
        self.assertEqual(one['bound'], two['bound'])
        self.assertIn('Requests: 2000 a second, 1000 to each of 2 vCPUs.',
                      self.run_main(*PREDICT, *argv)[1])

    def test_percentiles_as_given(self):
        given = ('0.999999999999', '0.07', '0.5')
        argv = (*PREDICT, *(word for one in given
                            for word in ('--percentile', one)))
        self.assertEqual(set(given), set(self.json(*argv)['percentiles']))
        out = self.run_main(*argv)[1]
        for name in ('p99.9999999999', 'p7', 'p50'):
            self.assertRegex(out, rf'(?m)^{name} ')

    def test_ticks(self):
        seen = self.json(*PREDICT, *GROUPS, '--percentile', '0.9')
        trip = simulated.predict(*self.TRIP, kernel=kernel.Kernel(
            kernel.Rule.RT_GROUP_SCHED, 400))
        self.assertEqual(('rt_group_sched', 400, 'simulated'), (
            seen['kernel'], seen['tick_us'], seen['model']))
        self.assertAlmostEqual(trip.mean_us / 1000, seen['mean_ms'], 5)

    def test_beside(self):
        argv = (*PREDICT, '--beside', '100/1000', '--beside', '300/3000',
                '--percentile', '0.9')
        seen = self.json(*argv)['beside']
        self.assertEqual([{'runtime_us': 100, 'period_us': 1000},
                          {'runtime_us': 300, 'period_us': 3000}],
                         seen['neighbours'])
        trip = simulated.predict(*self.TRIP, beside=[
            rt_reservation.Reservation(100, 1000),
            rt_reservation.Reservation(300, 3000)])
        self.assertAlmostEqual(trip.mean_us / 1000, seen['mean_ms'], 5)
        out = self.run_main(*argv)[1]
        self.assertIn('Neighbours, always busy: 100 us every 1000 us', out)
        self.assertIn('beside neighbours', out)

    def test_divided_beside(self):
        """What does not fit as it is may fit divided for the kernel."""
        argv = ('plan', '--runtime-us', '60000', '--period-us', '200000',
                '--arrival-rate', '20', '--cpu-ms', '10', '--beside',
                '80000/200000', '--kernel', 'rt_group_sched', '--tick-us',
                '4000')
        self.assertIn('cannot give each server its runtime',
                      self.run_main(*argv)[2])
        argv += '--min-divided-us', '100'
        seen = self.json(*argv)['beside']
        self.assertEqual([{'runtime_us': 3_750, 'period_us': 12_500},
                          {'runtime_us': 80_000, 'period_us': 200_000}],
                         seen['in_kernel'])
        self.assertIn('In the kernel, divided: 3750 us every 12500 us',
                      self.run_main(*argv)[1])
        self.assertIn('cannot give all of them their runtime', self.run_main(
            *argv, '--beside', '60000/200000')[2])

    def test_not_divided_beside(self):
        self.assertEqual([], self.json(
            *PREDICT, '--beside', '100/1000', '--min-divided-us', '100'
        )['beside']['in_kernel'])

    def test_a_few_neighbours_where_each_delays(self):
        out = self.run_main(*PREDICT, '--kernel', 'sched_deadline',
                            '--tick-us', '100')[1]
        self.assertIn('at most, with 4 others', out)
        self.assertIn('sched_deadline, charged at ticks of 100 us.', out)

    @ddt.data(
        (('--runtime-us', '0'), "cpu.rt_runtime_us='0'"),
        (('--beside', '300'), "neighbour with cpu.rt_period_us=''"),
        (('--beside', 'x/2'), "neighbour with cpu.rt_runtime_us='x'"),
        (('--beside', '300/1000'), 'must not add up to more than 1'),
        (('--vcpus', '0'), 'Invalid number of vCPUs 0'),
        (('--tick-us', '4000'), 'cbs is charged by a timer'),
        (('--kernel', 'rt_group_sched', '--tick-us', '0'),
         'rt_group_sched needs a tick above 0'),
        (('--kernel', 'rt_group_sched', '--tick-us', '1000'),
         'cannot keep a period below 2500 us'),
        (('--runtime-us', '3000'), 'more than the period of 2000'),
        (('--period-us', '9999999'), 'a period in this cloud must be 2 to '
                                     '4194304'),
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
         'the model of the paper has no overhead'))
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

    def test_a_given_reservation(self):
        """The older name of the command gives the same result."""
        options = (*PREDICT[1:], '--beside', '100/1000')
        self.assertEqual(self.json('predict', *options,
                                   '--percentile', '0.5'),
                         {**(seen := self.json('plan', *options)),
                          **self.only(seen, '0.5')})

    def only(self, seen, part):
        """Returns the older command's output for one percentile."""
        return {key: {**value, 'percentiles': {part: value['percentiles'][
            part]}} if isinstance(value, dict) and 'percentiles' in value
            else {part: value[part]} if key == 'percentiles' else value
            for key, value in seen.items()}

    def test_options_that_belong_together(self):
        for more, told in (
                (('--runtime-us', '1600'), '--runtime-us needs --period-us'),
                (('--mean-ms', '2', '--beside', '1/2'),
                 '--beside needs --runtime-us')):
            status, out, err = self.run_main('plan', *LOAD, *more)
            self.assertEqual((3, ''), (status, out))
            self.assertIn(told, err)

    def test_percentile(self):
        seen = self.json(*PLAN, '--percentile', '0.95', '--target-ms', '5')
        self.assertLessEqual(seen['bound']['percentiles']['0.95'], 5)
        less = self.json(
            'predict', *LOAD, '--period-us', '2000', '--percentile', '0.95',
            '--runtime-us', str(seen['runtime_us'] - 1))
        self.assertGreater(less['bound']['percentiles']['0.95'], 5)

    def test_mean(self):
        seen = self.json(*PLAN, '--mean-ms', '2', '--alone')
        self.assertLessEqual(seen['mean_ms'], 2)
        self.assertGreater(seen['bound']['mean_ms'], 2)
        self.assertEqual(exact.runtime_for_mean(
            arrival_rate_hz=1000, service_rate_hz=2000, period_us=2000,
            target_us=2000), seen['runtime_us'])

    def test_kernel(self):
        seen = self.json(*PLAN, '--target-ms', '9', *GROUPS)
        self.assertEqual(contended.smallest_runtime_us(
            rt_load.Load(1000, 2000), rt_load.Target(9000, 0.99), 2000,
            0.95, kernel=kernel.Kernel(kernel.Rule.RT_GROUP_SCHED, 400)),
            seen['runtime_us'])
        self.assertLessEqual(seen['bound']['percentiles']['0.99'], 9)

    def test_paper(self):
        seen = self.json(*PLAN, '--mean-ms', '2', '--model', 'paper')
        self.assertEqual(1500, seen['runtime_us'])
        self.assertEqual(2, seen['mean_ms'])

    def test_flavor(self):
        command = ('openstack flavor create rt-1500-2000 --vcpus 1 --ram 512 '
                   '&& openstack flavor set rt-1500-2000 '
                   '--property hw:cpu.rt_runtime_us=1500 '
                   '--property hw:cpu.rt_period_us=2000')
        argv = (*PLAN, '--mean-ms', '2', '--model', 'paper')
        self.assertEqual(command, self.json(*argv)['flavor'])
        self.assertEqual(command, self.run_main(*argv)[1].splitlines()[-1])
        self.assertIn('--ram 2048 ', self.json(*argv, '--ram', '2048')[
            'flavor'])

    def test_vcpus_share_the_requests(self):
        seen = self.json(*PLAN, '--arrival-rate', '3000', '--vcpus', '3',
                         '--mean-ms', '3')
        self.assertEqual(self.json(*PLAN, '--mean-ms', '3')['runtime_us'],
                         seen['runtime_us'])
        self.assertIn('--vcpus 3', seen['flavor'])

    def test_period_is_chosen(self):
        seen = self.json('plan', *LOAD, '--mean-ms', '20',
                         '--overhead-us', '50')
        self.assertEqual(10_000, seen['period_us'])

    @ddt.data(
        (('--target-ms', '1'), 'with 1900 us every 2000 us, the most'),
        (('--mean-ms', '2', '--max-share', '0.7'),
         'with 1400 us every 2000 us, the most that is allowed'),
        (('--mean-ms', '2', '--max-share', '1.5'), 'Invalid maximum share'),
        (('--mean-ms', '2', '--network-delay-us', '1000'),
         'the network alone takes 2000 us in both directions'),
        (('--mean-ms', '0'), 'Invalid target in us 0.0'),
        (('--target-ms', 'nan'), 'Invalid target in us nan'),
        (('--target-ms', '9', '--percentile', '0'), 'Invalid percentile'),
        (('--mean-ms', '9', '--percentile', '7'), 'Invalid percentile'),
        (('--mean-ms', '9', '--vcpus', '0'), 'Invalid number of vCPUs 0'),
        (('--mean-ms', '9', '--period-us', '0'), 'Invalid period in us 0'),
        (('--mean-ms', '9', '--arrival-rate', '2000'),
         'serving these requests at all needs a share of 1.020'))
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


class ThisHostTest(CommandTest):
    """``--kernel auto``, the default, on made-up hosts."""

    ARGV = tuple(word for word in PREDICT if word not in ('--kernel', 'cbs'))

    def setUp(self):
        super().setUp()
        self.useFixture(fixtures.MockPatchObject(
            ticks, 'tick_us', return_value=300))
        self.useFixture(fixtures.MockPatchObject(
            ticks, 'high_resolution', side_effect=lambda _: self.fine))
        self.useFixture(fixtures.MockPatchObject(
            passive, 'find', side_effect=lambda *_: self.found))

    def seen(self, name=None, fine=True, trouble=''):
        self.found = mock.Mock(trouble=trouble)
        self.found.name, self.fine = name, fine
        seen = self.json(*self.ARGV)
        return seen['kernel'], seen['tick_us'], seen['note']

    def test_known(self):
        self.assertEqual(('rt_group_sched', 300, ''),
                         self.seen('rt_group_sched'))
        self.assertEqual(('cbs', 0, ''), self.seen('hcbs'))
        self.assertEqual(('sched_deadline', 300, ''),
                         self.seen('hcbs', fine=False))

    def test_not_told(self):
        for name, fine, reason in ((None, True, 'the kernel has no interface'),
                                   ('rt_max', None, 'whether HRTICK is on')):
            found = self.seen(name, fine)
            self.assertEqual(('cbs', 0), found[:2])
            self.assertIn(reason, found[2])
            self.assertIn(f'\n{found[2]}\n',
                          self.run_main(*self.ARGV)[1])
        self.assertIn('(no cgroups)', self.seen(trouble='no cgroups')[2])

    def test_tick(self):
        self.seen('rt_group_sched')
        self.assertEqual(200, self.json(*self.ARGV, '--tick-us', '200')[
            'tick_us'])


class PlotTest(CommandTest):

    def setUp(self):
        super().setUp()
        # matplotlib logs each font that it reads.
        self.useFixture(fixtures.FakeLogger('matplotlib', logging.WARNING))
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def plot(self, name, argv=PREDICT):
        path = os.path.join(self.directory.name, name)
        return path, *self.run_main(*argv, '--plot', path)

    def test_drawn(self):
        path, status, out, _ = self.plot('x.png')
        self.assertEqual(0, status)
        self.assertIn('Response time', out)
        with open(path, 'rb') as file:
            self.assertEqual(b'\x89PNG', file.read(4))

    def test_words(self):
        path = self.plot('x.svg', (*PLAN, '--target-ms', '20'))[0]
        with open(path) as file:
            drawn = file.read()
        for word in ('alone on its CPU', 'at most, with others', 'p99.9',
                     'target: p99 of 20 ms', '1000 requests a second'):
            self.assertIn(f'<!-- {word}', drawn)

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
