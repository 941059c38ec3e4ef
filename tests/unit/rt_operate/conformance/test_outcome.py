# SPDX-License-Identifier: Apache-2.0

"""rt_operate.conformance: how observations are judged and told."""

import json
import pathlib
import tempfile
import unittest

from hypothesis import given
from hypothesis import strategies as st

from nova_rt.rules import exception
from rt_operate.conformance import outcome
from rt_operate.conformance import report

Level = outcome.Verdict

FACTS = report.Facts('rt_group_sched', '6.18.0', 1, 950_000, False)
FOUND = [outcome.CaseOutcome('share', Level.KEPT, 'a 0.4010 of 0.400'),
         outcome.CaseOutcome('re-use', Level.BROKEN, 'the kernel refused: x')]


def judge(found: float, known: str = '') -> outcome.CaseOutcome:
    return outcome.judge_shares('c', {'a': 0.4, 'b': 0.1},
                                {'a': found, 'b': 0.1}, 0.02, known)


class JudgeTest(unittest.TestCase):

    @given(st.floats(0, 1))
    def test_kept_where_near(self, found):
        near = abs(found - 0.4) <= 0.02
        self.assertIs(Level.KEPT if near else Level.BROKEN,
                      judge(found).level)

    def test_known(self):
        self.assertIs(Level.KNOWN, judge(0, 'it only caps').level)
        self.assertIs(Level.KEPT, judge(0.4, 'it only caps').level)

    def test_figures(self):
        self.assertEqual('a 0.4012 of 0.400, b 0.1000 of 0.100',
                         judge(0.4012).observed)


class WorstTest(unittest.TestCase):

    def test_the_farthest_share(self):
        found = [judge(0.401), judge(0.397), *FOUND]
        self.assertAlmostEqual(0.003, outcome.worst(found))

    def test_what_is_not_promised_does_not_count(self):
        self.assertAlmostEqual(
            0.001, outcome.worst([judge(0, 'it only caps'), judge(0.401)]))

    def test_none_was_measured(self):
        self.assertIsNone(outcome.worst(FOUND))


class ReportTest(unittest.TestCase):

    def test_worst(self):
        found = [judge(0.4012), *FOUND]
        self.assertTrue(report.as_text(FACTS, found).endswith(
            ', shares within 0.0012 of a CPU'))
        self.assertEqual(
            0.0012, json.loads(report.as_json(FACTS, found))['worst'])

    def test_text(self):
        text = report.as_text(FACTS, FOUND)
        self.assertIn('rt_group_sched on Linux 6.18.0, cgroup v1, 950000 ppm '
                      'in all\n', text)
        self.assertIn('broken  re-use  the kernel refused: x', text)
        self.assertTrue(text.endswith(
            '1 kept, 0 known, 1 broken, 0 skipped'))

    def test_json(self):
        found = json.loads(report.as_json(FACTS, FOUND))
        self.assertEqual(('rt_group_sched', 'broken'),
                         (found['interface'], found['cases'][1]['level']))


class LogTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name, 'log')

    def test_lines_are_there_at_once(self):
        log = report.Log(self.path)
        log.write('share: begins')
        self.assertEqual('conformance: begins\nshare: begins\n',
                         self.path.read_text())

    def test_cannot_be_written(self):
        with self.assertRaisesRegex(exception.InvalidConfiguration,
                                    'cannot be written'):
            report.Log(self.path / 'below')
