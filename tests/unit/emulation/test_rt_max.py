# SPDX-License-Identifier: Apache-2.0

"""F4 and F5: cpu.rt.max."""

from tests.emulation import rt_max
from tests.emulation import rt_max_cpuset
from tests.unit.emulation import base


class MaxTest(base.EmulationTest):
    """The root is seeded."""

    name = 'F4'

    def prepare(self) -> None:
        super().prepare()
        self.assert_ok(self.max('/', '900000 1000000'))

    def max(self, group: str, text: str) -> str:
        return self.write(group, rt_max.FILE, text)

    def shown(self, group: str) -> str:
        return self.read(group, rt_max.FILE)


class F4Test(MaxTest):
    """The table of the facts, in its order, and the meaning of max."""

    def test_after_boot(self) -> None:
        kernel = rt_max.Kernel()
        self.assertEqual('0 1000000', kernel.read(
            self.path('/', rt_max.FILE)))
        self.assertEqual('max 0', self.shown('/a'))
        self.assertEqual(((-1,) * 4, 0), self.kernel.snapshot()['/a'])
        self.assertEqual({}, self.kernel.granted())
        self.assertEqual('ENOENT', self.write('/', rt_max.INTERNAL, ''))
        self.assertEqual('EACCES', self.write('/a', rt_max.INTERNAL, '1'))

    def test_syntax(self) -> None:
        for text in ('x 1000', '', '-1 1000', 'maximum 0',
                     f'100 {1 << 64}', f'{1 << 44} {1 << 45}'):
            self.assertEqual('EINVAL', self.max('/a', text), text)
        for text in (f'{(1 << 64) - 1} 1000', f'{1 << 64} 1000',
                     '10000abc 100000'):
            self.assert_ok(self.max('/a', text))
        self.assert_ok(self.max('/a', f'{1 << 64} 0'))
        self.assertEqual('max 0', self.shown('/a'))
        self.assert_ok(self.max('/a', '10000 100000 and more'))
        self.assertEqual('10000 100000', self.shown('/a'))

    def test_a_period_that_is_left_out(self) -> None:
        self.assertEqual('EINVAL', self.max('/a', '10000'))
        self.assert_ok(self.max('/a', 'max'))
        self.assertNotEqual('max 0', self.shown('/a'))

    def test_limits(self) -> None:
        self.assertEqual('EINVAL', self.max('/', 'max 0'))
        for text in ('1 1000', '1001 1000', '50 99', '1000 4194305',
                     '1000 0', '0 99'):
            self.assertEqual('EINVAL', self.max('/a', text), text)
        self.assert_ok(self.max('/a', '0 0'), self.max('/a', '0 100'),
                       self.max('/a', '2 4194304'), self.max('/a', 'max 0'))

    def test_switching_with_real_time_tasks(self) -> None:
        self.task('/a/b', base.FIFO)
        for text in ('10000 100000', '0 100000'):
            self.assertEqual('EINVAL', self.max('/a', text))
        self.assert_ok(self.policy(7, base.OTHER),
                       self.max('/a', '10000 100000'),
                       self.policy(7, base.FIFO))
        self.assert_ok(self.max('/a', '20000 50000'))
        self.assertEqual('EBUSY', self.max('/a', '0 50000'))
        self.assertEqual('EINVAL', self.max('/a', 'max 0'))

    def test_tasks_of_configured_groups_below_are_theirs(self) -> None:
        self.assert_ok(self.max('/a/b', '10000 100000'))
        self.task('/a/b', base.FIFO)
        self.assert_ok(self.max('/a', '10000 100000'),
                       self.max('/a', 'max 0'))

    def test_where_real_time_tasks_run(self) -> None:
        """Without numbers: in the root group; with 0: not at all."""
        self.task('/a/b')
        self.task('/', base.FIFO, 8)
        self.assert_ok(self.policy(7, base.FIFO), self.policy(7, base.OTHER))
        self.assert_ok(self.max('/a', '0 1000000'))
        self.assertEqual('EPERM', self.policy(7, base.FIFO))
        self.assertEqual('EINVAL', self.move(8, '/a/b'))
        self.assert_ok(self.max('/a', '1000 1000000'),
                       self.policy(7, base.FIFO), self.move(8, '/a/b'))

    def test_the_controller_and_real_time_tasks(self) -> None:
        self.kernel = rt_max.Kernel(4, self.clock)
        self.kernel.mkdir('/a')
        self.task('/a', base.FIFO)
        self.assert_ok(self.subtree('/', '+cpu'))

    def test_root_and_pool(self) -> None:
        self.assert_ok(self.max('/', '950000 1000000'))
        self.assertEqual('EBUSY', self.max('/', '950100 1000000'))
        self.kernel.set_sysctl(960_000, 1_000_000)
        self.assertEqual('EINVAL', self.max('/', '960100 1000000'))
        self.assertEqual('EINVAL', self.max('/a', '960100 1000000'))

    def test_nearest_configured(self) -> None:
        """max is transparent; siblings are counted whatever the pinning."""
        self.assert_ok(self.max('/a/b', '60000 100000'))
        self.assertEqual('EINVAL', self.max('/d', '40000 100000'))
        self.assertEqual('EINVAL', self.max('/', '500000 1000000'))
        self.assertEqual('EINVAL', self.max('/a', '50000 100000'))
        self.assert_ok(self.max('/d', '20000 100000'))
        self.assertEqual('EINVAL', self.max('/a/c', '20000 100000'))

    def test_internal(self) -> None:
        self.assert_ok(self.max('/a', '10000 100000'))
        self.assertEqual('9999 100000', self.read('/a', rt_max.INTERNAL))
        self.assert_ok(self.max('/a/b', '10000 100000'))
        self.assertEqual('0 100000', self.read('/a', rt_max.INTERNAL))
        self.task('/a')
        self.assert_ok(self.policy(7, base.FIFO))  # it will never run

    def test_late(self) -> None:
        self.assert_ok(self.max('/a/b', '90000 100000'))
        self.kernel.rmdir('/a/b')
        self.assertEqual('EINVAL', self.max('/d', '90000 100000'))
        self.clock.sleep(0.02)
        self.assert_ok(self.max('/d', '90000 100000'))

    def test_survives_what_kills_the_first_patches(self) -> None:
        """A server's timer ends with its runtime."""
        for text in ('max 0', '0 0'):
            self.setUp()
            self.assert_ok(self.max('/a', '10000 100000'))
            self.task('/a/b', base.FIFO)
            self.kernel.exit(7)
            self.assert_ok(self.max('/a', text))

    def test_internal_of_a_group_without_numbers(self) -> None:
        self.assertEqual('0 0', self.read('/a', rt_max.INTERNAL))

    def test_a_group_that_gets_numbers_above_others(self) -> None:
        """The group is compared with no child, and added to all of them."""
        self.assert_ok(self.max('/a/b', '60000 100000'))
        for text in ('0 0', '0 99991', '5 2000000'):
            self.assert_ok(self.max('/a', text), self.max('/a', 'max 0'))
        self.assertEqual('EINVAL', self.max('/a', '60000 100000'))


