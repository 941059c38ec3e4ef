# SPDX-License-Identifier: Apache-2.0

"""Compares the monitor's values with other sources of the same values.

The other source of CPU time is cpuacct.usage, of waiting the kernel's
schedstat files, and of budgets the clock of the task that lacks them.
"""

import os
import pathlib
import time

from nova_rt.machine import sched_setattr
from tests.functional.kernel.monitor import base

RUNTIME_US, PERIOD_US = 8_000, 100_000
PERIODS = 20
ATTEMPTS = 5
#: In ns: longer than any time without a wait for others, and shorter than the
#: time until a budget returns.
GAP = 40_000_000

SHORT = 'i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done'
#: Works when it is told to, for this much CPU time, and reports the end.
WORKER = '''
import sys, time
print(flush=True)
for line in sys.stdin:
    end = time.thread_time() + float(line)
    while time.thread_time() < end:
        pass
    print(flush=True)
'''
#: Reads the clock for this many ns; prints the gaps between readings.
GAPS = '''
import sys
from tests.full.kernel import gaps
print(flush=True)
print(*gaps.gaps(*map(int, sys.stdin.readline().split())), flush=True)
sys.stdin.read()
'''


class SumsTest(base.WatchedTest):

    def test_cpu_time_of_a_thousand_short_tasks(self):
        child = self.inside('sh', '-c', SHORT)
        child.wait()
        # The last switch of a task can be after its parent has waited for it.
        self.wait_for(lambda: self.usage().whole.totals.ran
                      > self.accounted_ns() * 0.999)
        ours = self.usage().whole
        golden = self.accounted_ns()
        self.assertAlmostEqual(golden, ours.totals.ran, delta=golden / 1000)
        # The kernel sends no event for some switches; all other switches
        # count.
        self.assertAlmostEqual(golden, ours.counts.ran, delta=golden / 50)
        self.assertGreater(ours.counts.switches, 1000)

    def schedstat(self, child):
        path = pathlib.Path(f'/proc/{child.pid}/schedstat')
        return [int(word) for word in path.read_text().split()]

    def test_cpu_time_and_waiting_of_tasks_that_compete(self):
        children = [self.python(WORKER) for _ in range(4)]
        for child in children:
            child.stdout.readline()
            self.wait_for(lambda child=child: base.sleeps(child.pid))
        ours = self.monitor.read()
        golden = [self.schedstat(child) for child in children]
        for child in children:
            child.stdin.write('0.2\n')
            child.stdin.flush()
        for child in children:
            child.stdout.readline()
            self.wait_for(lambda child=child: base.sleeps(child.pid))
        found = self.monitor.read().since(ours).usages[base.UUID].whole
        after = [self.schedstat(child) for child in children]
        ran, waited, slices = (
            sum(child[part] for child in after)
            - sum(child[part] for child in golden) for part in range(3))
        self.assertEqual((ran, waited),
                         (found.totals.ran, found.totals.waited))
        # One switch for each slice, except for switches without an event.
        self.assertAlmostEqual(slices, found.counts.switches,
                               delta=2 + slices / 50)
        # A slice right after that of another task of the server is not a wait.
        self.assertLessEqual(found.waits.count, found.counts.switches)
        self.assertLessEqual(found.lost_ns, waited)
        self.assertGreater(found.lost_ns, 0)

    def test_time_before_it_was_watched_is_not_counted(self):
        child = self.python(WORKER)
        child.stdout.readline()
        child.stdin.write('0.2\n')
        child.stdin.flush()
        child.stdout.readline()
        self.monitor.watch([])
        self.monitor.watch(self.servers)
        found = self.monitor.read().usages[base.UUID].whole
        self.assertLess(found.totals.ran, 100_000_000)


