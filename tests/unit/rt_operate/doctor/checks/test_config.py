# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.checks.config and .options: what nova.conf says."""

import builtins
import pathlib
import tempfile
from unittest import mock

from rt_operate.doctor.checks import config
from rt_operate.doctor import findings
from rt_operate.doctor import options
from tests.unit.rt_operate.doctor import base


class OptionsTest(base.DoctorTest):

    def file(self, text):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = pathlib.Path(directory.name, 'nova.conf')
        path.write_text(text)
        return str(path)

    def test_all(self):
        path = self.file(
            '[DEFAULT]\nmy_ip = 1.2.3.4\n[nova_rt]\nkernel_interface = hcbs\n'
            'cpu_cap = 0.8\nrt_cpus = 2-5\nguest_policy = fifo\n'
            'hcbs_scheduler_available = false\nguest_priority = 20\n'
            'guest_priority_max = 30\n'
            'min_runtime_us = 500\nmin_period_us = 5000\n'
            'min_divided_runtime_us = 2000\n'
            'emulator_cpus = 0,1\nemulator_max_share = 0.5\n'
            '[libvirt]\nvirt_type = lxc\n[compute]\ncpu_shared_set = 2-7\n'
            'cpu_dedicated_set = 8-9\n')
        self.assertEqual(
            options.Options('hcbs', 0.8, '2-5', False, 'fifo', 20, 30, 500,
                            5000, 2000, 'lxc', '2-7', path, '', '8-9', '0,1',
                            0.5),
            options.load([path]))

    def test_later_files_win(self):
        found = options.load([self.file('[nova_rt]\ncpu_cap = 0.8\n'),
                              self.file('[nova_rt]\ncpu_cap = 0.7\n')])
        self.assertEqual(700_000, found.cap_ppm)

    def test_nova_compute_of_a_devstack_reads_a_file_of_its_own(self):
        path = self.file('[nova_rt]\ncpu_cap = 0.7\n')
        other = self.file('[nova_rt]\ncpu_cap = 0.8\n')
        with mock.patch.object(options, 'NOVA_CPU_CONF', path):
            found = options.load([])
            self.assertEqual((700_000, path), (found.cap_ppm, found.source))
            self.assertEqual(800_000, options.load([other]).cap_ppm)
        with mock.patch.object(options, 'NOVA_CPU_CONF', '/nowhere'):
            self.assertEqual('', options.load([]).trouble)

    def test_the_defaults_are_those_of_nova_compute(self):
        empty = self.file('')
        self.assertEqual(options.Options(source=empty),
                         options.load([empty]))

    def test_trouble(self):
        for text in ('[nova_rt]\ncpu_cap = 2\n', 'garbage', '[nova_rt\n'):
            found = options.load([self.file(text)])
            self.assertTrue(found.trouble, text)
            self.assertEqual(0.95, found.cpu_cap)
        self.assertIn('/nowhere/x.conf',
                      options.load(['/nowhere/x.conf']).trouble)

    def test_without_oslo(self):
        real = builtins.__import__

        def without(name, *args, **kwargs):
            if name.startswith('oslo'):
                raise ImportError(f'No module named {name}')
            return real(name, *args, **kwargs)

        with mock.patch.object(builtins, '__import__', without):
            self.assertEqual(options.Options(), options.load([]))
            self.assertIn('oslo', options.load(['/x']).trouble)


