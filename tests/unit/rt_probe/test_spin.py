# SPDX-License-Identifier: Apache-2.0

"""Bursts that really run, with the CPU time that this machine has."""

import os
import signal
import threading
import time

from oslotest import base

from rt_probe import errors
from rt_probe import spin

_MS = 1_000_000
ORDER = spin.Order(False, 20 * _MS, 4 * _MS, None)
#: Nothing that it sees makes it stop before its time.
ENDLESS = spin.Order(False, 4_000 * _MS, 4 * _MS, time.thread_time_ns)


class BurstTest(base.BaseTestCase):

    def test_trace(self):
        trace = spin.Burst(ORDER).run()
        self.assertGreater(trace.cpu_ns, 0)
        self.assertLessEqual(trace.cpu_ns, trace.wall_ns + 50 * _MS)
        self.assertEqual(sorted(gap.begin_ns for gap in trace.gaps),
                         [gap.begin_ns for gap in trace.gaps])

    def test_ends_when_it_is_told_to(self):
        burst = spin.Burst(ENDLESS)
        children = []

        def end():
            children.append(burst._child)
            burst.end()
        timer = threading.Timer(0.1, end)
        timer.start()
        error = self.assertRaises(errors.ProbeError, burst.run)
        self.assertEqual('the burst was ended from outside', str(error))
        timer.join()
        self.assertRaises(ChildProcessError, os.waitpid, children[0], 0)

    def test_orphan(self):
        """A burst whose probe was killed by SIGKILL stops at its next gap."""
        order = spin.Order(False, None, 4 * _MS, time.thread_time_ns)
        trace = spin._spin(order, parent=-1)
        self.assertIn(trace.stopped, ('the probe has ended', ''))

    def test_vnf_that_becomes_busy(self):
        """From some moment on, others use all the CPU time of the group."""
        begin = time.monotonic_ns()

        def used_ns():
            passed = time.monotonic_ns() - begin
            time.sleep(0.001)
            return passed
        trace = spin._spin(spin.Order(False, 100 * _MS, 4 * _MS, used_ns),
                           os.getppid())
        self.assertEqual('the VNF became busy', trace.stopped)

    def test_error_of_reading_is_a_sentence(self):
        def used_ns():
            raise OSError(19, 'the group is gone')
        error = self.assertRaises(errors.ProbeError, spin.Burst(
            spin.Order(False, None, 4 * _MS, used_ns)).run)
        self.assertEqual('the group is gone', str(error))

    def test_no_right(self):
        """A user without RLIMIT_RTPRIO may not run real-time tasks."""
        if os.geteuid():
            self.skipTest('only root can become somebody without rights')
        pid = os.fork()
        if not pid:
            os._exit(self._unprivileged())
        self.assertEqual(0, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    @staticmethod
    def _unprivileged():
        os.setgid(65534)
        os.setuid(65534)
        try:
            spin.Burst(spin.Order(True, None, 4 * _MS, None)).run()
        except errors.ProbeError as error:
            return int('may not use SCHED_RR' not in str(error))
        return 2

    def test_sigterm(self):
        """The child does not inherit the signal handlers of the probe."""
        ready, spins = os.pipe()

        def used_ns():
            os.write(spins, b'.')
            return time.thread_time_ns()
        pid = os.fork()
        if not pid:
            signal.signal(signal.SIGTERM, lambda *_: None)
            spin._child(spin.Order(False, None, 4 * _MS, used_ns), spins)
        os.read(ready, 1)
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(-signal.SIGTERM, os.waitstatus_to_exitcode(
            os.waitpid(pid, 0)[1]))
        os.close(ready)
        os.close(spins)
