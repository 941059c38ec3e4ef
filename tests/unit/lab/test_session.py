# SPDX-License-Identifier: Apache-2.0

"""lab.session: the commands to the machine."""

import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

from lab import jobs
from lab import machine
from lab import session


class SettingsTest(unittest.TestCase):

    @staticmethod
    def told(wanted: machine.Machine) -> str:
        """Returns what a shell in the machine makes of it."""
        return subprocess.run(
            ['/bin/sh', '-c', session.settings(wanted) + (
                'echo $KVM $CGROUP "$NOVA_RT_LAB_CLOCK" '
                '$NOVA_RT_LAB_TOLERANCE '
                '"${NOVA_RT_DAY-no day}" "${NOVA_RT_STOCK-a sample}" '
                '"${NOVA_RT_TESTS-all tests}"')],
            env={}, text=True, check=True, stdout=subprocess.PIPE).stdout

    def test_clock_and_tolerance(self):
        with mock.patch.dict(os.environ, clear=True):
            self.assertEqual(
                '1 v2 --deterministic 0.005 no day a sample all tests\n',
                self.told(machine.Machine(cpus=1, cgroup='v2', icount=True,
                                          kvm=True)))
            self.assertEqual(
                '1 v2  0.02 no day a sample all tests\n',
                self.told(machine.Machine(cpus=2, cgroup='v2', icount=True,
                                          kvm=True)))

    def test_choice_of_tests(self):
        with mock.patch.dict(os.environ, NOVA_RT_DAY='2026-01-31',
                             NOVA_RT_STOCK='1', NOVA_RT_TESTS='two|no_room'):
            self.assertEqual('0 v1  0.05 2026-01-31 1 two|no_room\n',
                             self.told(machine.Machine()))

    def test_cloud_job_runs_the_chosen_tests(self):
        for choice, words in (({}, 'run --serial'),
                              ({'NOVA_RT_TESTS': 'two|no_room'},
                               'run --serial two|no_room')):
            ran = subprocess.run(
                ['/bin/bash', '-c', 'stestr() { echo "$@"; }; cp() { :; }; '
                 + jobs.script('cloud')],
                env=choice, text=True, check=True, stdout=subprocess.PIPE)
            self.assertEqual(f'--test-path tests/cloud {words}\n', ran.stdout)


class DatabasesTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name, 'kept')
        self.target = pathlib.Path(directory.name, 'databases')

    def give(self) -> mock.Mock:
        with (mock.patch.object(session.kept, 'root', lambda: self.root),
              mock.patch.object(session.programs, 'run') as run):
            session._give_databases(self.target)
        return run

    def test_machine_has_those_of_this_machine(self):
        (self.root / 'key').mkdir(parents=True)
        (self.root / 'key' / 'nova.db').write_text('made')
        run = self.give()
        self.assertEqual('databases', run.call_args.args[0][1])
        self.assertEqual('made',
                         (self.target / 'key' / 'nova.db').read_text())

    def test_none_were_kept(self):
        self.give()
        self.assertFalse(self.target.exists())
