# SPDX-License-Identifier: Apache-2.0

"""The files of the real kernel for threads of the test itself."""

import os
import subprocess
import threading
import time

from oslotest import base

from rt_probe import threads


def used(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


class ThreadsTest(base.BaseTestCase):

    def test_this_one(self):
        watched = threads.Threads([os.getpid()])
        before = watched.sample()[os.getpid()]
        used(0.02)
        after = watched.sample()[os.getpid()]
        self.assertGreaterEqual(after.run_ns - before.run_ns, 15_000_000)
        self.assertTrue(after.runnable)

    def test_one_that_sleeps_has_slept(self):
        before, after = [], []
        for found in (before, after):
            # All is read of what is looked at for the first time.
            watched = threads.Threads([os.getpid()])
            found.append(watched.sample()[os.getpid()].slept)
            time.sleep(0.001)
        self.assertGreater(after, before)

    def test_new_threads_and_ended_ones(self):
        watched = threads.Threads([os.getpid()])
        end, ready = threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: (ready.set(), end.wait()))
        before = set(watched.sample())
        thread.start()
        ready.wait()
        self.assertEqual({thread.native_id}, set(watched.sample()) - before)
        end.set()
        thread.join()
        # The kernel takes a moment to forget it.
        while os.path.exists(f'/proc/{os.getpid()}/task/{thread.native_id}'):
            time.sleep(0.001)
        self.assertEqual(before, set(watched.sample()))

    def test_gone(self):
        process = subprocess.Popen(['sleep', '60'])
        watched = threads.Threads([process.pid])
        process.kill()
        process.wait()
        error = self.assertRaises(ProcessLookupError, watched.sample)
        self.assertEqual(f'process {process.pid} is gone', error.strerror)

    def test_thread_of_a_group_that_ended(self):
        process = subprocess.Popen(['true'])
        process.wait()
        watched = threads.Threads([os.getpid()])
        self.assertNotIn(process.pid, watched.sample([process.pid]))

    def test_no_more_than_a_probe_may_cost(self):
        watched = threads.Threads([os.getpid()])
        self.assertLessEqual(len(watched.sample(
            int(name) for name in os.listdir('/proc') if name.isdecimal())),
            threads.MOST)

    def test_no_schedstat(self):
        self.assertRaises(FileNotFoundError, threads.Threads, [1], '/nowhere')
