# SPDX-License-Identifier: Apache-2.0

"""Judging what was measured, and the published data."""

import contextlib
import io
import pathlib

import ddt
import fixtures
from oslotest import base

from paper.probe import campaign
from paper.probe import records
from paper.probe import table

PAGES = pathlib.Path(__file__).parents[4] / 'doc/source/experiments'


@ddt.ddt
class TableTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.path = pathlib.Path(self.useFixture(fixtures.TempDir()).path,
                                 'probe.csv')

    def verdict(self, row, *pairs, **kwargs):
        data = records.Data(self.path)
        with contextlib.redirect_stdout(io.StringIO()):
            for number, (value, truth) in enumerate(pairs):
                data.add(records.Record(row, f'#{number}', value, truth,
                                        **kwargs))
        return {cells[0]: cells[-1] for cells in table.rows(
            records.Data(self.path))}[row]

    @ddt.data(
        ('throttled', [(0.31, 0.3), (0.5, 0.5)], 'yes'),
        ('throttled', [(0.31, 0.3), (0.53, 0.5)], 'no'),
        ('throttled', [(0.3, 0.3), (None, 0.5)], 'no'),
        ('burst', [(0.3, 0.3)] * 9 + [(0.32, 0.3)], 'yes'),
        ('burst', [(0.3, 0.3), (None, 0.5)], 'yes'),
        ('burst', [(0.3, 0.3)] * 9 + [(0.34, 0.3)], 'no'),
        ('halved', [(0.9, None)] * 10, 'yes'),
        ('halved', [(0.9, None)] * 9 + [(None, None)], 'no'),
        ('halved', [(None, None)], 'no'), ('throttled', [(None, 1)], 'no'),
        ('burst', [(None, 1)], 'no'),
        ('alarms', [(0.0, None)] * 10, 'yes'),
        ('alarms', [(0.0, None)] * 9, 'no'),
        ('alarms', [(0.0, None)] * 9 + [(1.0, None)], 'no'),
        ('pod', [(-40, -38.5)], 'yes'), ('pod', [(-44.6, -36.2)], 'no'))
    @ddt.unpack
    def test_bar(self, row, pairs, met):
        self.assertEqual(met, self.verdict(row, *pairs))

    def test_interval(self):
        self.verdict('burst', (0.3, 0.3), lower=0.2, upper=0.4)
        self.verdict('throttled', (0.3, 0.5), lower=0.2, upper=0.4)
        self.assertIn('50.0 %', table.text(records.Data(self.path)))

    def test_not_measured(self):
        self.assertEqual({'no'}, {cells[-1] for cells in table.rows(
            records.Data(self.path))})

    def test_other_file(self):
        self.path.write_text('a,b\n1,2\n')
        self.assertRaises(records.BadData, records.Data, self.path)

    def test_published(self):
        """The stored data have all rows."""
        data = records.Data(PAGES / 'probe.csv')
        self.assertEqual({*campaign.ROWS},
                         {one.row for one in data.records})
