# SPDX-License-Identifier: Apache-2.0

"""F2: what was observed on a real kernel with the HCBS patches."""

import os

from tests.emulation import groups
from tests.emulation import hcbs
from tests.emulation import kernel as emulation
from tests.emulation import scalars
from tests.unit.emulation import base


class WriteTest(base.EmulationTest):
    """Values, on cgroup v1."""

    name = 'F2'

    def test_short_writes(self) -> None:
        self.assert_ok(self.runtime('/a', 16))
        for text in ('1000001', '600000000', '1'):
            self.assertEqual(base.SHORT, self.runtime('/a', text))
            self.assertEqual('16', self.read('/a', scalars.RUNTIME))
        self.assertEqual(base.SHORT, self.period('/a', 15))
        self.assertEqual(1, self.kernel.write_data(
            self.path('/a', scalars.RUNTIME), '2000000\n'))
        self.assert_ok(self.runtime('/a', 2))

    def test_sending_the_rest_kills(self) -> None:
        path = self.path('/a', scalars.RUNTIME)
        self.assert_ok(self.period('/a', 500_000))
        data = '600000\n'
        count = self.kernel.write_data(path, data)
        self.assert_dies(lambda: self.kernel.write_data(path, data[count:]))

    def test_the_rest_is_another_number(self) -> None:
        """A loop over short writes leaves a wrong number that nobody sees."""
        self.kernel.resend_kills = False
        path = self.path('/a', scalars.RUNTIME)
        self.assert_ok(self.period('/a', 500_000), self.runtime('/a', 1_000))
        for data, value in (('600123\n', '83'), ('600000\n', '0')):
            rest = data
            while rest:
                rest = rest[self.kernel.write_data(path, rest):]
            self.assertEqual(value, self.read('/a', scalars.RUNTIME))

    def test_another_value_after_a_short_write(self) -> None:
        self.assertEqual(base.SHORT, self.runtime('/a', 1_000_001))
        self.assert_ok(self.runtime('/a', 0), self.runtime('/a', 1_000))

    def test_periods(self) -> None:
        for value in ('0', '-1', '18446744073709552'):
            self.assertEqual('EINVAL', self.period('/a', value))
        self.assert_ok(self.period('/a', 1),
                       self.period('/a', 9223372036854775))
        for value in ('9223372036854776', '18446744073709551'):
            self.assertEqual(base.SHORT, self.period('/a', value))

    def test_the_order_of_the_two_writes(self) -> None:
        """Short where runtime > period, EINVAL where room is missing."""
        self.assert_ok(self.runtime('/a', 50_000), self.runtime('/a/b', 40),
                       self.period('/a/b', 1_000))
        self.assertEqual(base.SHORT, self.runtime('/a/b', 4_000))
        self.assertEqual('EINVAL', self.runtime('/a/b', 999))

    def test_new_groups_have_the_sysctl_period(self) -> None:
        self.assert_ok(self.runtime('/', 475_000), self.period('/', 500_000))
        self.kernel.set_sysctl(475_000, 500_000)
        self.kernel.mkdir('/new')
        self.assertEqual(((0,) * 4, 500_000), self.kernel.snapshot()['/new'])
        self.assertEqual('1000000', self.read('/a', scalars.PERIOD))

    def test_twenty_bits_and_siblings(self) -> None:
        self.assert_ok(self.runtime('/a', 400_000),
                       self.runtime('/d', 550_001))
        self.assertEqual('EINVAL', self.runtime('/d', 550_002))
        self.assertEqual('EINVAL', self.runtime('/a/b', 400_001))

    def test_root(self) -> None:
        self.assertEqual('EINVAL', self.runtime('/', 0))
        self.assertEqual('EINVAL', self.runtime('/', 950_001))
        self.assertEqual('EINVAL', self.runtime('/a', -1))
        self.kernel.set_sysctl(1_000_000, 1_000_000)
        self.assert_ok(self.runtime('/', -1))
        self.assertEqual('-1', self.read('/', scalars.RUNTIME))


