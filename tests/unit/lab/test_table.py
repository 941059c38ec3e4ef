# SPDX-License-Identifier: Apache-2.0

"""lab.table: the table of kernels, kept by what booted."""

import json
import pathlib
import tempfile
import unittest

from lab import jobs
from lab import programs
from lab import table
from lab import verdict

_DOCTOR = json.dumps({
    'findings': [{'id': 'kernel.interface', 'level': 'problem',
                  'text': 'There is none', 'remedy': None}],
    'summary': {'problems': 1, 'warnings': 0, 'ok': 3}, 'interface': None,
    'capacity_ppm': 950_000, 'of_each_pcpu': False,
}, indent=2)
_CONFORMANCE = json.dumps({'interface': 'hcbs', 'cases': [
    {'case': 'share', 'level': 'kept'}, {'case': 'cap', 'level': 'broken'},
], 'worst': 0.0012}, indent=2)
_SOAK = json.dumps({'operations': 3, 'sentence': '3 operations, 0 wrong'})


def booted(*results: jobs.Result, died: tuple[str, ...] = (),
           cgroup: str = 'v1', cpus: int = 2) -> verdict.Verdict:
    return verdict.Verdict(
        '/a/path', '5.10.1', cgroup, cpus, False, 7.0, 20.0,
        verdict.Outcome.PANIC if died else verdict.Outcome.PASSED, results,
        died, ())


class RowTest(unittest.TestCase):

    def test_what_was_found(self):
        found = booted(jobs.Result('doctor', 0, 1, f'noise\n{_DOCTOR}\n'),
                       jobs.Result('conformance', 1, 1, _CONFORMANCE),
                       jobs.Result('kernel', 0, 9, '', 5, 1, 2))
        self.assertEqual(
            ('HCBS', '5.10.1', 'v1', '2', 'host', 'processes', 'hcbs',
             '0.95 in all', '1 problems, 0 warnings. There is none',
             '1 kept, 1 broken (cap)', '0.0012',
             'kernel: 5 passed, 1 failed, 2 skipped', '-', 'passed'),
            table.row('HCBS', found))

    def test_long_runs(self):
        found = booted(jobs.Result('soak', 0, 1, f'12.0 start\n{_SOAK}\n'),
                       jobs.Result('releases', 1, 1, 'Traceback'),
                       jobs.Result('demo', 0, 1, 'as it should be'),
                       jobs.Result('command', None, 0, ''))
        self.assertEqual(
            'soak: 3 operations, 0 wrong; releases: failed; demo: passed; '
            'command: did not end', table.row('HCBS', found).tests)

    def test_sold_by_a_kernel_that_conformance_prepares(self):
        """doctor, which writes nothing, knows no or the wrong number."""
        tried = jobs.Result('conformance', 0, 1, json.dumps({
            'interface': 'rt_max_cpuset', 'capacity_ppm': 950_000,
            'of_each_pcpu': True}, indent=2))
        for ppm in (None, 0):
            doctor = jobs.Result('doctor', 0, 1, json.dumps({
                'interface': None, 'capacity_ppm': ppm,
                'of_each_pcpu': True}, indent=2))
            with self.subTest(ppm):
                self.assertEqual('0.95 of each', table.row('k', booted(
                    doctor, tried)).sells)

    def test_guests(self):
        """The table has the trials, the proofs, and the worst share of all."""
        found = booted(
            jobs.Result('pinned', 0, 1, '{}'),
            jobs.Result('tcg', 1, 1, json.dumps({'worst': 0.2}, indent=1)),
            jobs.Result('kvm-plain', 0, 1,
                        json.dumps({'worst': 0.0003}, indent=1)),
            jobs.Result('kvm-costs', 0, 1, '{}'),
            jobs.Result('demo', None, 0, ''))
        row = table.row('k', found)
        self.assertEqual(('processes, TCG, KVM', '0.2000', 'lab, KVM'),
                         (row.guests, row.within, row.proven))

    def test_death(self):
        found = booted(jobs.Result('doctor', None, 0, '{\n cut'),
                       died=('kernel BUG at x', 'panic'))
        self.assertEqual(
            ('-', 'none', '-', '-', '-', '-', '-', '-', 'kernel BUG at x'),
            table.row('HCBS', found)[5:])


class RecordTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = pathlib.Path(directory.name, 'kernels.csv')

    def test_one_row_for_each(self):
        table.record(self.path, 'b', booted(died=('x, "y"',)))
        table.record(self.path, 'a', booted())
        table.record(self.path, 'b', booted(cgroup='v2'))
        table.record(self.path, 'b', booted(cpus=4))
        table.record(self.path, 'b', booted(died=('x, "z"',)))
        self.assertEqual(
            [('a', 'v1', '2', 'passed'), ('b', 'v1', '2', 'x, "z"'),
             ('b', 'v1', '4', 'passed'), ('b', 'v2', '2', 'passed')],
            [(one.kernel, one.cgroup, one.cpus, one.outcome)
             for one in table.parse(self.path.read_text())])

    def test_another_file(self):
        self.path.write_text('a,b\n')
        with self.assertRaisesRegex(programs.LabError, 'not a table'):
            table.record(self.path, 'a', booted())
        self.assertEqual('a,b\n', self.path.read_text())