class BudgetTest(base.WatchedTest):

    def gaps(self, start):
        """Runs a busy task for some periods; returns the gaps in its clock."""
        child = self.python(GAPS)
        child.stdout.readline()
        start(child.pid)
        self.addCleanup(self.ordinary, child.pid)
        child.stdin.write(f'{PERIODS * PERIOD_US * 1000} {GAP}\n')
        child.stdin.flush()
        found = [int(word) for word in child.stdout.readline().split()]
        ours = self.usage().whole
        self.stop(child)
        return found, ours

    def ordinary(self, pid):
        try:
            sched_setattr.stop(pid)
        except ProcessLookupError:
            pass

    def compare(self, start):
        """Compares the counts with the gaps of the task's own clock.

        What is below this kernel may stop the CPU between a budget's return
        and the next look at the clock, for longer than a budget lasts, and no
        clock here tells; so there is more than one attempt.
        """
        for attempt in range(ATTEMPTS):
            self.begun = self.monitor.read()
            gaps, ours = self.gaps(start)
            try:
                self.assertEqual(len(gaps), ours.counts.exhausted,
                                 (gaps, ours.counts))
                return self.assert_right(gaps, ours)
            except AssertionError:
                if attempt == ATTEMPTS - 1:
                    raise

    def assert_right(self, gaps, ours):
        self.assertGreaterEqual(len(gaps), PERIODS - 1)
        # A gap ends when the task runs, so the time of others before that
        # counts.
        late = sum(gaps) - ours.counts.starved
        self.assertGreater(late, -sum(gaps) * 0.002)
        self.assertLess(late, sum(gaps) * 0.002 + ours.lost_ns)
        # Besides, the task waited only for tasks with a higher priority.
        self.assertLess(ours.lost_ns, ours.counts.starved)
        self.assertGreaterEqual(ours.uses.count, PERIODS - 1)
        self.assertAlmostEqual(RUNTIME_US * 1000, ours.uses.mean_ns,
                               delta=RUNTIME_US * 1000 * 0.25)

    def test_rt_group_sched(self):
        self.give(RUNTIME_US, PERIOD_US)
        self.compare(lambda pid: os.sched_setscheduler(
            pid, os.SCHED_RR, os.sched_param(10)))

    def test_tasks_that_share_a_budget(self):
        """Two shipped alerts do not fire: the server has what it reserved."""
        self.give(RUNTIME_US, PERIOD_US)
        cpu = max(os.sched_getaffinity(0))
        for _ in range(3):
            child = self.python(GAPS)
            child.stdout.readline()
            os.sched_setaffinity(child.pid, {cpu})
            os.sched_setscheduler(child.pid, os.SCHED_RR,
                                  os.sched_param(10))
            self.addCleanup(self.ordinary, child.pid)
            child.stdin.write(f'{60 * 10**9} {GAP}\n')
            child.stdin.flush()
        before = self.monitor.read()
        time.sleep(PERIODS * PERIOD_US / 1e6)
        look = self.monitor.read().since(before)
        found = look.usages[base.UUID].whole
        counts = found.cpus[cpu]
        span_ns = look.span_s * 1e9
        self.assertLess(counts.lost, 0.1 * span_ns)
        self.assertLess(found.waits.quantile_ns(0.99), PERIOD_US * 1000)
        self.assertAlmostEqual(
            span_ns, counts.ran + counts.starved + counts.lost,
            delta=0.02 * span_ns)

    def test_sched_deadline(self):
        self.needs_bandwidth()
        self.compare(
            lambda pid: sched_setattr.start(pid, RUNTIME_US, PERIOD_US))

    def needs_bandwidth(self):
        if not self.leaves_bandwidth:
            self.skipTest('the root group has the bandwidth that threads need')

    def one_cpu(self):
        """Makes a group like that of a vCPU on the pCPU of its claim."""
        group = self.scratch('cpuset')
        for name in ('cpuset.mems', 'cpuset.cpus'):
            (group / name).write_text(self.inherited(group, name))
        return group

    def inherited(self, group, name):
        """Returns what the parent of a group has in a file of cpuset."""
        own = group.parent / name
        # The root of version 2 has only this file.
        effective = group.parent / f'{name}.effective'
        return (own if own.exists() else effective).read_text()

    def confine(self, pid, group):
        every = group / 'cpuset.cpus'
        every.write_text(self.inherited(group, every.name))
        (group / 'cgroup.procs').write_text(str(pid))
        self.narrow(group)

    def narrow(self, group):
        one = max(os.sched_getaffinity(0))
        (group / 'cpuset.cpus').write_text(str(one))

    def test_sched_deadline_on_one_cpu(self):
        self.needs_bandwidth()
        group = self.one_cpu()

        def start(pid):
            sched_setattr.start(pid, RUNTIME_US, PERIOD_US)
            self.confine(pid, group)

        self.compare(start)

    def test_rt_group_sched_on_one_cpu(self):
        group = self.one_cpu()
        early = self.interface.binds_cpus
        if early:
            # The CPUs of a group with a budget cannot change.
            self.narrow(group)
        self.give(RUNTIME_US, PERIOD_US)

        def start(pid):
            os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(10))
            if not early:
                self.confine(pid, group)

        self.compare(start)

    def test_a_task_within_its_budget(self):
        self.give(RUNTIME_US, PERIOD_US)
        child = self.python(WORKER)
        child.stdout.readline()
        os.sched_setscheduler(child.pid, os.SCHED_RR, os.sched_param(10))
        self.addCleanup(self.ordinary, child.pid)
        self.assertEqual(0, self.usage().whole.counts.starved)
        for _ in range(3):
            child.stdin.write('0.0001\n')
            child.stdin.flush()
            child.stdout.readline()
        found = self.usage().whole.counts
        self.assertEqual((0, 0), (found.exhausted, found.starved))
