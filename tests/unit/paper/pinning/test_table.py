# SPDX-License-Identifier: Apache-2.0

"""Tests how the reserved way is judged."""

import pathlib
import tempfile
import unittest

import ddt

from paper.pinning import records
from paper.pinning import table


@ddt.ddt
class TableTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.path = pathlib.Path(folder, 'x.csv')

    def _data(self, reserved, vanilla=((2.0, 1.0),) * 5):
        data = records.Data(self.path)
        for way, values in (('reserved', reserved), ('vanilla', vanilla)):
            for wall, cpu in values:
                data.add('ffmpeg', way, wall, cpu)
        return data

    @ddt.data(
        (((1.7, 1.0),) * 5, True),
        (((1.71, 1.0),) * 5, False),
        (((1.0, 1.01),) * 5, False),
        (((1.0, 0.9),) * 4, False),
        (((1.0, 0.9), (1.0, 0.9), (1.3, 0.9), (1.0, 0.9), (1.0, 0.9)),
         False))
    @ddt.unpack
    def test_all_bars_count(self, reserved, met):
        (found,) = table.judged(self._data(reserved))
        self.assertEqual(('ffmpeg', met), (found[0], found[2]))

    def test_what_is_missing_has_no_row(self):
        self.assertEqual([], [*table.judged(self._data((), ((1, 1),)))])

    def test_table(self):
        text = table.text(self._data(((1.0, 0.9),) * 5))
        self.assertRegex(text, r'ffmpeg +reserved +5 +1.000 +0.0 % +0.50 +'
                         r'0.900 +0.0 % +0.90\n')

    def test_data_are_read_again(self):
        data = self._data(((1.25, 0.5),))
        self.assertEqual(data.records, records.Data(self.path).records)
        self.path.write_text('a\n')
        with self.assertRaisesRegex(records.BadData, 'other columns'):
            records.Data(self.path)
