# SPDX-License-Identifier: Apache-2.0

import dataclasses
import pathlib
import tempfile
import unittest

from nova_rt.rules import report
from rt_monitor import compute
from rt_monitor import exposition

REPORT = report.Report(
    at=1000.5, version='0.1.0', interface='sched_deadline', reason='',
    offered=1_900_000, claimed=500_000, strangers=250_000, servers=2,
    stranger_guests=1, unserved=0, findings=3,
    refused={report.NO_ROOM: 4}, corrected=5, missed=6)


class ComputeTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / 'report.json'

    def read(self):
        return exposition.text(compute.families(str(self.path))).splitlines()

    def test_the_numbers(self):
        self.path.write_text(report.dump(REPORT))
        lines = self.read()
        for line in (
                'nova_rt_compute_offered_share 1.9',
                'nova_rt_compute_claimed_share 0.5',
                'nova_rt_compute_strangers_share 0.25',
                'nova_rt_compute_findings 3',
                'nova_rt_compute_corrected_total 5',
                'nova_rt_compute_missed_total 6',
                'nova_rt_compute_refused_total{reason="no_room"} 4',
                'nova_rt_compute_refused_total{reason="flavor"} 0',
                'nova_rt_compute_report{state="on",reason=""} 1'):
            self.assertIn(line, lines)

    def test_why_a_host_offers_nothing(self):
        self.path.write_text(report.dump(dataclasses.replace(
            REPORT, offered=0, reason='no "interface"')))
        self.assertIn(
            'nova_rt_compute_info{version="0.1.0",interface="sched_deadline",'
            'reason="no \\"interface\\""} 1', self.read())

    def test_no_report(self):
        """Without a report, the number is left out: 0 would be false."""
        self.assertEqual(
            ['nova_rt_compute_report{state="off",'
             'reason="No such file or directory"} 1'], self.read()[2:])
        self.assertEqual([], list(compute.families('')))

    def test_a_damaged_report(self):
        for text in ('', '{', '[]', '{"at": 1}', '7'):
            self.path.write_text(text)
            lines = self.read()
            self.assertEqual(3, len(lines), text)
            self.assertIn('state="off"', lines[2])

    def test_a_report_of_a_later_version(self):
        text = report.dump(REPORT)
        self.assertEqual(REPORT, report.load(
            text.replace('{', '{"new": 1, ', 1)))
