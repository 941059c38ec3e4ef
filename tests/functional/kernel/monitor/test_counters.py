# SPDX-License-Identifier: Apache-2.0

"""Tests the programs of counters, with a counter of the kernel in software.

This counter counts ns on a CPU, whatever runs there; few virtual machines have
any other counter.
"""

import contextlib
import os
import select
import struct
import subprocess
import sys
import time
import unittest

from nova_rt.rules import exception
from rt_monitor import counters
from rt_monitor import objects
from rt_monitor import power
from rt_monitor import servers
from tests.functional.kernel.monitor import base

#: PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK.
CLOCK = dict.fromkeys(counters.HARDWARE, (1, 0))
#: ``struct begun``: readings, at, sibling, ahead, server, pid, known.
BEGUN = struct.Struct('=7QIiI4x')
NOBODY = -1
#: An update of a map that takes longer was interrupted by the scheduler.
INTERRUPTION_NS = 1_000_000

#: Joins the groups of its arguments and continues to work, without a call that
#: sleeps.
JOINING = '''
import sys, time
print(flush=True)
sys.stdin.readline()
for path in sys.argv[1:]:
    with open(path, 'w') as file:
        file.write('0')
begun = time.thread_time_ns()
while time.thread_time_ns() - begun < 300_000_000:
    pass
print(time.thread_time_ns() - begun, flush=True)
sys.stdin.read()
'''


class CountersTest(base.WatchedTest):

    def setUp(self):
        super().setUp()
        self.register = servers.Register()
        self.counters = counters.Counters(CLOCK)
        self.addCleanup(self.counters.close)
        self.counters.apply(self.register.update(self.servers))

    def counted(self, seconds):
        """Returns the counts in the meantime, by name and CPU."""
        before = self.counters.read(self.register)
        begun = time.monotonic_ns()
        child = self.inside('timeout', str(seconds), 'sh', '-c',
                            'while :; do :; done')
        child.wait()
        span = time.monotonic_ns() - begun
        after = self.counters.read(self.register)
        return span, {name: {
            cpu: [now - was for now, was in zip(
                (work.cycles, work.misses, work.beside),
                (before[name][cpu].cycles, before[name][cpu].misses,
                 before[name][cpu].beside), strict=True)]
            for cpu, work in by_cpu.items()}
            for name, by_cpu in after.items()}

    def test_everything_is_somebodys(self):
        span, found = self.counted(0.5)
        for cpu in os.sched_getaffinity(0):
            whole = sum(by_cpu[cpu][0] for by_cpu in found.values())
            self.assertAlmostEqual(span, whole, delta=span / 10)
        self.assertEqual({base.UUID, power.HOST, power.IDLE}, {*found})
        ours = sum(cycles for cycles, _, _ in found[base.UUID].values())
        self.assertAlmostEqual(self.usage().whole.counts.ran, ours,
                               delta=ours / 10)
        misses = sum(misses for _, misses, _ in found[base.UUID].values())
        self.assertAlmostEqual(ours, misses, delta=ours / 100)

    def test_a_task_that_joins_while_it_runs(self):
        """The work of a task counts for its new server from the change on."""
        golden, ours = self.joined(lambda: None)
        self.assertAlmostEqual(golden, ours, delta=golden / 50)

    def test_switches_that_have_no_event(self):
        """What a task does after such a switch counts for its server.

        The test notes that another task was seen last.  Where the kernel
        interrupts the test meanwhile, the kernel counts that time twice.
        """
        self.interrupted_ns = 0
        golden, ours = self.joined(self.forget_who_runs)
        self.assertAlmostEqual(golden, ours,
                               delta=golden / 50 + self.interrupted_ns)

    def forget_who_runs(self):
        begun = self.counters.object.map('begun', per_cpu=True)
        started = time.monotonic_ns()
        self.assertEqual(BEGUN.size * begun.width,
                         len(begun.get(objects.key(0))))
        begun.put(objects.key(0), b''.join(
            BEGUN.pack(*readings, 0, NOBODY, known)
            for *readings, _, _, known in BEGUN.iter_unpack(
                begun.get(objects.key(0)))))
        duration = time.monotonic_ns() - started
        if duration > INTERRUPTION_NS:
            self.interrupted_ns += duration

    def joined(self, meanwhile):
        """Returns the CPU time of a task after it joined, and the count."""
        child = subprocess.Popen(
            [sys.executable, '-c', JOINING, *(
                str(group / 'cgroup.procs')
                for group in (self.accounts, self.top))],
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.stop, child)
        child.stdout.readline()
        before = self.counters.read(self.register)
        child.stdin.write('\n')
        child.stdin.flush()
        while not select.select([child.stdout], [], [], 0.001)[0]:
            meanwhile()
        golden = int(child.stdout.readline())
        after = self.counters.read(self.register)
        return golden, sum(work.cycles - before[base.UUID][cpu].cycles
                           for cpu, work in after[base.UUID].items())

    @base.needs_two_cpus
    def test_beside_a_busy_thread(self):
        siblings = self.counters.object.map('siblings')
        for cpu, other in ((0, 1), (1, 0)):
            siblings.put(objects.key(cpu), objects.key(other))
        busy = self.inside('sh', '-c', 'while :; do :; done')
        os.sched_setaffinity(busy.pid, {1})
        _, found = self.counted(0.5)
        for cycles, _, beside in found[base.UUID].values():
            self.assertLessEqual(0, beside)
            self.assertLessEqual(beside, cycles + cycles // 500)
        self.assertLess(0, sum(
            beside for _, _, beside in found[base.UUID].values()))


class NoCountersTest(unittest.TestCase):

    def test_says_why(self):
        if os.geteuid() != 0:
            self.skipTest('needs root')
        before = len(os.listdir('/proc/self/fd'))
        with self.assertRaisesRegex(exception.CannotMonitor, 'no counters'):
            # A kind that no kernel has.
            with contextlib.closing(counters.Counters({
                    'cycles': (0, 999)})):
                pass
        self.assertEqual(before, len(os.listdir('/proc/self/fd')))
