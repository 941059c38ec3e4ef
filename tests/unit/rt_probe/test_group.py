# SPDX-License-Identifier: Apache-2.0

import os

import fixtures
from oslotest import base

from rt_probe import group
from rt_probe import place
from tests.unit.rt_probe import files


class GroupTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.tree = files.Tree(self.useFixture(fixtures.TempDir()).path)

    def limited(self, real_time=False):
        return group.limited(place.directories(root=self.tree.root),
                             real_time)

    def test_quota_of_v1(self):
        self.tree.first('/a')
        self.tree.quota('/a', used_ns=7, periods=5, throttled=4)
        found = self.limited()
        self.assertEqual((7, (5, 4), 100_000_000),
                         (found.used_ns(), found.throttling(),
                          found.quota_period_ns()))

    def test_quota_of_v2(self):
        self.tree.second('/a')
        self.tree.unified('/a', used_us=7, limit='5000 20000')
        found = self.limited()
        self.assertEqual((7000, 20_000_000),
                         (found.used_ns(), found.quota_period_ns()))

    def test_no_limit(self):
        self.tree.second('/a')
        self.tree.unified('/a', limit='max 100000')
        self.assertIsNone(self.limited())

    def test_limit_of_a_group_above(self):
        """The limit of a pod binds each of its containers."""
        self.tree.second('/pod/a')
        self.tree.unified('/pod', used_us=9)
        self.tree.unified('/pod/a', limit='max 100000')
        self.assertEqual(9000, self.limited().used_ns())

    def test_limit_of_the_host_binds_nobody(self):
        self.tree.first('/')
        self.tree.quota()
        self.tree.write('/sys/fs/cgroup/cpu/release_agent', '')
        self.tree.write('/sys/fs/cgroup/cpu/cpu.rt_runtime_us', '950000\n')
        self.assertIsNone(self.limited(real_time=True))

    def test_budget_of_real_time_tasks(self):
        self.tree.first('/a')
        self.tree.quota('/a', quota=-1)
        self.tree.write('/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us', '6000\n')
        self.tree.write('/sys/fs/cgroup/cpu/a/cpu.rt_period_us', '20000\n')
        self.assertIsNone(self.limited())
        self.assertEqual(20_000_000,
                         self.limited(real_time=True).rt_period_ns())

    def test_budget_of_newer_kernels(self):
        self.tree.second('/a')
        self.tree.unified('/a', limit='max 100000')
        self.tree.write('/sys/fs/cgroup/a/cpu.rt.max', '3000 10000\n')
        self.assertEqual(10_000_000,
                         self.limited(real_time=True).rt_period_ns())

    def test_threads_of_other_namespaces_are_left_out(self):
        self.tree.first('/a')
        self.tree.quota('/a')
        self.tree.write('/sys/fs/cgroup/cpu/a/tasks', '0\n12\n0\n13\n')
        self.assertEqual([12, 13], self.limited().threads())

    def test_no_time_of_the_group(self):
        self.tree.second('/a')
        self.tree.unified('/a')
        self.tree.write('/sys/fs/cgroup/a/cpu.stat', 'nr_periods 1\n')
        self.assertIsNone(self.limited())

    def test_nothing_stays_open(self):
        self.tree.second('/a')
        self.tree.unified('/a', limit='max 1')
        before = len(os.listdir('/proc/self/fd'))
        self.limited()
        self.assertEqual(before, len(os.listdir('/proc/self/fd')))
