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
            self.assertEqual('returned', hotplug.switch(3, 0))
        self.assertEqual('0', self.file.read_text())

    def test_the_write_is_refused(self) -> None:
        self.file.symlink_to('/dev/full')
        with mock.patch.object(hotplug, '_PATIENCE_SECONDS', 30):
            self.assertEqual('is refused (ENOSPC)', hotplug.switch(3, 0))

    def test_the_write_never_returns(self) -> None:
        """A thread that waits in the kernel would keep this process."""
        os.mkfifo(self.file)  # A write waits for a reader.
        self.assertEqual('does not return', hotplug.switch(3, 0))
        self.assertEqual(1, threading.active_count())
        self.file.read_text()  # ends the writer


class StepsTest(unittest.TestCase):

    def steps(self, *outcomes: str) -> list[str]:
        trial = mock.MagicMock(last=3, sold=[mock.Mock(), mock.Mock()])
        with mock.patch.object(hotplug, 'switch', side_effect=outcomes), \
                mock.patch.object(hotplug, '_doctor', return_value=[]):
            return list(hotplug.Trial.steps(trial))

    def test_nothing_is_tried_after_a_write_that_never_returns(self) -> None:
        self.assertEqual(['before', 'offline: the write'],
                         self.steps('does not return'))

    def test_a_refused_write_leaves_the_reservations(self) -> None:
        self.assertEqual(['before', 'offline: the write', 'holds'],
                         self.steps('is refused (EBUSY)'))

    def test_all_steps(self) -> None:
        self.assertEqual(['online, after the audit', 'holds'],
                         self.steps('returned', 'returned')[-2:])
