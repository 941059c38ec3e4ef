# SPDX-License-Identifier: Apache-2.0

"""lab.verdict and lab.jobs: what came out of a machine."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from lab import jobs
from lab import programs
from lab import verdict

Outcome = verdict.Outcome

_CONSOLE = """\
[    1.0] WARNING: CPU: 0 PID: 1 at kernel/sched/deadline.c:1 x+0x1/0x2
[    2.0] WARNING: CPU: 0 PID: 1 at kernel/sched/deadline.c:1 x+0x1/0x2
[    3.0] kernel BUG at kernel/sched/deadline.c:899!
[    3.1] Kernel panic - not syncing: Fatal exception in interrupt
"""
_STESTR = """\
======
Totals
======
Ran: 7 tests in 1.0 sec.
 - Passed: 4
 - Skipped: 1
 - Expected Fail: 0
 - Unexpected Success: 0
 - Failed: 2
Sum of execute time for each test: 1.0 sec.
"""


def result(status: int | None = 0) -> jobs.Result:
    return jobs.Result('unit', status, 3, 'a\nb\n', 4, 2, 1)


class ConsoleTest(unittest.TestCase):

    def test_death_and_warnings_once_each(self):
        self.assertEqual(
            ('kernel BUG at kernel/sched/deadline.c:899!',
             'Kernel panic - not syncing: Fatal exception in interrupt'),
            verdict.deaths(_CONSOLE))
        self.assertEqual(1, len(verdict.warnings(_CONSOLE)))

    def test_without_verbose_bugs(self):
        self.assertEqual(
            ('Kernel BUG at replenish_dl_entity+0x100/0x180',),
            verdict.deaths('Kernel BUG at replenish_dl_entity+0x100/0x180'))

    def test_quiet(self):
        self.assertEqual(((), ()), (verdict.deaths('[1.0] Debugging'),
                                    verdict.warnings('')))


class JudgeTest(unittest.TestCase):

    def test_worst_counts(self):
        judge = verdict.judge
        failed = [result(), result(1)]
        self.assertIs(Outcome.PANIC, judge(failed, ['BUG'], False, False))
        self.assertIs(Outcome.TIMEOUT, judge(failed, [], False, True))
        self.assertIs(Outcome.NO_BOOT, judge([result(None)], [], True, False))
        self.assertIs(Outcome.FAILED, judge(failed, [], True, True))
        self.assertIs(Outcome.FAILED, judge([result(None)], [], True, True))
        self.assertIs(Outcome.PASSED, judge([result()], [], True, True))

    def test_status_of_bad_input_is_of_no_outcome(self):
        self.assertNotIn(2, list(Outcome))


class ReportTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        self.verdict = verdict.Verdict(
            'debian:12', '6.1.0', 'v2', 1, True, 7.4, 21.0, Outcome.FAILED,
            (result(1),), (), ('WARNING: x',))

    def test_json(self):
        found = json.loads(verdict.as_json(self.verdict))
        self.assertEqual(('failed', 4), (found['outcome'],
                                         found['results'][0]['passed']))

    def test_text(self):
        self.assertEqual([
            'debian:12: 6.1.0, cgroup v2, CPUs: 1 by icount, ready after 7 s',
            'unit: exit status 1 in 3 s, 4 passed, 2 failed, 1 skipped',
            '    a', '    b', 'warned: WARNING: x', 'failed in 21 s'],
            verdict.as_text(self.verdict).splitlines())


class JobsTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def test_counts(self):
        (self.directory / '00-unit.output').write_text(_STESTR)
        (self.directory / '00-unit.status').write_text('1 12\n')
        self.assertEqual(
            jobs.Result('unit', 1, 12, _STESTR, 4, 2, 1),
            jobs.read(self.directory, '00-unit'))

    def test_cut_off(self):
        (self.directory / '00-unit.output').write_text('begun')
        (self.directory / '00-unit.status').write_text('')
        self.assertEqual(jobs.Result('unit', None, 0, 'begun'),
                         jobs.read(self.directory, '00-unit'))

    def test_words_of_a_command_stay_apart(self):
        self.assertEqual("echo 'a b' ';'",
                         jobs.script(jobs.COMMAND, ['echo', 'a b', ';']))

    def test_a_cloud_that_fails_brings_its_logs(self):
        script = jobs.script('demo').replace(
            'tools/demo.sh', 'mkdir -p .cloud/log; touch .cloud/log/nova.log;'
            ' sh -c "exit 7" --').replace('/lab/out', '.')
        done = subprocess.run(['bash', '-c', script], cwd=self.directory)
        self.assertEqual(7, done.returncode)
        self.assertTrue((self.directory / 'log' / 'nova.log').exists())

    def test_unknown(self):
        with self.assertRaisesRegex(programs.LabError, 'speed is not a test'):
            jobs.script('speed')
