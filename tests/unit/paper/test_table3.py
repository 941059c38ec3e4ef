# SPDX-License-Identifier: Apache-2.0

import pathlib
import re
import tempfile
import unittest

from docutils import core
import numpy as np

from paper import bench
from paper import measure
from paper import points
from paper import published
from paper import records
from paper import rules
from paper import scheduling
from paper import table3
from tests.unit.paper import base


class PublishedTest(unittest.TestCase):

    def test_load_ratios(self):
        """LDR of section 6.2: LD / (Q/P)."""
        self.assertEqual([0.625, 0.778, 0.889] * 2, [
            round(row.load / row.share, 3) for row in published.TABLE3])

    def test_grid(self):
        """Section 6.2: from 100 us to 5 ms."""
        self.assertEqual((11, 100, 5000), (
            len(published.INTERVALS_US), published.INTERVALS_US[0],
            published.INTERVALS_US[-1]))


def runs(factor):
    """Returns a run of each row with this times the exact model's mean."""
    for row in published.TABLE3:
        for point in points.curve((100,), row.size, row.load, row.share):
            said = base.measured_point([1], point=point).predicted['exact']
            times = np.linspace(0, 2 * factor * said.mean_us, 500)
            yield base.record(times, point=point)


class ReportTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def report(self, factor):
        data = self.directory / 'runs.csv'
        records.write(data, runs(factor))
        return table3.run(
            bench.Settings(self.directory, scheduling.reserved,
                           measure.SHORT, 1),
            bench.Extent(data, seconds=0, first=1))

    def test_from_the_data_alone(self):
        text = self.report(1.0)
        # Six rows of two grids, as measured and controlled.
        self.assertEqual(2 * 6, len(re.findall(
            r'(?m)^\d.+  0\.00 / [0-9.]+ % .+  0\.00 / 0\.00 % ', text)))
        self.assertIn('6 runs of 0 minutes', text)
        self.assertTrue((self.directory / 'table3.png').exists())

    def test_names_the_cells_where_it_loses(self):
        # Between both models, nearer to the paper's, which says more.
        text = ' '.join(self.report(1.4).split())
        self.assertIn('mean of 128 B, LD 0.5 (28.57, not ', text)

    def test_docutils_reads_it(self):
        document = core.publish_doctree(
            self.report(1.1), settings_overrides={'halt_level': 2})
        self.assertEqual(3, len(list(document.findall(
            lambda node: node.tagname == 'table'))))


class RulesTest(unittest.TestCase):

    def test_both_directions(self):
        curve = [[base.measured_point([100] * 5, [200] * 5)]]
        curve[0][0].runs[1] = base.record([200] * 5, latest_us=3000.0)
        lines = rules.table(curve).splitlines()[5:-1]
        self.assertEqual(
            ['every run counts 2', 'steal only 2',
             'no limit for the latest request 2', 'as in the tables 2',
             'latest request 2 ms 1', 'latest request 1 ms 1'],
            [' '.join(re.split('  +', line)[:2]) for line in lines])
