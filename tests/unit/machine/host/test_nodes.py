# SPDX-License-Identifier: Apache-2.0

"""Tests the NUMA cells as /sys has them."""

import pathlib
import tempfile
import unittest

from nova_rt.machine.host import nodes


class NodesTest(unittest.TestCase):

    def test_cells(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for cell, cpus in (('node0', '0-1'), ('node1', '2,5-6'),
                               ('node2', '')):
                directory = pathlib.Path(name, cell)
                directory.mkdir()
                (directory / 'cpulist').write_text(f'{cpus}\n')
            pathlib.Path(name, 'possible').write_text('0-2')
            self.assertEqual([{0, 1}, {2, 5, 6}, set()], nodes.cells(name))

    def test_without_numa(self) -> None:
        self.assertEqual([], nodes.cells('/nowhere'))
