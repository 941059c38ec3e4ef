# SPDX-License-Identifier: Apache-2.0

"""cpu.rt.max, whose kernels do not list tasks that are about to end."""

from collections.abc import Iterator
import contextlib
import os
from unittest import mock

import testscenarios

from nova_rt.machine.kernel import tasks
from nova_rt.rules import exception
from tests.emulation import tasks as emulated
from tests.unit.machine.kernel import base


class EndingTest(testscenarios.WithScenarios, base.KernelTest):
    """A guest with a budget, one of whose tasks was killed."""

    scenarios = [(kind, {'kind': kind}) for kind in ('F4', 'F5')]

    def setUp(self) -> None:
        super().setUp()
        for target, new in emulated.THREADS.items():
            patch = mock.patch(target, new)
            patch.start()
            self.addCleanup(patch.stop)
        self.tasks = emulated.EmulatedTasks(self.kernel)
        self.guests = emulated.Guests(self.kernel)
        self.interface.settle('/machine')
        self.keeper = self.guests.start('a')
        self.group = self.guests.group(self.keeper)
        self.reserve(self.group, 40_000)
        self.tasks.make_real_time(self.group, '', self.keeper, 'rr', 1)
        self.killed = self.guests.running[self.keeper][-1]
        self.kernel.begin_exit(self.killed)

    def reserve(self, group: str, runtime: int) -> None:
        self.interface.reserve({group: base.budget(
            runtime, 100_000, *range(self.kernel.cpus))})

    def release(self) -> None:
        self.tasks.make_ordinary(self.group, '', self.keeper)
        self.interface.release([self.group])

    def test_released_alive(self) -> None:
        self.release()
        self.assertEqual({}, self.kernel.granted())
        self.assertEqual(os.SCHED_OTHER,
                         self.kernel.tasks[self.killed].policy)

    def test_what_has_no_id_any_more_gets_time_to_end(self) -> None:
        """The server may be throttled for that time."""
        before = self.kernel.clock.now
        self.release()
        self.assertAlmostEqual(0.22, self.kernel.clock.now - before)

    def test_that_time_is_limited(self) -> None:
        self.reserve(self.group, 2)
        before = self.kernel.clock.now
        self.release()
        self.assertLess(self.kernel.clock.now - before, 10)

    def test_nobody_waits_for_a_group_without_tasks(self) -> None:
        for thread in self.guests.running[self.keeper]:
            self.kernel.exit(thread)
        before = self.kernel.clock.now
        self.interface.release([self.group])
        self.assertEqual(before, self.kernel.clock.now)

    def remove(self) -> None:
        """Removes a group as libvirt does: the lists are empty."""
        for thread in self.guests.running[self.keeper]:
            if thread != self.killed:
                self.kernel.exit(thread)
        self.kernel.rmdir(self.group)

    @contextlib.contextmanager
    def ends_later(self) -> Iterator[None]:
        sleep, ends = self.kernel.clock.sleep, self.kernel.clock.now + 3

        def later(seconds: float) -> None:
            sleep(seconds)
            if self.kernel.clock.now > ends:
                self.kernel.exit(self.killed)

        with mock.patch.object(self.kernel.clock, 'sleep', later):
            yield

    def test_its_room_comes_back_with_its_end(self) -> None:
        self.remove()
        other = self.guests.group(self.guests.start('b'))
        with self.ends_later():
            self.reserve(other, 60_000)
        self.assertEqual({other, '/machine'}, {*self.kernel.granted()})

    def test_its_room_is_taken_with_its_end(self) -> None:
        self.remove()
        with self.ends_later():
            self.interface.settle('/machine')
        self.assertEqual({}, self.kernel.granted())

    def test_a_task_that_never_ends(self) -> None:
        self.remove()
        other = self.guests.group(self.guests.start('b'))
        with self.assertRaisesRegex(exception.KernelError, 'no room'):
            self.reserve(other, 60_000)
        self.assertLess(self.kernel.clock.now, 30)


class EveryThreadTest(base.KernelTest):
    """The production reading of /proc, on our own process."""

    def test_own_process(self) -> None:
        with open('/proc/self/cgroup') as lines:
            group = lines.read().rpartition('0::')[2].strip()
        found = tasks.Tasks(self.kernel)
        self.assertIn(os.getpid(), [*found.every_thread(group, '')])
        self.assertNotIn(os.getpid(), [*found.every_thread(
            f'{group.rstrip("/")}/none', '')])
        self.assertEqual([], [*found.every_thread(group, 'cpu')])