class TasksTest(base.EmulationTest):
    """Tests where real-time tasks may be, on cgroup v1."""

    name = 'F2'

    def prepare(self) -> None:
        super().prepare()
        self.assert_ok(self.runtime('/a', 400_000))
        self.task('/a')

    def test_zero_group(self) -> None:
        self.task('/d', thread=8)
        self.assertEqual('EPERM', self.policy(8, base.FIFO))
        self.assert_ok(self.policy(7, base.FIFO))
        self.assertEqual('EINVAL', self.move(7, '/d'))
        self.assertEqual('EBUSY', self.runtime('/a', 0))
        self.assert_ok(self.runtime('/a', 2))

    def test_leaves_only(self) -> None:
        self.task('/', base.FIFO, 8)
        self.assert_ok(self.runtime('/a/b', 100_000))
        self.assertEqual('EINVAL', self.move(8, '/a'))
        self.assert_ok(self.move(8, '/a/b'))

    def test_the_hole(self) -> None:
        """An ordinary task of a group in the middle can be promoted.

        The same again is no change, which is asked of no group.
        """
        self.assert_ok(self.runtime('/a/b', 400_000),
                       self.policy(7, base.FIFO), self.policy(7, base.FIFO))
        self.assertEqual('EPERM', self.policy(7, os.SCHED_RR))

    def test_no_budget_below_real_time_tasks(self) -> None:
        self.assert_ok(self.policy(7, base.FIFO))
        self.assertEqual('EINVAL', self.runtime('/a/b', 100_000))
        self.task('/', base.FIFO, 8)
        self.assert_ok(self.runtime('/d', 100_000))

    def test_rmdir(self) -> None:
        self.assert_ok(self.runtime('/a/b', 400_000))
        self.task('/a/b', thread=8)
        self.assertEqual('EBUSY', self.result(
            lambda: self.kernel.rmdir('/a/b')))
        self.kernel.exit(8)
        self.kernel.rmdir('/a/b')
        self.assertEqual('EINVAL', self.runtime('/a/c', 1_000))
        self.clock.sleep(0.02)
        self.assert_ok(self.runtime('/a/c', 1_000))

    def test_deadline(self) -> None:
        """The root group owns the pool; the tasks count as real-time."""
        def deadline(thread: int, runtime: int) -> str:
            return self.result(lambda: self.kernel.set_deadline(
                thread, runtime, 1_000_000))

        self.assertEqual('EBUSY', deadline(7, 100))
        self.assert_ok(self.runtime('/', 800_000), deadline(7, 300_000))
        self.assert_ok(self.runtime('/', 875_000))
        self.assertEqual('EBUSY', self.runtime('/', 880_000))
        self.assertEqual('EINVAL', self.move(7, '/d'))
        self.assertEqual('EBUSY', self.runtime('/a', 0))

    def test_the_lock_that_is_never_released(self) -> None:
        self.assert_ok(self.runtime('/', 800_000), self.move(7, '/d'))
        self.kernel.set_deadline(7, 100, 1_000_000)
        self.assertEqual('EPERM', self.policy(7, base.FIFO))
        self.kernel.mkdir_cpuset('/x')
        self.assert_dies(lambda: self.write('/x', 'cpuset.cpus', '0'))


class SysctlTest(base.EmulationTest):
    """kernel.sched_rt_runtime_us."""

    name = 'F2'

    def sysctl(self, runtime: int) -> str:
        return self.result(
            lambda: self.kernel.set_sysctl(runtime, 1_000_000))

    def test_values(self) -> None:
        for value in (940_000, 0, -2, 1_000_001):
            self.assertEqual('EINVAL', self.sysctl(value))
        self.assert_ok(self.runtime('/', 900_000))
        self.assertEqual('EBUSY', self.sysctl(0))
        self.assert_ok(self.sysctl(940_000), self.sysctl(1_000_000))

    def test_unlimited_ends_all_enforcement(self) -> None:
        self.assert_dies(lambda: self.sysctl(-1))

    def test_below_what_deadline_tasks_hold(self) -> None:
        """The kernel accepts the write, and then refuses to undo the write."""
        self.task('/')
        self.assert_ok(self.runtime('/', 800_000))
        self.kernel.set_deadline(7, 600_000, 1_000_000)
        self.assert_ok(self.sysctl(900_000))
        self.assertEqual('EBUSY', self.sysctl(950_000))
        self.assertEqual('EBUSY', self.runtime('/d', 100))


