# SPDX-License-Identifier: Apache-2.0

"""demo.report: what all acts found, in one file."""

import contextlib
import io
import json
import pathlib
import tempfile
import unittest

from demo import acts
from demo import report

_MACHINES = acts.Act('qemu', 'sched_deadline')
_CONTAINERS = acts.Act('lxc', None)


class ReportTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.report = report.Report(0.01)
        self.printed = io.StringIO()
        silence = contextlib.redirect_stdout(self.printed)
        silence.__enter__()
        self.addCleanup(silence.__exit__, None, None, None)

    def written(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, 'report.json')
            self.report.write(path)
            return json.loads(path.read_text())

    def test_each_entry_names_its_guests(self):
        for act in (_MACHINES, _CONTAINERS):
            self.report.begin(act)
            self.assertEqual(act is _MACHINES, self.report.is_first_act)
            self.report.refused('openstack ...', 'no room')
            self.report.took('cloud', 1.25)
        self.report.close(7)
        found = self.written()
        self.assertEqual({'qemu': 'sched_deadline', 'lxc': 'probed'},
                         found['guests'])
        self.assertEqual(['qemu', 'lxc'],
                         [each['guest'] for each in found['refused']])
        self.assertEqual({'qemu': {'cloud': 1.2}, 'lxc': {'cloud': 1.2},
                          'total': 7}, found['seconds'])
        self.assertIn('All as it should be after 7 s',
                      self.printed.getvalue())

    def test_an_act_that_is_left_out_is_no_failure(self):
        self.report.begin(_MACHINES)
        self.report.skip(_CONTAINERS, 'This kernel has no budgets.')
        self.assertFalse(self.report.failed)
        self.assertEqual({'lxc': 'This kernel has no budgets.'},
                         self.written()['skipped'])

    def test_what_is_left_over_in_any_act_fails(self):
        for act, left in ((_MACHINES, 1), (_CONTAINERS, 0)):
            self.report.begin(act)
            self.report.leftovers(claims=0, budgets=left)
        self.assertTrue(self.report.failed)
        self.assertEqual({'claims': 0, 'budgets': 1},
                         self.written()['leftovers'])
        self.assertEqual(['qemu: budgets that are left: 1'],
                         self.written()['problems'])

    def test_problems_are_repeated_before_the_verdict(self):
        self.report.begin(_MACHINES)
        self.report.problem('rt1 does not boot')
        self.report.close(7)
        self.assertEqual(['PROBLEM: qemu: rt1 does not boot',
                          'FAILED after 7 s'],
                         self.printed.getvalue().splitlines()[-2:])
