# SPDX-License-Identifier: Apache-2.0

"""All bars in one table."""

import pathlib
import tempfile
import unittest

from paper import placing

_PAGES = pathlib.Path(__file__).parents[3] / 'doc/source/experiments'


class PlacingTest(unittest.TestCase):

    def test_what_was_not_measured_is_said_and_not_met(self):
        folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        found = [*placing.rows(folder)]
        missing = [row for row in found if row[2] == 'not measured']
        self.assertEqual({'no'}, {row[3] for row in missing})
        self.assertEqual(len(found), len(missing))

    def test_goals_of_benchmarks(self):
        folder = pathlib.Path(self.enterContext(
            tempfile.TemporaryDirectory()))
        (folder / 'weigher.txt').write_text(
            '1000 hosts:\n  RTCHRWeigher     1.00 us/host\n'
            '  met    us a host: 0.08, at most 0.10\n'
            '  MISSED pass: with / without: 1.20, at most 1.05\n')
        found = [*placing.rows(folder)][-2:]
        self.assertEqual([
            ('us a host', 'at most 0.10', '0.08', 'yes',
             'benchmarks/weigher.py'),
            ('pass: with / without', 'at most 1.05', '1.20', 'no',
             'benchmarks/weigher.py')], found)

    def test_each_bar_has_stored_data(self):
        self.assertNotIn('not measured', [
            row[2] for row in placing.rows(_PAGES)])