class ConfigTest(base.DoctorTest):

    def test_ok(self):
        found = self.examine(base.F1, virt_type='lxc', source='/x.conf')
        self.assert_ok(found, 'config.read', 'from /x.conf', 'cpu_cap 0.95')
        self.assertEqual(['config.read'], [
            name for name in found if name.startswith('config')])

    def test_trouble(self):
        self.assert_problem(self.examine(base.F1, trouble='no such file'),
                            'config.read', 'no such file', '--config-file')

    def test_not_offered(self):
        self.assert_warns(
            self.examine(base.F1, hcbs_scheduler_available=False),
            'config.offered', 'is false')

    def test_virt_type(self):
        self.assert_problem(self.examine(base.F1, virt_type='parallels'),
                            'config.virt_type', 'parallels', 'kvm, lxc')

    def test_guest_policy(self):
        self.assert_warns(self.examine(base.F1, guest_policy='none'),
                          'config.guest_policy', 'stay ordinary')

    def test_tasks_that_never_run(self):
        """Two busy SCHED_FIFO tasks may stop RCU."""
        preempted = 'CONFIG_PREEMPT_RCU=y\n'
        for built, warns in ((preempted, True),
                             (f'{preempted}CONFIG_RCU_BOOST=y\n', False),
                             ('CONFIG_TREE_RCU=y\n', False)):
            found = self.examine(
                base.F1, {'/boot/config-6.18.0': built},
                guest_policy='fifo')
            if warns:
                self.assert_warns(found, 'config.guest_policy', 'fifo',
                                  'never runs', 'rr')
            else:
                self.assertNotIn('config.guest_policy', found)

    def test_rt_cpus(self):
        self.assertNotIn('config.rt_cpus',
                         self.examine(base.F1, rt_cpus='0-7,^2-7'))
        self.assert_problem(self.examine(base.F1, rt_cpus='1-3'),
                            'config.rt_cpus', '2-3', 'not start')
        self.assert_problem(self.examine(base.F1, rt_cpus='one'),
                            'config.rt_cpus', 'is one', '2-15,^8')

    def test_spare_cpus_of_each_cell(self):
        """Told in ranges, also on a host of 128 pCPUs in 8 cells."""
        files = {'/sys/devices/system/cpu/online': '0-127'} | {
            f'/sys/devices/system/node/node{cell}/cpulist':
                f'{16 * cell}-{16 * cell + 15}' for cell in range(8)}
        for rt_cpus, shared, words in (
                ('1-127', '', 'cells with the CPUs 16-31 and 32-47 and'),
                ('0-127,^0,^16,^32,^48,^64,^80,^96,^112', '', ''),
                ('2-15', '0-15', 'run on CPUs 0-1,'),
                ('0-15', '0-15', 'cells with the CPUs 0-15 is')):
            view = self.view(
                base.MAINLINE, files, rt_cpus=rt_cpus, virt_type='kvm',
                cpu_shared_set=shared, kernel_interface='sched_deadline')
            finding, = config.spare(view)
            self.assertEqual('config.spare', finding.id)
            self.assertIn(words, finding.text)
            self.assertEqual('cells' in words,
                             finding.level is findings.Level.WARNING)
        self.assertEqual([], [*config.spare(self.view(base.MAINLINE))])

    def emulators(self, spec, *files, **more):
        view = self.view(base.MAINLINE, *files, {
            '/sys/devices/system/cpu/online': '0-7',
            '/sys/devices/system/node/node0/cpulist': '0-3',
            '/sys/devices/system/node/node1/cpulist': '4-7'}, **{
            'rt_cpus': '1-2,5-6', 'virt_type': 'kvm',
            'cpu_dedicated_set': '7', 'emulator_cpus': spec,
            'kernel_interface': 'sched_deadline', **more})
        self.assertEqual([], [*config.spare(view)])
        finding, = config.emulator_cpus(view)
        self.assert_readable(finding)
        return {finding.id: finding}

    def test_cpus_for_emulators(self):
        name = 'config.emulator_cpus'
        self.assert_ok(self.emulators('0,4'), name, 'CPUs 0,4',
                       'without a limit')
        self.assert_ok(self.emulators('0,4', emulator_max_share=0.5), name,
                       'at most 0.5 CPUs')
        self.assert_warns(self.emulators('0'), name, 'CPUs 4-7')
        for spec, words in (('x', 'is not a list'),
                            ('0,9', 'but CPU 9 is not online'),
                            ('0-1', 'but reservations may use CPU 1:'),
                            ('4,7', 'but Nova dedicates CPU 7 to')):
            self.assert_problem(self.emulators(spec), name, words,
                                'not start')
        self.assert_warns(self.emulators('0,4', kernel_interface='hcbs'),
                          name, 'no effect')
        self.assertEqual([], [*config.emulator_cpus(
            self.view(base.MAINLINE))])

    def test_parse(self):
        for spec, wanted in (('2-5,^3', {2, 4, 5}), (' 1 , 2 ', {1, 2}),
                             ('^1', set()), ('', set())):
            self.assertEqual(wanted, config.parse(spec))
