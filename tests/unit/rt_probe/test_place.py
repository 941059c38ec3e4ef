# SPDX-License-Identifier: Apache-2.0

import fixtures
from oslotest import base

from rt_probe import place
from tests.unit.rt_probe import files


class DirectoriesTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.tree = files.Tree(self.useFixture(fixtures.TempDir()).path)

    def found(self, process='self'):
        return {name: path.removeprefix(self.tree.root) for name, path
                in place.directories(process, self.tree.root).items()}

    def test_on_a_host(self):
        self.tree.first('/machine/a')
        self.tree.quota('/machine/a')
        self.assertEqual({'cpu': '/sys/fs/cgroup/cpu/machine/a',
                          'cpuacct': '/sys/fs/cgroup/cpuacct/machine/a'},
                         self.found())

    def test_of_a_container_whose_group_is_mounted(self):
        """libvirt and Docker mount this without a cgroup namespace."""
        self.tree.first('/machine/a/inner', shown='/machine/a')
        self.tree.quota('/inner')
        self.assertEqual('/sys/fs/cgroup/cpu/inner', self.found()['cpu'])

    def test_in_a_cgroup_namespace(self):
        self.tree.second('/')
        self.tree.unified()
        self.assertEqual({'': '/sys/fs/cgroup'}, self.found())

    def test_of_another_process(self):
        self.tree.second('/a')
        self.tree.write('/proc/7/cgroup', '0::/b\n')
        self.tree.unified('/a')
        self.tree.unified('/b')
        self.assertEqual('/sys/fs/cgroup/b', self.found('7')[''])

    def test_not_mounted(self):
        self.tree.write('/proc/self/cgroup', '0::/a\n')
        self.tree.write('/proc/self/mountinfo', '1 2 0:3 / / rw - ext4 a rw\n')
        self.assertEqual({}, self.found())

    def test_part_of_the_tree_that_we_are_not_in(self):
        self.tree.second('/a', shown='/b')
        self.assertEqual({}, self.found())

    def test_neighbour_of_a_similar_name(self):
        self.tree.second('/machine/ab', shown='/machine/a')
        self.tree.unified('/machine/ab')
        self.assertEqual({'': '/sys/fs/cgroup/machine/ab'}, self.found())

    def test_top_of_v1(self):
        self.tree.quota()
        path = f'{self.tree.root}/sys/fs/cgroup/cpu'
        self.assertFalse(place.is_top(path))
        self.tree.write('/sys/fs/cgroup/cpu/release_agent', '')
        self.assertTrue(place.is_top(path))

    def test_top_of_v2(self):
        self.tree.write('/sys/fs/cgroup/cgroup.procs', '')
        self.tree.unified('/a')
        path = f'{self.tree.root}/sys/fs/cgroup'
        self.assertTrue(place.is_top(path))
        self.assertFalse(place.is_top(f'{path}/a'))

    def test_upwards(self):
        self.tree.unified()
        self.tree.unified('/a')
        path = f'{self.tree.root}/sys/fs/cgroup'
        self.assertEqual([f'{path}/a', path],
                         [*place.upwards(f'{path}/a')])
