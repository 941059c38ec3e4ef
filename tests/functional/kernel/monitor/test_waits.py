# SPDX-License-Identifier: Apache-2.0

"""Compares percentiles of waits with the events one by one."""

import contextlib
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from tests.functional.kernel.monitor import base
from tests.functional.kernel.monitor import events

WORKERS, CPU = 4, 0
#: Tasks of others, for which the tasks of the server wait.
RIVALS = 2
PARTS = (0.5, 0.75, 0.9, 0.99)
#: The error of the percentile and, in ns, of the clock of a run queue: by this
#: clock, a task that starts where it was woken has waited 0.
MOST, LATE_NS = 0.02, 10_000

#: Works and sleeps in turns, for random times, until this time is over.
WORKER = '''
import random, sys, time
print(flush=True)
seconds, seed = float(sys.stdin.readline()), int(sys.argv[1])
draw = random.Random(seed)
end = time.monotonic() + seconds
while time.monotonic() < end:
    until = time.thread_time() + draw.expovariate(1000)
    while time.thread_time() < until:
        pass
    time.sleep(draw.expovariate(500))
print(flush=True)
sys.stdin.read()
'''


@unittest.skipIf(shutil.which('clang') is None, 'clang is not installed')
class WaitsTest(base.WatchedTest):

    def work(self, seconds):
        """Runs tasks that compete on a CPU; returns counts and events."""
        children = [self.python(WORKER, str(seed))
                    for seed in range(WORKERS)]
        workers = [*children, *(self.rival(seed) for seed in range(RIVALS))]
        for child in workers:
            child.stdout.readline()
            os.sched_setaffinity(child.pid, {CPU})
            self.wait_for(lambda child=child: base.sleeps(child.pid))
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(
                events.Recorder(pathlib.Path(folder), [
                    child.pid for child in children])) as recorder:
            before = self.monitor.read()
            for child in workers:
                child.stdin.write(f'{seconds}\n')
                child.stdin.flush()
            for child in workers:
                child.stdout.readline()
                self.wait_for(lambda child=child: base.sleeps(child.pid))
            found = self.monitor.read().since(before)
            golden, unsent = recorder.waits_ns()
            return (found.usages[base.UUID].whole.waits,
                    found.missed_switches + unsent, golden)

    def rival(self, seed):
        """A task that competes, but is not of the server."""
        child = subprocess.Popen(
            [sys.executable, '-c', WORKER, str(WORKERS + seed)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True)
        self.addCleanup(self.stop, child)
        return child

    def test_percentiles(self):
        waits, unseen, golden = self.work(2)
        self.assertGreater(len(golden), 200)
        self.assertAlmostEqual(len(golden), waits.count, delta=unseen)
        last = len(golden) - 1
        for part in PARTS:
            # A wait for which neither has an event shifts the others by one.
            rank = math.ceil(part * len(golden)) - 1
            least = golden[max(0, rank - unseen)]
            most = golden[min(last, rank + unseen)]
            seen = waits.quantile_ns(part)
            self.assertGreaterEqual(seen, (1 - MOST) * least - LATE_NS, part)
            self.assertLessEqual(seen, (1 + MOST) * most + LATE_NS, part)
