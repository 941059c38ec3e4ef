# SPDX-License-Identifier: Apache-2.0

"""The stored runs of benchmarks.chain, which the pages cite."""

import pathlib
import subprocess
import tempfile
import types
import unittest
from unittest import mock

import ddt

from benchmarks import chain
from paper import chain as paper_chain
from paper import facts
from rt_models.colocation import csvfile

RUNS = facts.rows(facts.CHAIN)


def rates(run):
    return [float(run[f'{name}_hz']) for name in ('least', 'reached', 'most')]


@ddt.ddt
class ChainTest(unittest.TestCase):

    def test_the_columns_are_those_of_the_benchmark(self):
        self.assertEqual([*chain.COLUMNS], [*RUNS[0]])

    @ddt.data(chain.QUOTA, chain.RESERVATION)
    def test_there_are_enough_runs(self, held):
        self.assertGreaterEqual(
            sum(run['held'] == held for run in RUNS), 3)

    def test_the_interval_holds_each_rate(self):
        """Neighbours that come later may take more from a full chain."""
        for run in RUNS:
            if run['held'] == chain.QUOTA:
                least, reached, most = rates(run)
                full = float(run['beside_hz']) < 1.1 * least
                self.assertLessEqual((0.85 if full else 1) * least, reached,
                                     run)
                self.assertLessEqual(reached, most, run)

    def test_with_reservations_the_prediction_is_within_a_tenth(self):
        for run in RUNS:
            if run['held'] == chain.RESERVATION:
                least, reached, most = rates(run)
                self.assertEqual(least, most)
                self.assertLess(abs(reached / most - 1), 0.1, run)


class TableTest(unittest.TestCase):

    def test_errors_are_relative_to_the_rate_that_was_reached(self):
        runs = [{'held': chain.QUOTA, 'load_average': load, 'least_hz': '50',
                 'beside_hz': beside, 'most_hz': '120', 'reached_hz': reached}
                for load, beside, reached in (('7.2', '90', '100'),
                                              ('3', '96', '120'),
                                              ('5', '66', '60'))]
        runs[-1]['least_hz'] = '61'
        self.assertEqual(
            'quota 3 3 to 7 0 to 100 % -20 to 10 % 2 of 3',
            ' '.join(paper_chain.text(runs).splitlines()[3].split()))

    def test_a_single_rate_is_no_interval(self):
        run = {'held': chain.RESERVATION, 'load_average': '1',
               'least_hz': '50', 'beside_hz': '50', 'most_hz': '50',
               'reached_hz': '40'}
        self.assertEqual('-', paper_chain.text([run]).split()[-7])


class RunTest(unittest.TestCase):

    def options(self, **given):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.data = pathlib.Path(folder, 'chain.csv')
        return types.SimpleNamespace(**{
            'reserved': False, 'busy': 0, 'data': self.data, 'runs': 2,
            'short': False} | given)

    def ran(self, options, *, measured=True):
        def measure(command, **_):
            if measured:
                csvfile.append(self.data, chain.COLUMNS, [
                    'now', chain.QUOTA, 0, 7, 50, 60, 70, 65])
            return subprocess.CompletedProcess(command, 1)

        with (mock.patch.object(subprocess, 'run', side_effect=measure) as run,
              mock.patch.object(paper_chain.room, 'require')):
            self.said = paper_chain.run(options)
        return [call.args[0] for call in run.mock_calls]

    def test_short_is_one_run(self):
        command, = self.ran(self.options(short=True, reserved=True))
        self.assertIn('--reserved', command)

    def test_a_rate_outside_of_the_limits_is_a_result(self):
        self.assertEqual(2, len(self.ran(self.options())))
        self.assertIn('2 of 2', self.said)

    def test_a_run_that_could_not_be_made_is_an_error(self):
        self.assertRaises(subprocess.CalledProcessError, self.ran,
                          self.options(), measured=False)

    def test_no_run_prints_the_table_only(self):
        self.assertEqual([], self.ran(self.options(runs=0)))
