# SPDX-License-Identifier: Apache-2.0

"""rt_operate.doctor.findings and .report: levels, wording, output."""

import json
import unittest

from nova_rt import version
from rt_operate.doctor import findings
from rt_operate.doctor import report

OK = findings.ok('a.fine', 'All is well.')
WARNING = findings.warning('b', 'Some ' * 20 + 'is not.', 'Do ' * 30 + 'it.')
PROBLEM = findings.problem('c', 'None is.', 'Run.')


class ReportTest(unittest.TestCase):

    def test_exit_status(self):
        for found, status in (([], 0), ([OK], 0), ([OK, WARNING], 1),
                              ([OK, WARNING, PROBLEM], 2), ([PROBLEM], 2)):
            self.assertEqual(status, findings.exit_status(found))

    def test_text(self):
        self.assertEqual("""\
PROBLEMS
  c       None is.
          -> Run.

WARNINGS
  b       Some Some Some Some Some Some Some Some Some Some Some Some
          Some Some Some Some Some Some Some Some is not.
          -> Do Do Do Do Do Do Do Do Do Do Do Do Do Do Do Do Do Do Do
             Do Do Do Do Do Do Do Do Do Do Do it.

OK
  a.fine  All is well.

1 problem, 1 warning, 1 OK""", report.text([OK, WARNING, PROBLEM], 70))

    def test_a_narrow_terminal(self):
        found = [findings.ok('a.very.long.name', 'Some ' * 10 + 'is.'),
                 PROBLEM]
        self.assertEqual("""\
PROBLEMS
  c
    None is.
    -> Run.

OK
  a.very.long.name
    Some Some Some Some Some Some Some
    Some Some Some is.

1 problem, 0 warnings, 1 OK""", report.text(found, 40))

    def test_empty_levels_are_left_out(self):
        self.assertEqual('OK\n  a.fine\n    All is well.\n\n'
                         '0 problems, 0 warnings, 1 OK',
                         report.text([OK], 20))

    def test_long_words_are_kept_whole(self):
        path = '/machine.slice/' + 'x-' * 60
        self.assertIn(path, report.text(
            [findings.ok('a', f'It is {path} there.')], 79))

    def test_json(self):
        self.assertEqual({
            'version': version.get(),
            'findings': [
                {'id': 'a.fine', 'level': 'OK', 'text': 'All is well.',
                 'remedy': None},
                {'id': 'c', 'level': 'problem', 'text': 'None is.',
                 'remedy': 'Run.'}],
            'summary': {'problems': 1, 'warnings': 0, 'ok': 1},
            'interface': 'hcbs', 'capacity_ppm': 5, 'of_each_pcpu': False,
        }, json.loads(report.as_json([OK, PROBLEM], 'hcbs', 5, False)))


class WordsTest(unittest.TestCase):

    def test_some(self):
        self.assertEqual('1, 2, 3', findings.first_few([1, 2, 3]))
        self.assertEqual('1, 2, 3 and 2 more',
                         findings.first_few([*range(1, 6)]))

    def test_shares(self):
        self.assertEqual('0.300 (300000 ppm)', findings.share(300_000))
        self.assertEqual('0.300 (300000 ppm)',
                         findings.shares((300_000,), (0, 1)))
        self.assertEqual(
            '0.300 (300000 ppm) on pCPUs 0,2, 0.100 (100000 ppm) on pCPU 3',
            findings.shares((300_000, 0, 300_000, 100_000), (0, 1, 2, 3)))

    def test_reason(self):
        for error, text in (
                (OSError(1, 'No', '/x'), '/x: No'), (OSError(1, 'No'), 'No'),
                (ValueError('a\n b.'), 'a b'), (ValueError(), 'ValueError'),
                (OSError('only text'), 'only text'),
                (KeyError('x'), "'x' is missing")):
            self.assertEqual(text, findings.reason(error))
