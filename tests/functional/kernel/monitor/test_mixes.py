# SPDX-License-Identifier: Apache-2.0

"""Random mixes of tasks: no moment of a CPU is counted twice.

On each CPU, a server runs, waits without budget, or waits with budget, so that
these three times together are at most the time that has passed.
``NOVA_RT_MIXES=1000`` is the number of mixes, instead of a few.
"""

import dataclasses
import os
import random
import subprocess
import time

from nova_rt.machine import sched_setattr
from tests.functional.kernel.monitor import base
from tests import seeds

MIXES = int(os.environ.get('NOVA_RT_MIXES', '4'))
#: Where no group has room for a budget, the tasks have budgets of their own.
PERIOD_US, RUNTIME_US = 50_000, 4_000
#: The kernel looks at the clock of a CPU that stays busy once in a tick.
TICK_NS = 4_000_000
SECONDS = 0.4

#: Works and sleeps in turns, for this many ms; 0 means no sleep.
WORKER = '''
import sys, time
work, rest = (int(word) / 1000 for word in sys.argv[1:])
print(flush=True)
while True:
    end = time.monotonic() + work
    while time.monotonic() < end:
        pass
    if rest:
        time.sleep(rest)
'''


@dataclasses.dataclass(frozen=True)
class Task:
    """A task of a mix; *cpu* None: any."""

    policy: str
    work_ms: int
    rest_ms: int
    cpu: int | None


def mix(some: random.Random) -> list[Task]:
    """Returns one to six tasks of any policies."""
    cpus = [None, *sorted(os.sched_getaffinity(0))]
    return [Task(some.choice(('other', 'rr', 'fifo', 'deadline')),
                 some.randrange(1, 40), some.choice((0, 0, 1, 5, 20)),
                 some.choice(cpus)) for _ in range(some.randint(1, 6))]


class MixesTest(base.WatchedTest):

    def setUp(self):
        super().setUp()
        # A kernel without budgets for groups lets any task be real-time.
        self.room = True
        try:
            if not base.base.why_not():
                self.give(RUNTIME_US, PERIOD_US)
        except OSError:
            self.room = False  # other groups have all of it

    def begin(self, task: Task) -> subprocess.Popen[str]:
        child = self.python(WORKER, str(task.work_ms), str(task.rest_ms))
        child.stdout.readline()
        if task.policy == 'deadline' and self.leaves_bandwidth:
            sched_setattr.start(child.pid, 2_000, 20_000)
            return child
        if task.cpu is not None:
            os.sched_setaffinity(child.pid, {task.cpu})
        if task.policy != 'other' and self.room:
            os.sched_setscheduler(
                child.pid, os.SCHED_RR if task.policy == 'rr'
                else os.SCHED_FIFO, os.sched_param(10))
        return child

    def end(self, children: list[subprocess.Popen[str]]) -> None:
        for child in children:
            sched_setattr.stop(child.pid)
        for child in children:
            self.stop(child)

    def test_no_moment_is_counted_twice(self):
        some = random.Random(seeds.seed_of_the_day())  # noqa: S311
        for number in range(MIXES):
            tasks = mix(some)
            with self.subTest(number=number, tasks=tasks):
                self.assert_within(tasks)

    def assert_within(self, tasks: list[Task]) -> None:
        children = [self.begin(task) for task in tasks]
        try:
            begun = time.monotonic_ns()
            before = self.monitor.read()
            time.sleep(SECONDS)
            found = self.monitor.read().since(before).usages[base.UUID].whole
            span = time.monotonic_ns() - begun
        finally:
            self.end(children)
        for cpu, counts in found.cpus.items():
            whole = counts.ran + counts.starved + counts.lost
            self.assertLessEqual(whole, span + TICK_NS, (cpu, counts))

    def test_tasks_that_never_sleep(self):
        """Checks that all of the time belongs to one of the three."""
        cpu = max(os.sched_getaffinity(0))
        children = [self.begin(Task('other', 10, 0, cpu)) for _ in range(3)]
        begun = self.monitor.read()
        first = time.monotonic_ns()
        time.sleep(SECONDS)
        last = time.monotonic_ns()
        found = self.monitor.read().since(begun).usages[base.UUID].whole
        self.end(children)
        counts = found.cpus[cpu]
        self.assertGreaterEqual(counts.ran + counts.starved + counts.lost,
                                last - first - 2 * TICK_NS, counts)
        self.assertEqual(0, counts.starved)
