# SPDX-License-Identifier: Apache-2.0

"""Tests real processes of the kinds that services are, without a cloud."""

import os
import pathlib
import tempfile
import time

from oslotest import base as test_base

from tests.cloud import base

# The worker overwrites the environment that would identify it, and ignores
# SIGTERM.
SERVICE = '''
env -i sh -c 'trap "" TERM; while :; do sleep 1; done' &
echo $!
wait
'''
PATIENCE = 10
MARK = 'NOVA_RT_TEST_PROCESSES'


class ProcessesTestCase(test_base.BaseTestCase):

    def setUp(self) -> None:
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.log = pathlib.Path(directory.name) / 'log'
        self.service = base.processes.Process(
            pathlib.Path(directory.name) / 'service.pid')
        self.service.start(['sh', '-c', SERVICE],
                           {**os.environ, MARK: directory.name}, self.log)
        self.addCleanup(lambda: base.processes.kill(self.session))
        self._eventually('the worker runs', self.log.read_text)
        self.session = self.service.session()

    def test_a_worker_does_not_outlive_its_service(self) -> None:
        self.assertGreater(len(self.session), 1)
        base.processes.end_sessions([self.service], PATIENCE)
        self._eventually('all have ended', lambda: not any(
            map(base.processes.start_time, self.session)))

    def test_what_is_known_of_a_process(self) -> None:
        pid, mark = self.service.pid, base.processes.variable
        directory = str(self.log.parent)
        self.assertEqual(directory, mark(pid, MARK))
        self.assertIn(pid, base.processes.marked(MARK, directory))
        self.assertGreater(base.processes.memory_kib(pid), 0)

    def test_what_is_known_of_one_that_has_ended(self) -> None:
        pid = self.service.pid
        base.processes.kill(self.session)
        self._eventually('it has ended', lambda: not self.service.pid)
        base.processes.reap()
        self.assertEqual((None, 0, None), (
            base.processes.variable(pid, MARK),
            base.processes.memory_kib(pid), base.processes.start_time(pid)))
        self.assertEqual([], base.processes.marked(
            MARK, str(self.log.parent)))

    def _eventually(self, what: str, reached) -> None:
        deadline = time.monotonic() + PATIENCE
        while not reached():
            if time.monotonic() > deadline:
                self.fail(f'never: {what}')
            time.sleep(0.05)
