# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.trial.busy: processes that use what they get."""

import os
import pathlib
import unittest

from nova_rt.machine.trial import busy


class BusyTest(unittest.TestCase):

    def start(self, seconds=60.0):
        found = busy.Busy(os.sched_getaffinity(0), seconds)
        self.addCleanup(found.end)
        return found

    def test_uses_cpu_time(self):
        process = self.start()
        before = process.used_ns()
        while process.used_ns() == before:
            pass
        self.assertGreater(busy.share(process, 0.01), -1e-9)

    def test_killed(self):
        process = self.start()
        process.kill()
        self.assertFalse(pathlib.Path(f'/proc/{process.pid}').exists())

    def test_ends_by_itself(self):
        process = self.start(0.01)
        self.assertEqual(process.pid, os.waitid(
            os.P_PID, process.pid, os.WEXITED | os.WNOWAIT).si_pid)
        process.ordinary()

    def test_pinned(self):
        process = self.start()
        cpu = min(os.sched_getaffinity(0))
        process.pin({cpu})
        self.assertEqual({cpu}, os.sched_getaffinity(process.pid))
