# SPDX-License-Identifier: Apache-2.0

"""The truth or ``bound``: counters that are not those of the group."""

import os

import fixtures
from oslotest import base

from rt_probe import report
from rt_probe import watch
from tests.unit.rt_probe import files

_MS = 1_000_000
#: One step of 500 ms on two busy CPUs, in ticks of 10 ms.
_BUSY = (100, 0, 0, 0, 0, 0, 0, 9)


class Case(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.tree = files.Tree(self.useFixture(fixtures.TempDir()).path)
        self.now = 10 ** 12
        for name, start in (('monotonic_ns', 10 ** 12),
                            ('time_ns', 10 ** 18)):
            self.useFixture(fixtures.MockPatch(
                f'time.{name}',
                lambda start=start: self.now - 10 ** 12 + start))
        self.useFixture(fixtures.MockPatchObject(
            os, 'sched_getaffinity', lambda thread: {0, 1}))
        self.useFixture(fixtures.MockPatchObject(os, 'cpu_count', lambda: 2))

    def look(self, change=lambda: None, **options):
        """Reports on a step of 500 ms in which the host was busy."""
        self.tree.stat(0, 0, 0, 0, 0, 0, 0, 1)
        watched = watch.Watch(watch.Options(**options), self.tree.root)
        self.assertEqual('', watched.start())
        return self.again(watched, change)

    def again(self, watched, change=lambda: None):
        self.now += 500 * _MS
        self.tree.stat(*_BUSY)
        change()
        return watched.take_reading()

    def assert_bound(self, found, lower, upper=None):
        self.assertEqual((report.BOUND, None, lower, upper),
                         (found.method, found.available, found.lower,
                          found.upper))


class MachineTest(Case):
    """/proc/stat counts what the probe measures, or is not used."""

    def machine(self):
        self.tree.first('/')
        self.tree.quota(quota=-1)
        self.tree.write('/sys/fs/cgroup/cpu/release_agent', '')
        self.tree.write('/sys/fs/cgroup/cpuacct/release_agent', '')
        self.tree.namespaces()

    def test_in_the_root_group_of_a_machine(self):
        self.machine()
        found = self.look()
        self.assertEqual((report.THROTTLED, 'steal', 1.84),
                         (found.method, found.source, found.available))

    def test_in_a_container(self):
        for kind in ('pid', 'cgroup'):
            self.machine()
            self.tree.namespaces(**{kind: 4026532177})
            found = self.look()
            self.assert_bound(found, None)
            self.assertIn('container', found.absent['steal'])

    def test_where_namespaces_cannot_be_seen(self):
        self.tree.first('/')
        self.tree.quota(quota=-1)
        found = self.look()
        self.assert_bound(found, 0.0)
        self.assertIn('container', found.absent['steal'])

    def test_in_a_group_without_a_limit(self):
        """The truth of the container is the group's, here 0.2."""
        self.tree.first('/a')
        self.tree.quota('/a', quota=-1)
        self.tree.namespaces()
        found = self.look(lambda: self.tree.quota('/a', 100 * _MS, quota=-1))
        self.assert_bound(found, 0.2)
        self.assertIn('--machine', found.absent['steal'])

    def test_in_a_group_that_is_hidden(self):
        """A sandbox shows no /sys."""
        self.tree.write('/proc/self/cgroup', '2:cpuacct:/a\n1:cpu:/a\n')
        self.tree.write('/proc/self/mountinfo', '1 2 0:3 / / rw - ext4 a rw\n')
        self.tree.namespaces()
        self.assert_bound(self.look(), None)

    def test_the_machine_is_asked_for(self):
        self.tree.first('/system.slice/probe')
        self.tree.quota('/system.slice', quota=-1)
        self.tree.quota('/system.slice/probe', quota=-1)
        self.tree.namespaces()
        self.assertEqual(1.84, self.look(machine=True).available)

    def test_the_machine_is_asked_for_in_a_container(self):
        self.tree.first('/')
        self.tree.namespaces(pid=4026532177)
        watched = watch.Watch(watch.Options(machine=True), self.tree.root)
        self.tree.stat(*_BUSY)
        self.assertIn('container', watched.start())

    def test_a_hypervisor_that_never_reported_steal(self):
        """Time that QEMU without KVM takes is not seen (0.3 looked like 1)."""
        self.machine()
        self.tree.write('/proc/cpuinfo', 'flags\t\t: fpu hypervisor\n')
        self.tree.stat(0, 0, 0, 0, 0, 0, 0, 0)
        watched = watch.Watch(watch.Options(), self.tree.root)
        self.assertEqual('', watched.start())
        self.now += 500 * _MS
        self.tree.stat(100, 0, 0, 0, 0, 0, 0, 0)
        found = watched.take_reading()
        self.assert_bound(found, None)
        self.assertEqual(2.0, found.used)
        self.assertIn('no steal', found.reason)


class SplitTest(Case):
    """cpu and cpuacct are different hierarchies, and so are the groups."""

    def split(self, accounting):
        self.tree.first('/a')
        self.tree.quota('/a')
        self.tree.quota(quota=-1)
        self.tree.write('/proc/self/cgroup',
                        f'2:cpuacct:{accounting}\n1:cpu:/a\n')
        self.tree.namespaces()

    def test_time_of_another_group(self):
        self.split('/')
        self.tree.write('/sys/fs/cgroup/cpu/a/tasks', '7\n')
        self.tree.write('/sys/fs/cgroup/cpuacct/tasks', '1\n7\n8\n')
        found = self.look(lambda: (
            self.tree.write('/sys/fs/cgroup/cpuacct/cpuacct.usage',
                            f'{1000 * _MS}\n'),
            self.tree.write('/sys/fs/cgroup/cpu/a/cpu.stat',
                            'nr_periods 5\nnr_throttled 5\n')))
        self.assert_bound(found, None, 0.3)
        self.assertIn('cpuacct', found.reason)

    def test_tasks_of_the_groups_differ(self):
        self.tree.first('/a')
        self.tree.quota('/a')
        self.tree.write('/sys/fs/cgroup/cpu/a/tasks', '7\n8\n')
        self.tree.write('/sys/fs/cgroup/cpuacct/a/tasks', '7\n')
        found = self.look(lambda: self.tree.write(
            '/sys/fs/cgroup/cpuacct/a/cpuacct.usage', f'{75 * _MS}\n'))
        self.assert_bound(found, None, 0.3)


class LimitTest(Case):
    """No answer exceeds a limit that can be read."""

    def setUp(self):
        super().setUp()
        self.tree.first('/a')
        self.tree.quota('/a')

    def told(self, share, throttled=5, **limit):
        return self.look(lambda: self.tree.quota(
            '/a', round(500 * _MS * share), 5, throttled, **limit))

    def test_more_than_the_limit_is_not_told(self):
        found = self.told(0.31)
        self.assertEqual((report.THROTTLED, 0.3),
                         (found.method, found.available))
        # What a window of this length receives at most, by the law of supply.
        self.assertLess(found.upper, 0.3 + 2 * 0.3 * 0.1 / 0.5 + 0.03)

    def test_counters_of_somebody_else(self):
        found = self.told(1.99)
        self.assert_bound(found, None, 0.3)
        self.assertIn('more CPU time than the limit', found.reason)

    def test_the_limit_bounds_an_idle_group(self):
        self.assert_bound(self.told(0.1, 0), 0.1, 0.3)

    def test_the_limit_above_binds_too(self):
        self.tree.first('/pod/a')
        self.tree.quota('/pod', quota=10_000)
        self.tree.quota('/pod/a')
        found = self.look(lambda: self.tree.quota('/pod/a', 50 * _MS))
        self.assert_bound(found, 0.1, 0.1)

    def test_a_limit_that_rises(self):
        """The limit is read again for each report."""
        found = self.told(0.6, quota=60_000)
        self.assertEqual(0.6, found.available)

    def test_second_version(self):
        self.tree.second('/b')
        self.tree.unified('/b')
        found = self.look(lambda: self.tree.unified('/b', 50_000))
        self.assert_bound(found, 0.1, 0.3)
