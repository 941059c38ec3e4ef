# SPDX-License-Identifier: Apache-2.0

"""tests.full.kernel.hotplug: a write to ``online`` that never returns."""

import os
import pathlib
import tempfile
import threading
import unittest
from unittest import mock

from tests.full.kernel import hotplug


class SwitchTest(unittest.TestCase):

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.cpus = pathlib.Path(directory.name)
        (self.cpus / 'cpu3').mkdir()
        self.file = self.cpus / 'cpu3/online'
        for name, new in (('_CPUS', self.cpus), ('_PATIENCE_SECONDS', 0.2)):
            patch = mock.patch.object(hotplug, name, new)
            patch.start()
            self.addCleanup(patch.stop)

    def test_the_write_returns(self) -> None:
        self.file.write_text('1')
        with mock.patch.object(hotplug, '_PATIENCE_SECONDS', 30):
            self.assertTrue(hotplug.switch(3, 0))
        self.assertEqual('0\n', self.file.read_text())

    def test_the_write_never_returns(self) -> None:
        """A thread that waits in the kernel would keep this process."""
        os.mkfifo(self.file)  # A write waits for a reader.
        self.assertFalse(hotplug.switch(3, 0))
        self.assertEqual(1, threading.active_count())
        self.file.read_text()  # ends the writer


class StepsTest(unittest.TestCase):

    def steps(self, *returns: bool) -> dict[str, object]:
        trial = mock.Mock(last=3, sold=[mock.Mock(), mock.Mock()])
        with mock.patch.object(hotplug, 'switch', side_effect=returns), \
                mock.patch.object(hotplug, '_doctor', return_value=[]):
            return hotplug.Trial.steps(trial)

    def test_nothing_is_tried_after_a_write_that_never_returns(self) -> None:
        self.assertEqual(['before', 'offline: the write returned'],
                         list(self.steps(False)))

    def test_all_steps(self) -> None:
        self.assertEqual('online, after the audit',
                         list(self.steps(True, True))[-1])
