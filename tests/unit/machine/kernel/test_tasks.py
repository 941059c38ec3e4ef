# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.kernel.tasks on emulated guests."""

from collections.abc import Callable
import contextlib
import errno
import os
import posixpath
from unittest import mock

from nova_rt.machine.kernel import tasks
from nova_rt.rules import exception
from tests.emulation import rt_group_sched as emulation
from tests.emulation import tasks as emulated
from tests.unit.machine.kernel import base


class TasksTest(base.KernelTest):
    """The production walk; /proc and the system call are emulated."""

    def setUp(self) -> None:
        super().setUp()
        for target, name, new in (
                (tasks, '_belongs', emulated.belongs),
                (tasks, '_is_child', emulated.is_child),
                (tasks.os, 'sched_getscheduler', emulated.policy_of),
                (tasks.os, 'sched_getparam', emulated.parameters_of),
                (tasks.privsep, 'set_policy', emulated.set_policy)):
            patch = mock.patch.object(target, name, new)
            patch.start()
            self.addCleanup(patch.stop)
        self.guests = emulated.Guests(self.kernel)
        self.tasks = emulated.EmulatedTasks(self.kernel)
        self.keeper = self.guests.start('a')
        self.group = self.guests.group(self.keeper)
        self.interface.reserve({self.group: base.budget(10_000, 100_000)})

    def policies(self) -> list[int]:
        return [self.kernel.tasks[thread].policy for thread
                in self.guests.running[self.keeper]]

    def make(self, policy: str = 'rr') -> int:
        return self.tasks.make_real_time(self.group, 'cpu', self.keeper,
                                         policy, 10)

    def test_the_keeper_is_left_alone(self) -> None:
        self.assertEqual(2, self.make())
        self.assertEqual([os.SCHED_OTHER, os.SCHED_RR, os.SCHED_RR],
                         self.policies())

    def refusals(self, run: Callable[[], object]) -> list[list[int]]:
        """The policies after each change that was the last, from none."""
        found, real = [], emulated.set_policy
        for last in range(3):
            left = [last]

            def set_policy(*args: object, left: list[int] = left) -> None:
                if not left[0]:
                    raise base.refuse(errno.EIO)
                left[0] -= 1
                real(*args)  # type: ignore[arg-type]

            with mock.patch.object(tasks.privsep, 'set_policy',
                                   set_policy), contextlib.suppress(
                                       exception.KernelError):
                run()
            found.append(self.policies()[1:])
        return found

    def test_init_is_the_last_to_be_real_time(self) -> None:
        """The policy of init shows whether nova-compute was killed before."""
        self.assertEqual(
            [[os.SCHED_OTHER, os.SCHED_OTHER], [os.SCHED_OTHER, os.SCHED_RR],
             [os.SCHED_RR, os.SCHED_RR]], self.refusals(self.make))

    def test_init_is_the_first_to_be_ordinary(self) -> None:
        self.make()
        self.assertEqual(
            [[os.SCHED_RR, os.SCHED_RR], [os.SCHED_OTHER, os.SCHED_RR],
             [os.SCHED_OTHER, os.SCHED_OTHER]],
            self.refusals(lambda: self.tasks.make_ordinary(
                self.group, 'cpu', self.keeper)))

    def test_the_threads_of_the_keeper_too(self) -> None:
        thread = emulated.new_id()
        self.kernel.spawn(thread, self.group, process=self.keeper)
        emulated.adopt(self.kernel, thread)
        self.assertEqual(2, self.make())
        self.assertEqual(os.SCHED_OTHER, self.kernel.tasks[thread].policy)

    def test_fifo_and_priority(self) -> None:
        self.make('fifo')
        task = self.kernel.tasks[self.guests.running[self.keeper][1]]
        self.assertEqual((os.SCHED_FIFO, 10), (task.policy, task.priority))

    def priorities(self) -> list[int]:
        return [self.kernel.tasks[thread].priority for thread
                in self.guests.running[self.keeper]]

    def test_another_priority_than_before(self) -> None:
        """An older version or the tenant may have set the priority."""
        self.make()
        one = self.guests.running[self.keeper][1]
        self.kernel.set_policy(one, os.SCHED_FIFO, 99)
        self.assertTrue(self.tasks.outranks(one, 'fifo', 98))
        self.assertFalse(self.tasks.outranks(one, 'fifo', 99))
        self.assertTrue(self.tasks.outranks(one, 'rr', 99))
        self.assertFalse(self.tasks.runs_at(one, 'fifo', 98))
        self.assertFalse(self.tasks.runs_at(one, 'rr', 99))
        self.assertTrue(self.tasks.runs_at(one, 'fifo', 99))
        self.assertEqual(2, self.tasks.make_real_time(
            self.group, 'cpu', self.keeper, 'rr', 20))
        self.assertEqual([0, 20, 20], self.priorities())
        self.assertEqual(0, self.tasks.make_real_time(
            self.group, 'cpu', self.keeper, 'rr', 20))

    def test_a_task_that_has_ended_needs_nothing(self) -> None:
        gone = emulated.new_id()
        self.assertTrue(self.tasks.runs_at(gone, 'rr', 1))
        self.assertFalse(self.tasks.outranks(gone, 'rr', 1))

    def test_an_ordinary_task_outranks_nobody(self) -> None:
        for thread in self.guests.running[self.keeper]:
            self.assertFalse(self.tasks.outranks(thread, 'rr', 1))

    def test_tasks_of_groups_below(self) -> None:
        self.kernel.mkdir(self.group + '/inner')
        self.kernel.write(posixpath.join(
            emulation.CPU_MOUNT, self.group[1:], 'inner',
            emulation.RUNTIME), '1000')
        thread = emulated.new_id()
        self.kernel.spawn(thread, self.group + '/inner')
        emulated.adopt(self.kernel, thread)
        self.assertEqual(3, self.make())

    def test_children_born_while_we_walk(self) -> None:
        """A child of an ordinary task, after the list was read."""
        first = self.guests.running[self.keeper][1]
        born = []
        real = emulated.set_policy

        def and_fork(group: str, controller: str, thread: int, *args: object
                     ) -> None:
            if thread == first and not born:
                born.append(emulated.new_id())
                self.kernel.fork(thread, born[0])
                emulated.adopt(self.kernel, born[0])
            real(group, controller, thread, *args)  # type: ignore[arg-type]

        with mock.patch.object(tasks.privsep, 'set_policy',
                               and_fork):
            self.assertEqual(3, self.make())
        self.assertEqual(os.SCHED_RR, self.kernel.tasks[born[0]].policy)

    def test_a_guest_that_forks_faster_than_we_walk(self) -> None:
        def fork(group: str, controller: str, thread: int, *args: object
                 ) -> None:
            child = emulated.new_id()
            self.kernel.fork(thread, child)
            emulated.adopt(self.kernel, child)
            self.kernel.exit(thread)

        with mock.patch.object(
                tasks.privsep, 'set_policy', fork
        ), self.assertRaisesRegex(exception.KernelError, 'faster'):
            self.make()

    def test_a_task_that_ends_meanwhile(self) -> None:
        gone = self.guests.running[self.keeper][2]
        real = emulated.set_policy

        def after_exit(group: str, controller: str, thread: int,
                       *args: object) -> None:
            self.kernel.exit(gone)
            real(group, controller, thread, *args)  # type: ignore[arg-type]

        with mock.patch.object(tasks.privsep, 'set_policy',
                               after_exit):
            self.assertEqual(1, self.make())

    def test_refused_without_budget(self) -> None:
        self.interface.release([self.group])
        with self.assertRaisesRegex(exception.KernelError,
                                    'cannot be made rr.*not permitted'):
            self.make()

    def test_ordinary_again(self) -> None:
        self.make()
        self.tasks.make_ordinary(self.group, 'cpu', self.keeper)
        self.assertEqual([os.SCHED_OTHER] * 3, self.policies())
        self.interface.release([self.group])

    def test_the_group_goes_while_we_walk(self) -> None:
        """Some kernels say ENOENT, some ENODEV: no task is left."""
        read = self.kernel.read
        for number in (errno.ENOENT, errno.ENODEV):
            def gone(path: str, number: int = number) -> str:
                if path.endswith('/tasks'):
                    raise base.refuse(number)
                return read(path)

            with mock.patch.object(self.kernel, 'read', gone):
                self.assertEqual(0, self.make())
                self.tasks.make_ordinary(self.group, 'cpu', self.keeper)

    def test_other_errors_of_the_list_are_raised(self) -> None:
        with mock.patch.object(self.kernel, 'read',
                               side_effect=base.refuse(errno.EACCES)
                               ), self.assertRaises(PermissionError):
            self.make()

    def test_confine(self) -> None:
        self.tasks.confine(self.keeper, (3, 1))
        self.assertEqual({1, 3}, self.kernel.confined()[self.group])
        self.kernel.written.clear()
        self.tasks.confine(self.keeper, (1, 3))
        self.assertEqual([], self.kernel.written)

    def test_confine_to_a_cpu_that_is_not(self) -> None:
        with self.assertRaises(OSError) as caught:
            self.tasks.confine(self.keeper, (4,))
        self.assertEqual(errno.ERANGE, caught.exception.errno)

    def test_confine_what_has_ended(self) -> None:
        self.guests.stop(self.keeper)
        with self.assertRaisesRegex(LookupError, 'has ended'):
            self.tasks.confine(self.keeper, (1,))

    def test_partition(self) -> None:
        self.assertEqual('/machine', self.tasks.partition('cpu'))
        self.kernel.mkdir('/machine.slice')
        self.assertEqual('/machine.slice', self.tasks.partition('cpu'))

    def test_partition_before_the_first_guest(self) -> None:
        found = tasks.Tasks(emulation.Kernel()).partition('cpu')
        self.assertEqual('/machine', found)

    def test_mount_of(self) -> None:
        self.assertEqual(emulation.CPUSET_MOUNT,
                         self.tasks.mount_of('cpuset'))
        with self.assertRaisesRegex(LookupError, 'memory is not mounted'):
            self.tasks.mount_of('memory')
        with self.assertRaisesRegex(LookupError, 'not mounted'):
            self.tasks.mount_of('')


