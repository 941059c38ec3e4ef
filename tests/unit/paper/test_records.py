# SPDX-License-Identifier: Apache-2.0

import csv
import pathlib
import tempfile
import unittest

import ddt
import hypothesis
from hypothesis import strategies
import numpy as np

from paper import records
from tests.unit import base as unit
from tests.unit.paper import base

TIMES = strategies.lists(strategies.integers(1, 10 ** 6), min_size=1,
                         max_size=300)


class SummaryTest(unittest.TestCase):

    @unit.PROPERTY
    @hypothesis.given(TIMES)
    def test_survival(self, times):
        """The survival falls from 1 to 0, and agrees with the quantiles."""
        summary = records.Summary.from_times(np.array(times, float))
        at = np.array((0, *summary.quantiles_us))
        found = summary.survival(at, len(times))
        self.assertTrue((np.diff(found) <= 1e-9).all())
        self.assertEqual((1, 0), (found[0], found[-1]))

    def test_exponential(self):
        times = np.random.default_rng(1).exponential(100, 100_000)
        summary = records.Summary.from_times(times)
        at = np.array((20, 150, 300, 470))
        np.testing.assert_allclose(
            summary.survival(at, len(times)), np.exp(-at / 100), rtol=0.05)


@ddt.ddt
class DataTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name, 'runs.csv')

    def test_a_later_command_adds(self):
        first = base.record([100, 200], seed=7)
        second = base.record([300], [310], seed=8)
        records.Data(self.path).add(first)
        again = records.Data(self.path)
        self.assertEqual([first], again.records)
        again.add(second)
        self.assertEqual([first, second], again.records)
        self.assertEqual([first, second], records.Data(self.path).records)

    def test_not_simulated(self):
        run = base.record([100], replayed=None)
        records.Data(self.path).add(run)
        self.assertEqual([run], records.Data(self.path).records)

    def test_columns(self):
        records.Data(self.path).add(base.record([100, 300], [110, 330]))
        with self.path.open() as file:
            row, = csv.DictReader(file)
        self.assertEqual(('200', '300', '220', '330'), (
            row['mean_us'], row['p100_us'], row['replay_mean_us'],
            row['replay_p100_us']))

    def test_write_replaces(self):
        records.Data(self.path).add(base.record([100], seed=1))
        records.write(self.path, [base.record([200], seed=2)])
        self.assertEqual(
            [2], [run.seed for run in records.Data(self.path).records])

    def test_other_columns(self):
        records.Data(self.path).add(base.record([100]))
        text = self.path.read_text()
        self.path.write_text(text.replace('p50_us', 'p51_us'))
        with self.assertRaisesRegex(records.BadData, 'has other columns'):
            records.Data(self.path)

    @ddt.data('', 'point,mean_us\na,1\n', b'\xff', 'header and half a row')
    def test_another_file(self, content):
        if content == 'header and half a row':
            content = ','.join(records.COLUMNS) + '\n2026,a\n'
        self.path.write_bytes(
            content if isinstance(content, bytes) else content.encode())
        with self.assertRaisesRegex(
                records.BadData, r'runs.csv is not a file of runs: .+\.  '
                'Name another file with --data.'):
            records.Data(self.path)