class DeathTest(base.EmulationTest):
    """Zeroing a group while a server of it is throttled."""

    name = 'F2'

    def prepare(self) -> None:
        super().prepare()
        self.assert_ok(self.runtime('/a', 400_000),
                       self.runtime('/d', 400_000), self.period('/a', 900_000))
        self.task('/a')
        self.assert_ok(self.policy(7, base.FIFO))

    def test_right_after_it_is_demoted(self) -> None:
        self.assert_ok(self.policy(7, base.OTHER))
        self.assert_dies(lambda: self.runtime('/a', 0))
        self.assert_dies(lambda: self.kernel.exit(7))

    def test_right_after_its_exit(self) -> None:
        self.kernel.exit(7)
        self.clock.sleep(0.8999)
        self.assert_dies(lambda: self.runtime('/a', 0))

    def test_right_after_it_moved(self) -> None:
        self.assert_ok(self.move(7, '/d'))
        self.assert_dies(lambda: self.runtime('/a', 0))

    def test_a_period_later(self) -> None:
        self.kernel.exit(7)
        self.clock.sleep(0.9)
        self.assert_ok(self.runtime('/a', 0))

    def test_without_taking_all(self) -> None:
        self.kernel.exit(7)
        self.assert_ok(self.runtime('/a', 2))

    def test_remove_it_at_once(self) -> None:
        """libvirt removes the groups; the kernel lives, and forgets them."""
        self.kernel.exit(7)
        for group in ('/a/b', '/a/c', '/a'):
            self.kernel.rmdir(group)
            self.assertNotIn(group, self.kernel.budgets())

    def test_a_refused_zero(self) -> None:
        self.kernel.fork(7, 8)
        self.kernel.exit(7)
        self.assertEqual('EBUSY', self.runtime('/a', 0))

    def test_never_real_time(self) -> None:
        self.task('/d', thread=8)
        self.kernel.exit(8)
        self.assert_ok(self.runtime('/d', 0))


class V2Test(base.EmulationTest):
    """The tests of the same files on cgroup v2."""

    name = 'F2-v2'

    def test_no_controller_while_a_task_outside_is_real_time(self) -> None:
        self.kernel = hcbs.Kernel(4, self.clock, version=2)
        self.kernel.mkdir('/a')
        self.task('/', base.FIFO, 8)
        self.task('/a', base.FIFO)
        self.assertEqual('EINVAL', self.subtree('/', '+cpu'))
        self.assert_ok(self.policy(7, base.OTHER), self.subtree('/', '+cpu'))

    def test_taking_the_controller_resets(self) -> None:
        self.assert_ok(self.runtime('/a', 1_000), self.runtime('/a/b', 1_000))
        self.assertEqual('EBUSY', self.subtree('/', '-cpu'))
        self.assert_ok(self.subtree('/a', '-cpu'))
        self.assertEqual('ENOENT', self.runtime('/a/b', 1))
        self.assert_ok(self.subtree('/a', '+cpu'))
        self.assertEqual('0', self.read('/a/b', scalars.RUNTIME))

    def test_not_with_a_real_time_task_in_a_threaded_leaf(self) -> None:
        self.assert_ok(self.runtime('/a', 1_000), self.runtime('/a/b', 1_000))
        self.assert_ok(self.write('/a/b', 'cgroup.type', 'threaded'))
        self.task('/a/b', base.FIFO)
        self.assertEqual('EINVAL', self.subtree('/a', '-cpu'))

    def test_late(self) -> None:
        self.assert_ok(self.runtime('/a', 1_000), self.runtime('/a/b', 1_000))
        self.kernel.rmdir('/a/b')
        self.clock.sleep(0.019)
        self.assertEqual('EINVAL', self.runtime('/a/c', 1_000))
        self.clock.sleep(0.002)
        self.assert_ok(self.runtime('/a/c', 1_000))


class RatioTest(base.EmulationTest):
    """The arithmetic of all but F5."""

    def test_ratio(self) -> None:
        self.assertEqual(1 << 20, groups.ratio(-1, 5))
        self.assertEqual(0, groups.ratio(0, 0))
        self.assertEqual(104857, emulation.ratio(1, 10))
