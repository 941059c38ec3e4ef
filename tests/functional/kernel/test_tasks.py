# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.kernel.tasks and the interface F1 on real processes."""

import os
import signal

from nova_rt.machine.kernel import base as kernel_base
from nova_rt.machine.kernel import tasks
from nova_rt.rules import exception
from tests.functional.kernel import base

#: A process with a second thread that starts children when it is told to.
FORKER = '''
import os, signal, sys, threading, time
threading.Thread(target=threading.Event().wait, daemon=True).start()
print(flush=True)
sys.stdin.read(1)
for _ in range(200):
    if not os.fork():
        signal.pause()
    time.sleep(0.001)
signal.pause()
'''
PERIOD = 100_000


class TasksTest(base.RealKernelTest):
    """A scratch group stands for the group of a guest."""

    def setUp(self) -> None:
        super().setUp()
        self.tasks = tasks.Tasks(self.fs)
        self.guest = self.make(self.top / 'guest')
        self.group = f'/{self.name}/guest'
        self.runtime = max(1_000, self.interface.least_runtime_us())
        self.keeper = self.start()
        self.init = self.start()
        for child in (self.keeper, self.init):
            (self.guest / 'cgroup.procs').write_text(str(child.pid))

    def reserve(self) -> None:
        self.interface.reserve({self.group: kernel_base.Budget(
            dict.fromkeys(self.claimed(), self.runtime), PERIOD)})

    def make_real_time(self) -> int:
        return self.tasks.make_real_time(
            self.group, self.interface.controller, self.keeper.pid, 'rr', 1)

    def test_group_of(self) -> None:
        self.assertEqual(self.group, self.tasks.group_of(
            self.init.pid, self.interface.controller))

    def test_group_of_a_process_that_has_ended(self) -> None:
        self.end(self.init)
        with self.assertRaises(LookupError):
            self.tasks.group_of(self.init.pid, self.interface.controller)

    def test_reserve_make_real_time_and_back(self) -> None:
        self.reserve()
        self.assertEqual((self.runtime, PERIOD), base.budget(self.guest))
        self.assertEqual((10 * self.runtime, 10 * PERIOD),
                         base.budget(self.top))
        self.assertEqual(1, self.make_real_time())
        self.assertEqual(os.SCHED_RR, os.sched_getscheduler(self.init.pid))
        self.assertEqual(os.SCHED_OTHER,
                         os.sched_getscheduler(self.keeper.pid))
        if not self.interface.inherits:
            with self.assertRaisesRegex(exception.KernelError, 'EBUSY'):
                self.interface.release([self.group])
        self.tasks.make_ordinary(
            self.group, self.interface.controller, self.keeper.pid)
        self.assertEqual(os.SCHED_OTHER, os.sched_getscheduler(self.init.pid))
        self.interface.release([self.group])
        for group in (self.guest, self.top):
            self.assertEqual(0, base.budget(group)[0])

    def test_init_is_a_child_of_the_keeper(self) -> None:
        self.assertTrue(self.tasks.is_init(self.init.pid, os.getpid()))
        self.assertFalse(self.tasks.is_init(self.init.pid, self.keeper.pid))
        self.end(self.init)
        self.assertFalse(self.tasks.is_init(self.init.pid, os.getpid()))

    def test_read_has_all_cpus(self) -> None:
        self.reserve()
        found = self.interface.read(self.group)
        assert found is not None
        self.assertLessEqual(os.sched_getaffinity(0),
                             set(found.runtime_us))
        self.assertEqual(100_000, found.period_us)

    def test_without_budget(self) -> None:
        # On kernels where groups inherit, no group holds more than the top
        # group.
        base.give(self.top, 0)
        with self.assertRaisesRegex(exception.KernelError,
                                    f'thread {self.init.pid} cannot'):
            self.make_real_time()

    def forker(self) -> int:
        """Starts a guest of many processes, all of them real-time."""
        self.reserve()
        forker = self.start(FORKER)
        (self.guest / 'cgroup.procs').write_text(str(forker.pid))
        assert forker.stdin is not None
        forker.stdin.write(b'!')
        forker.stdin.flush()
        self.assertGreaterEqual(self.make_real_time(), 3)
        return forker.pid

    def test_a_guest_that_forks(self) -> None:
        """Threads, and children born meanwhile, are changed, too."""
        self.forker()
        ordinary = [
            thread for thread in self.threads(self.guest)
            if os.sched_getscheduler(thread) == os.SCHED_OTHER]
        self.assertEqual([self.keeper.pid], ordinary)

    def test_released_while_its_tasks_end(self) -> None:
        """Tasks that no list shows any more first run their last steps."""
        os.killpg(self.forker(), signal.SIGKILL)
        self.tasks.make_ordinary(
            self.group, self.interface.controller, self.keeper.pid)
        self.interface.release([self.group])
        # The end of the test would find a task that is left.

    def test_another_guest_with_the_same_id(self) -> None:
        """A thread that has moved to another group is left alone."""
        self.reserve()
        other = self.make(self.top / 'other')
        (other / 'cgroup.procs').write_text(str(self.init.pid))
        with self.assertRaises(ProcessLookupError):
            tasks.privsep.set_policy(
                self.group, self.interface.controller, self.init.pid, 'rr', 1)
        self.assertEqual(os.SCHED_OTHER,
                         os.sched_getscheduler(self.init.pid))

    def test_room_of_a_removed_guest(self) -> None:
        """The kernel returns the budget late; production code waits for it."""
        self.reserve()
        for child in (self.keeper, self.init):
            self.end(child)
        base.eventually(self.guest.rmdir)
        self.interface.settle('/' + self.name)
        self.assertEqual(0, base.budget(self.top)[0])

    def test_confine(self) -> None:
        if self.interface.controller:
            cpuset = self.scratch('cpuset')
            for name in ('cpuset.cpus', 'cpuset.mems'):
                (cpuset / name).write_text((cpuset.parent / name).read_text())
        else:
            for parent in (self.cpu, self.top):
                self.hand_on(parent, 'cpuset')
            cpuset = self.guest
        (cpuset / 'cgroup.procs').write_text(str(self.init.pid))
        last = max(os.sched_getaffinity(self.init.pid))
        self.tasks.confine(self.init.pid, (last,))
        self.assertEqual({last}, os.sched_getaffinity(self.init.pid))
        self.tasks.confine(self.init.pid, (last,))
        with self.assertRaises(OSError):
            self.tasks.confine(self.init.pid, (1023,))
        self.assertEqual({last}, os.sched_getaffinity(self.init.pid))