class F5Test(MaxTest):
    """Servers are on the CPUs of the group."""

    name = 'F5'

    def cpus(self, group: str, text: str) -> str:
        return self.write(group, 'cpuset.cpus', text)

    def test_local(self) -> None:
        self.assertEqual(
            [f'{cpu} runtime=max period=0' for cpu in range(4)],
            self.read('/a', rt_max_cpuset.LOCAL).splitlines())
        self.assert_ok(self.cpus('/a', '1-2'), self.max('/a', '10000 100000'))
        self.assertEqual(
            ['0 runtime=0 period=100000', '1 runtime=10000 period=100000',
             '2 runtime=10000 period=100000', '3 runtime=0 period=100000'],
            self.read('/a', rt_max_cpuset.LOCAL).splitlines())
        self.assert_ok(self.cpus('/a/b', '2'), self.max('/a/b', '3333 50000'))
        self.assertIn('2 runtime=3334 ',
                      self.read('/a', rt_max_cpuset.LOCAL))
        self.assertEqual('ENOENT', self.write('/', rt_max_cpuset.LOCAL, ''))
        self.assertEqual('ENOENT', self.write('/a', rt_max.INTERNAL, ''))

    def test_a_period_that_is_left_out(self) -> None:
        self.assertEqual('EINVAL', self.max('/a', '10000'))
        self.assert_ok(self.max('/a', '0'))
        self.assertEqual('0 0', self.shown('/a'))
        self.assert_ok(self.max('/a', 'max'))
        self.assertEqual('max 0', self.shown('/a'))

    def test_admission_by_cpu(self) -> None:
        self.assert_ok(self.cpus('/a', '0-1'), self.cpus('/d', '2-3'),
                       self.max('/a', '80000 100000'),
                       self.max('/d', '80000 100000'))
        self.kernel.mkdir('/e')
        self.assert_ok(self.cpus('/e', '3'))
        self.assertEqual('EINVAL', self.max('/e', '10001 100000'))
        self.assert_ok(self.max('/e', '10000 100000'))
        self.assertEqual({3: (10_000, 100_000)},
                         self.kernel.granted()['/e'])
        self.assertEqual([], self.kernel.over_cap(900_000))

    def test_exact(self) -> None:
        """With 20 bits there would be room for one us more."""
        self.assert_ok(self.max('/', '950000 1000000'),
                       self.max('/a', '900000 1000000'))
        self.assertEqual('EINVAL', self.max('/d', '50001 1000000'))
        self.assert_ok(self.max('/d', '50000 1000000'))

    def test_a_cpu_that_the_parent_has_not(self) -> None:
        self.assert_ok(self.cpus('/a', '0'), self.max('/a', '10000 100000'))
        self.assert_ok(self.cpus('/a/b', '0'),
                       self.max('/a/b', '10000 100000'))
        self.assertEqual({0: (10_000, 100_000)},
                         self.kernel.granted()['/a/b'])
        self.assert_ok(self.max('/a/b', 'max 0'))
        self.assert_ok(self.max('/a', 'max 0'), self.cpus('/a', ''),
                       self.cpus('/a', '0-1'))
        self.kernel.mkdir('/a/x')
        self.assert_ok(self.cpus('/a/x', '1'), self.max('/a/x', '1000 10000'))
        # /a would have nothing on the CPU where /a/x has something.
        self.assertEqual('EINVAL', self.max('/a', '100 10000'))

    def test_the_cpus_are_fixed(self) -> None:
        self.assert_ok(self.cpus('/a', '0-1'), self.cpus('/a/b', '0'),
                       self.max('/a/b', '1000 100000'))
        for group in ('/a', '/a/b'):
            self.assertEqual('EINVAL', self.cpus(group, '1'))
        self.assert_ok(self.cpus('/a', '0,1'), self.cpus('/a/c', '1'))
        self.assert_ok(self.max('/a/b', '0 0'))
        self.assertEqual('EINVAL', self.cpus('/a/b', '1'))
        self.assert_ok(self.max('/a/b', 'max 0'), self.cpus('/a/b', '1'))

    def test_pinned_later(self) -> None:
        """The CPUs are those of the time of the write."""
        self.assert_ok(self.max('/d', '1000 100000'))
        self.assertEqual([0, 1, 2, 3], list(self.kernel.granted()['/d']))

    def test_tasks(self) -> None:
        self.assert_ok(self.max('/a', '1000 100000'))
        self.task('/a', base.FIFO)
        self.assertEqual('EINVAL', self.max('/a', 'max 0'))
        self.assertEqual('EBUSY', self.max('/a', '0 100000'))
        self.assert_ok(self.policy(7, base.OTHER), self.max('/a', 'max 0'))

    def test_local_of_max(self) -> None:
        self.assert_ok(self.cpus('/a', '1'))
        self.assertEqual(
            ['0 runtime=0 period=0', '1 runtime=max period=0',
             '2 runtime=0 period=0', '3 runtime=0 period=0'],
            self.read('/a', rt_max_cpuset.LOCAL).splitlines())

    def test_without_cpusets(self) -> None:
        """A group without the files has the CPUs of the group above it."""
        self.assert_ok(self.cpus('/a', '2'), self.subtree('/a', '-cpuset'),
                       self.max('/a/b', '10000 100000'))
        self.assertEqual('ENOENT', self.write('/a/b', 'cpuset.cpus', '2'))
        self.assertEqual({2: (10_000, 100_000)},
                         self.kernel.granted()['/a/b'])

    def test_without_the_controller_cpu(self) -> None:
        """The numbers of the group above bind the cpuset of the group."""
        self.assert_ok(self.subtree('/a', '-cpu'),
                       self.cpus('/a/b', '1'),
                       self.max('/a', '0 1000000'))
        self.assertEqual('EINVAL', self.cpus('/a/b', '2'))
        self.kernel = rt_max_cpuset.Kernel(4, self.clock)
        self.assert_ok(self.subtree('/', '+cpuset'))
        self.kernel.mkdir('/x')
        self.assertEqual('EINVAL', self.cpus('/x', '1'))
        self.assert_ok(self.subtree('/', '+cpu'), self.cpus('/x', '1'))

    def test_a_controller_that_goes(self) -> None:
        """The tasks may go anywhere, and the server stays."""
        self.assert_ok(self.cpus('/a/b', '1'),
                       self.max('/a/b', '10000 100000'),
                       self.subtree('/a', '-cpuset'))
        self.task('/a/b', base.FIFO)
        self.assertEqual({1}, {*self.kernel.granted()['/a/b']})
        self.assertEqual([7], self.kernel.trapped())
        self.assert_ok(self.max('/a/b', '10000 50000'))
        self.assertEqual({0, 1, 2, 3}, {*self.kernel.granted()['/a/b']})
        self.assertEqual([], self.kernel.trapped())

    def test_a_task_that_never_runs(self) -> None:
        """The group is max, and the budget above is used up on this CPU."""
        self.assert_ok(self.cpus('/a/b', '1'),
                       self.cpus('/a/c', '1'),
                       self.max('/a/b', '10000 100000'))
        self.assertEqual('EINVAL', self.max('/a', '9999 100000'))
        self.assert_ok(self.max('/a', '10000 100000'))
        self.task('/a/c')
        self.assert_ok(self.policy(7, base.FIFO))
        self.assertEqual([7], self.kernel.trapped())
        self.kernel.exit(7)
        self.assertIn(7, self.kernel.tasks)
        self.assert_ok(self.max('/a/b', '5000 100000'))
        self.assertEqual([], self.kernel.trapped())
        self.kernel.exit(7)
        self.assertNotIn(7, self.kernel.tasks)

    def test_offline(self) -> None:
        """The cpuset falls back, the server stays until numbers come."""
        self.assert_ok(self.cpus('/a', '3'), self.max('/a', '10000 100000'))
        self.kernel.offline(3)
        self.assertEqual('0-2', self.read('/a', 'cpuset.cpus.effective'))
        self.assertEqual({3}, {*self.kernel.granted()['/a']})
        self.assert_ok(self.max('/a', '10000 100000'))
        self.assertEqual({0, 1, 2}, {*self.kernel.granted()['/a']})
        self.kernel.online(3)
        self.assertEqual('3', self.read('/a', 'cpuset.cpus.effective'))
        self.assertEqual({0, 1, 2}, {*self.kernel.granted()['/a']})

    def test_a_root_that_is_written_while_a_cpu_is_off(self) -> None:
        self.kernel.offline(3)
        self.assert_ok(self.max('/', '900000 1000000'))
        self.kernel.online(3)
        self.assert_ok(self.cpus('/a', '3'))
        self.assertEqual('EINVAL', self.max('/a', '10000 100000'))
        self.assert_ok(self.max('/', '900000 1000000'),
                       self.max('/a', '10000 100000'))


class RootlessTest(MaxTest):
    """There is no file in the root group."""

    name = 'F5-rootless'

    def prepare(self) -> None:
        base.EmulationTest.prepare(self)

    def test_after_boot(self) -> None:
        self.assertEqual('ENOENT', self.max('/', '900000 1000000'))
        self.assert_ok(self.max('/a', '950000 1000000'))
        self.assertEqual('EINVAL', self.max('/d', '1000 1000000'))
        self.assertEqual('EINVAL', self.max('/a', '950001 1000000'))
