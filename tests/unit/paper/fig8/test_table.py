# SPDX-License-Identifier: Apache-2.0

import pathlib
import tempfile
import unittest

import numpy as np

from nova_rt.rules import exception
from paper.fig8 import pairs
from paper.fig8 import records
from paper.fig8 import table
from paper import records as paper_records

#: The response times in us of each case.
TIMES = {('fair', 'no'): 100.0, ('fair', 'periodic'): 9000.0,
         ('reservation', 'no'): 200.0, ('reservation', 'periodic'): 206.0,
         ('reservation', 'greedy'): 208.0}


def run(case, number=0, factor=1.0, pair='paper'):
    return records.Run(
        'Linux 1.2', 'deadline', pair, *case, number, '2026-01-02T03:04Z',
        950_000, 50, 400.0, 100.0, 0.5, 0.0, 1.0,
        paper_records.Summary.from_times(
            np.full(50, factor * TIMES[case])))


class TableTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.runs = [run(case, number) for number in range(2)
                     for case in pairs.CASES]

    def ratios(self):
        return table.ratios(self.runs)

    def test_ratios(self):
        self.assertRegex(
            self.ratios(), r'Linux 1.2 +deadline +1400/2000 +24000/100000 '
            r'+0.95 +2 +1.030 \(1.030 to 1.030\) +1.040 .* +yes +43.7')

    def test_one_neighbour_beyond_the_bar_is_enough(self):
        self.runs[4] = run(('reservation', 'greedy'), factor=1.1)
        self.assertRegex(self.ratios(), r'1.092 \(1.040 to 1.144\) +no')

    def test_a_stall_in_one_run_is_in_the_spread(self):
        self.runs.extend(run(case, 2) for case in pairs.CASES)
        self.runs[3] = run(('reservation', 'periodic'), factor=9)
        self.assertRegex(self.ratios(), r'1.030 \(1.030 to 9.270\)')

    def test_without_the_fair_scheduler(self):
        self.runs = [one for one in self.runs if one.scheduler != 'fair']
        self.assertRegex(self.ratios(), 'yes +-')
        self.assertNotIn('fair', table.times(self.runs))

    def test_only_the_fair_scheduler(self):
        self.runs = [one for one in self.runs if one.scheduler == 'fair']
        self.assertNotIn('Linux', self.ratios())
        self.assertRegex(table.times(self.runs), 'fair +periodic +9000')

    def test_without_a_greedy_neighbour(self):
        self.runs = [one for one in self.runs if one.noise != 'greedy']
        self.assertRegex(self.ratios(), r'1.030 .* +- +yes +43.7')

    def test_times(self):
        text = table.times(self.runs)
        self.assertRegex(text, 'fair +periodic +9000 +9000 +9000 .* 10614')
        self.assertRegex(text, 'greedy +208 +208 +208 .* -\n')

    def test_times_of_another_scale_are_not_the_papers(self):
        self.runs = [run(case, pair='slower') for case in pairs.CASES]
        self.assertNotIn('10614', table.times(self.runs))

    def test_the_plot_shows_the_cases_that_have_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'a.png'
            table.plot(self.runs[2:5], path)
            self.assertTrue(path.stat().st_size)


class RecordsTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / 'a.csv'

    def test_what_is_added_is_read(self):
        self.assertEqual([], records.read(self.path))
        runs = [run(('fair', 'no')), run(('reservation', 'greedy'), 1)]
        for one in runs:
            records.add(self.path, one)
        self.assertEqual(runs, records.read(self.path))

    def test_another_file_is_refused(self):
        self.path.write_text('a,b\n')
        with self.assertRaisesRegex(exception.RTError, '--data'):
            records.read(self.path)
