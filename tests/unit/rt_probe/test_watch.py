# SPDX-License-Identifier: Apache-2.0

"""Reports from one reading to the next, on files that change in between."""

import os
import subprocess
import time
from unittest import mock

import fixtures
from oslotest import base

from rt_probe import errors
from rt_probe import report
from rt_probe import spin
from rt_probe import watch
from tests.unit.rt_probe import files
from tests.unit.rt_probe import test_bursts

_MS = 1_000_000


class WatchTest(base.BaseTestCase):
    """A group of v1 with 30 ms every 100 ms."""

    def setUp(self):
        super().setUp()
        self.tree = files.Tree(self.useFixture(fixtures.TempDir()).path)
        self.tree.first('/a')
        self.tree.quota('/a')
        self.now = 10 ** 12
        self.wall = 10 ** 18
        for name, attribute in (('monotonic_ns', 'now'),
                                ('time_ns', 'wall')):
            self.useFixture(fixtures.MockPatchObject(
                time, name, lambda attribute=attribute: getattr(
                    self, attribute)))
        affinity = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, affinity)
        os.sched_setaffinity(0, {min(affinity)})

    def watch(self, **options):
        found = watch.Watch(watch.Options(**options), self.tree.root)
        self.assertEqual('', found.start())
        return found

    def pass_time(self, ms=500, jump=0):
        self.now += ms * _MS
        self.wall += (ms + jump) * _MS

    def step(self, watched, number, share=0.3, throttled=True):
        self.pass_time()
        self.tree.quota('/a', round(number * 500 * _MS * share), 5 * number,
                        5 * number if throttled else 0)
        return watched.take_reading()

    def test_throttled(self):
        watched = self.watch()
        for number in range(1, 5):
            found = self.step(watched, number)
        self.assertEqual(report.THROTTLED, found.method)
        self.assertEqual('cpu.stat', found.source)
        self.assertAlmostEqual(0.3, found.available)
        self.assertEqual(100_000, found.period_us)

    def test_changed(self):
        watched = self.watch()
        for number in range(1, 8):
            self.assertIsNone(self.step(watched, number).changed_from)
        self.pass_time()
        self.tree.quota('/a', 7 * 150 * _MS + 75 * _MS, 40, 40)
        found = watched.take_reading()
        self.assertAlmostEqual(0.3, found.changed_from)
        self.assertAlmostEqual(0.15, found.available)

    def test_bound(self):
        found = self.step(self.watch(), 1, 0.1, throttled=False)
        self.assertEqual(report.BOUND, found.method)
        self.assertIsNone(found.available)
        self.assertAlmostEqual(0.3, found.upper)
        self.assertAlmostEqual(0.1, found.lower)
        self.assertEqual('the VNF wants less CPU time than is available, and '
                         'bursts are not allowed', found.reason)

    def test_absent_sources_are_listed(self):
        found = self.step(self.watch(), 1)
        self.assertEqual('the control group has no file cpu.pressure',
                         found.absent['psi'])
        self.assertIn('steal', found.absent)

    def burst(self, **kwargs):
        watched = self.watch(burst=True)
        with mock.patch.object(spin.Burst, 'run', **kwargs):
            first = self.step(watched, 1, 0.1, throttled=False)
        return watched, first

    def test_burst(self):
        watched, first = self.burst(return_value=test_bursts.trace(0.3))
        self.assertEqual(report.BURST, first.method)
        self.assertAlmostEqual(0.3, first.available)
        self.assertEqual('the estimate comes from 1 of 5 bursts',
                         first.reason)
        found = self.step(watched, 2, 0.1, throttled=False)
        self.assertEqual(report.BURST, found.method)
        self.assertAlmostEqual(0.5, found.age_s)

    def test_upper_bound_is_the_last_burst(self):
        watched, _ = self.burst(return_value=test_bursts.trace(0.2))
        os.sched_setaffinity(0, range(os.cpu_count()))
        with mock.patch.object(watch.evidence, 'disturbance',
                               return_value=''):
            found = self.step(watched, 2, 0.1, throttled=False)
        self.assertEqual(report.BOUND, found.method)
        self.assertGreater(found.upper, 0.2)
        self.assertIsNotNone(found.age_s)

    def test_no_right_to_burst(self):
        _, found = self.burst(side_effect=errors.ProbeError('no right'))
        self.assertEqual(report.BOUND, found.method)
        self.assertIn('and no right', found.reason)

    def test_clock_jump(self):
        watched = self.watch()
        self.step(watched, 1)
        self.pass_time(jump=5000)
        found = watched.take_reading()
        self.assertEqual(report.BOUND, found.method)
        self.assertIn('the clock jumped by +5.0 s', found.reason)
        self.assertEqual(report.THROTTLED, self.step(watched, 2).method)

    def test_live_migration(self):
        watched = self.watch()
        self.step(watched, 1)
        self.pass_time(ms=20_000)
        self.assertIn('nothing ran for 20.0 s', watched.take_reading().reason)

    def test_hot_plug(self):
        watched = self.watch()
        self.step(watched, 1)
        os.sched_setaffinity(0, range(os.cpu_count()))
        self.assertIn('the CPUs changed', self.step(watched, 2).reason)

    def test_group_gone(self):
        watched = self.watch()
        with mock.patch.object(watched._sources.group, 'used_ns',
                               side_effect=OSError(19, 'No such device')):
            self.pass_time()
            found = watched.take_reading()
        self.assertEqual((report.BOUND, 'the control group is gone'),
                         (found.method, found.reason))

    def test_moved_to_another_group(self):
        """The group is found again."""
        watched = self.watch()
        self.tree.first('/b')
        self.tree.quota('/b')
        with mock.patch.object(watched._sources.group, 'used_ns',
                               side_effect=OSError(19, 'No such device')):
            self.pass_time()
            watched.take_reading()
        self.pass_time()
        self.tree.quota('/b', 150 * _MS, 5, 5)
        self.assertEqual(report.THROTTLED, watched.take_reading().method)


class ProcessTest(base.BaseTestCase):
    """Processes of this machine."""

    def test_gone(self):
        process = subprocess.Popen(['sleep', '60'])
        watched = watch.Watch(watch.Options(processes=(process.pid,)))
        self.assertEqual('', watched.start())
        process.kill()
        process.wait()
        for _ in range(2):
            found = watched.take_reading()
            self.assertEqual(report.BOUND, found.method)
            self.assertEqual(f'process {process.pid} is gone', found.reason)

    def test_idle(self):
        process = subprocess.Popen(['sleep', '60'])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        watched = watch.Watch(watch.Options(processes=(process.pid,)))
        watched.start()
        time.sleep(0.06)
        found = watched.take_reading()
        self.assertEqual(report.BOUND, found.method)
        self.assertIn('steal', found.absent)

    def test_machine(self):
        """On any machine there is a report, and the used CPU time is known."""
        watched = watch.Watch(watch.Options())
        watched.start()
        time.sleep(0.1)
        found = watched.take_reading()
        self.assertIsNotNone(found.used)
        self.assertIn('cpu.stat', found.absent)