class MachineTest(base.EveryKernelTest):
    """Virtual machines on each kernel, their threads in groups of vCPUs."""

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(tasks.privsep, 'place_vcpu',
                                  emulated.place_vcpu)
        patch.start()
        self.addCleanup(patch.stop)
        self.guests = emulated.Guests(self.kernel)
        self.tasks = emulated.EmulatedTasks(self.kernel)
        self.controller = self.interface.controller
        self.pid = self.guests.start_qemu('m', ['1', '3'])
        self.first, self.second = self.guests.vcpus(self.pid)

    def threads(self, group: str) -> list[int]:
        return self.tasks.threads(group, self.controller)

    def test_gather(self) -> None:
        wanted = self.threads(self.first) + self.threads(self.second)
        self.assertEqual(2, len(wanted))
        for _ in range(2):
            self.tasks.gather([self.first, self.second], self.controller,
                              (1, 3))
            self.assertEqual(wanted, self.threads(self.first))
            self.assertEqual([], self.threads(self.second))
        self.assertEqual({3}, self.kernel.tasks[wanted[1]].affinity)
        # On v2 the group must allow both.
        cpus = {1, 3} if self.kernel.version == 2 else {1}
        self.assertEqual(cpus, self.kernel.confined()[self.first])

    def test_gather_one(self) -> None:
        self.kernel.written.clear()
        self.tasks.gather([self.first], self.controller, (1,))
        self.assertEqual([], self.kernel.written)

    def test_threads_of_the_domain(self) -> None:
        group = self.guests.group(self.pid)
        iothread = self.threads(f'{group}/iothread1')
        self.assertEqual(sorted(self.guests.running[self.pid] + iothread),
                         sorted(self.threads(group)))
        self.assertEqual([], self.tasks.threads(
            self.first + '/none', self.controller))

    def test_idle_groups(self) -> None:
        group = self.guests.group(self.pid)
        self.assertEqual([], list(self.tasks.idle_groups(
            '/machine', self.controller)))
        self.kernel.exit(self.threads(self.second)[0])
        base.mkdirs(self.kernel, '/machine/x/y')
        self.assertEqual(
            [f'{group}/vcpu1', '/machine/x/y'],
            list(self.tasks.idle_groups('/machine', self.controller)))

    def test_a_group_of_tasks_that_die_is_not_idle(self) -> None:
        """New kernels list them no more, and they need the budget to end."""
        if self.controller:
            self.skipTest('cgroup v1 does not say it')
        base.mkdirs(self.kernel, '/machine/x/y')
        thread = emulated.new_id()
        self.kernel.spawn(thread, '/machine/x/y')
        self.kernel.begin_exit(thread)
        self.assertEqual([], list(self.tasks.idle_groups('/machine/x', '')))
        self.kernel.exit(thread)
        self.assertEqual(['/machine/x/y'], list(self.tasks.idle_groups(
            '/machine/x', '')))

    def test_a_group_that_is_removed_meanwhile_is_idle(self) -> None:
        if self.controller:
            self.skipTest('cgroup v1 does not say it')
        base.mkdirs(self.kernel, '/machine/x')
        gone, read = '/machine/x/cgroup.events', self.kernel.read

        def removed(path: str) -> str:
            if path.endswith(gone):
                self.kernel.rmdir('/machine/x')
            return read(path)

        with mock.patch.object(self.kernel, 'read', removed):
            self.assertIn('/machine/x', [*self.tasks.idle_groups(
                '/machine', '')])

    def test_groups_below(self) -> None:
        group = self.guests.group(self.pid)
        self.assertEqual(
            [f'{group}/emulator', f'{group}/iothread1', self.first,
             self.second],
            self.tasks.groups_below(group, self.controller))


class GroupOfTest(base.KernelTest):
    """The production reading of /proc/PID/cgroup, on our own process."""

    def test_own_process(self) -> None:
        found = tasks.Tasks(self.kernel)
        with open('/proc/self/cgroup') as lines:
            controllers = lines.readline().split(':')[1].split(',')
        self.assertTrue(found.group_of(
            os.getpid(), controllers[0]).startswith('/'))

    def test_no_such_controller(self) -> None:
        with self.assertRaisesRegex(LookupError, 'no nothing group'):
            tasks.Tasks(self.kernel).group_of(os.getpid(), 'nothing')

    def test_no_such_process(self) -> None:
        with self.assertRaisesRegex(LookupError, 'has ended'):
            tasks.Tasks(self.kernel).group_of(1 << 23, 'cpu')
