# SPDX-License-Identifier: Apache-2.0

"""cloud.full.nodes: where compute nodes cannot be made."""

import pathlib
import tempfile
import unittest
from unittest import mock

from cloud import cleanup
from cloud import computes
from cloud.full import nodes
from cloud import settings


class NodesTest(unittest.TestCase):

    def test_not_on_cgroup_v2(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        unified = pathlib.Path(directory.name)
        (unified / 'cgroup.controllers').touch()
        cloud = settings.Settings(unified / 'cloud', 15000, True, 'lxc')
        node = computes.Node('lxc', 'lxc', 650_000)
        with (mock.patch.object(cleanup, 'CGROUPS', unified),
              self.assertRaisesRegex(nodes.NoNode, 'needs cgroup v1')):
            nodes.command(cloud, node)
        self.assertEqual(['cgroup.controllers'],
                         [path.name for path in unified.iterdir()])
