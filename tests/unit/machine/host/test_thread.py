# SPDX-License-Identifier: Apache-2.0

"""Tests a thread as the real /proc shows it."""

import os
import pathlib
import threading
import time
import unittest
from unittest import mock

from nova_rt.machine.host import thread


class ThreadTest(unittest.TestCase):

    def setUp(self) -> None:
        self.end, begun = threading.Event(), threading.Event()
        self.sleeper = threading.Thread(
            target=lambda: (begun.set(), self.end.wait()))
        self.sleeper.start()
        begun.wait()
        self.addCleanup(self.sleeper.join)
        self.addCleanup(self.end.set)
        self.own = threading.get_native_id()

    @property
    def asleep(self) -> int:
        found = self.sleeper.native_id
        assert found is not None
        return found

    def test_state(self) -> None:
        self.assertTrue(thread.is_runnable(self.own))
        while thread.is_runnable(self.asleep):
            time.sleep(0)
        self.assertFalse(thread.is_runnable(self.asleep))

    def test_time(self) -> None:
        """The time is the thread's, and not its process's."""
        before = thread.ran_ns(self.own)
        while thread.ran_ns(self.own) < before + 20_000_000:
            pass
        self.assertLess(thread.ran_ns(self.asleep), 20_000_000)

    def test_time_without_schedstat(self) -> None:
        """The time is counted in ticks; a kernel may also show zeros."""
        def read(number: int, name: str) -> str:
            if name == 'schedstat':
                return '0 0 0'
            return '7 (a) b) R ' + ' '.join(map(str, range(4, 53)))

        with mock.patch.object(thread, '_read', read):
            ticks = 14 + 15
            self.assertEqual(
                ticks * 1_000_000_000 // os.sysconf('SC_CLK_TCK'),
                thread.ran_ns(7))

    def test_pauses(self) -> None:
        """A thread that sleeps has made one; one that runs makes none."""
        before = thread.pauses(self.own)
        time.sleep(0.001)
        self.assertGreater(thread.pauses(self.own), before)
        with mock.patch.object(thread, '_read', lambda *_: 'Name: a'), \
                self.assertRaisesRegex(ValueError, '/proc/7/status'):
            thread.pauses(7)

    def test_overrun(self) -> None:
        for text, wanted in (
                ('policy : 0\n', 0),
                ('dl.runtime      :      -32945920\n', 32_945_920),
                ('dl.runtime      :       12345\n', 0)):
            with mock.patch.object(thread, '_read', lambda *_: text):
                self.assertEqual(wanted, thread.overrun_ns(7))
        with mock.patch.object(thread, '_read',
                               side_effect=FileNotFoundError):
            self.assertEqual(0, thread.overrun_ns(7))

    def test_rests(self) -> None:
        for overrun, runnable, wanted in (
                (1, True, True), (0, True, False), (0, False, True)):
            with (mock.patch.object(thread, 'overrun_ns', lambda _: overrun),
                  mock.patch.object(thread, 'is_runnable',
                                    lambda _: runnable)):
                self.assertEqual(wanted, thread.rests(7))

    def test_workers(self) -> None:
        self.assertFalse(thread.is_worker(self.own))
        kthreadd = pathlib.Path('/proc/2/comm')
        if not kthreadd.exists() or 'kthreadd' not in kthreadd.read_text():
            self.skipTest('the threads of the kernel are not seen here')
        self.assertTrue(thread.is_worker(2))

    def test_flags_as_kvm_has_them(self) -> None:
        with mock.patch.object(thread, 'flags', lambda _: 0x84040c0):
            self.assertTrue(thread.is_worker(7))

    def test_gone(self) -> None:
        gone = os.fork()
        if not gone:
            os._exit(0)
        os.waitpid(gone, 0)
        for call in (thread.flags, thread.is_runnable, thread.ran_ns,
                     thread.overrun_ns, thread.rests):
            self.assertRaises(ProcessLookupError, call, gone)
        self.assertFalse(thread.is_worker(gone))
