# SPDX-License-Identifier: Apache-2.0

import contextlib
import json
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from paper import rtapp
from paper import rtwalk

#: Says what rt-app says, and then waits to be killed.
PROGRAM = """#!/bin/sh
{}
exec sleep 60 2> /dev/null
"""


class RunningTest(unittest.TestCase):

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name, 'rt-app')
        for patch in (
                mock.patch.dict(os.environ, PATH=(
                    f'{folder.name}:{os.environ["PATH"]}')),
                mock.patch.object(rtapp, '_UNDISTURBED', ())):
            patch.start()
            self.addCleanup(patch.stop)
        rtapp.loop_ns.cache_clear()
        self.addCleanup(rtapp.loop_ns.cache_clear)

    def says(self, *lines):
        self.program.write_text(PROGRAM.format('\n'.join(
            f'echo "{line}" >&2' for line in lines)))
        self.program.chmod(0o755)

    def test_all_tasks_have_begun(self):
        self.says(*['[rt-app] [0] starting thread ...'] * 4)
        with (mock.patch.object(rtapp, 'loop_ns', lambda _: 15),
              rtapp.running([(6000, 100_000)] * 4, 0) as process):
            os.kill(process, 0)
        with self.assertRaises(ProcessLookupError):
            os.kill(process, 0)

    def test_a_task_does_not_begin(self):
        self.program.write_text('#!/bin/sh\necho starting thread >&2\n')
        self.program.chmod(0o755)
        with (mock.patch.object(rtapp, 'loop_ns', lambda _: 15),
              contextlib.ExitStack() as stack,
              self.assertRaisesRegex(rtwalk.NotReady, 'rt-app')):
            stack.enter_context(rtapp.running([(6000, 100_000)] * 2, 0))

    def test_the_speed_is_that_of_the_calibration(self):
        self.program.write_text('#!/bin/sh\necho "pLoad = 17ns : x" >&2\n')
        self.program.chmod(0o755)
        self.assertEqual(17, rtapp.loop_ns(0))

    def test_no_speed(self):
        self.program.write_text('#!/bin/sh\necho "no" >&2\n')
        self.program.chmod(0o755)
        with self.assertRaisesRegex(rtwalk.NotReady, 'calibration'):
            rtapp.loop_ns(0)


class ConfigurationTest(unittest.TestCase):

    def test_the_papers_noise(self):
        found = json.loads(json.dumps(rtapp.configuration(
            [(6000, 100_000)] * 4, 1, 15, '/x')))
        self.assertEqual(
            {'instance': 4, 'loop': -1, 'cpus': [1], 'run': 6000, 'timer': {
                'ref': 'tick', 'period': 100_000, 'mode': 'relative'}},
            found['tasks']['noise'])
        self.assertEqual((15, -1), (found['global']['calibration'],
                                    found['global']['duration']))
