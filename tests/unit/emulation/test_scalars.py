# SPDX-License-Identifier: Apache-2.0

"""F1: the rules that were measured; the real kernel is asked elsewhere."""

from tests.emulation import scalars
from tests.unit.emulation import base


class F1Test(base.EmulationTest):
    """Sections 1.1 to 1.8 of the facts."""

    def test_new_groups(self) -> None:
        self.assertEqual((950_000, 1_000_000), self.kernel.snapshot()['/'])
        self.assertEqual((0, 1_000_000), self.kernel.snapshot()['/a/b'])

    def test_numbers(self) -> None:
        self.assert_ok(self.runtime('/a', '0x10'))
        self.assertEqual('16', self.read('/a', scalars.RUNTIME))
        for text in (' 5', '5 5', 'x', '', '5 x'):
            self.assertEqual('EINVAL', self.runtime('/a', text), text)
        self.assertEqual('ERANGE', self.runtime('/a', 1 << 63))
        self.assertEqual('EINVAL', self.period('/a', -1))
        self.assertEqual(0, self.kernel.write_data(
            self.path('/a', scalars.RUNTIME), ''))
        self.assertEqual('16', self.read('/a', scalars.RUNTIME))

    def test_limits(self) -> None:
        self.assert_ok(self.runtime('/a', 1))
        self.assertEqual('EINVAL', self.runtime('/a', 1_000_001))
        self.assertEqual('EINVAL', self.period('/a', 0))
        self.assert_ok(self.period('/a', 18446744073709551))
        self.assertEqual('EINVAL', self.period('/a', 18446744073709552))
        self.assertEqual('EINVAL', self.runtime('/a', -1))

    def test_siblings_share_their_parent_whatever_the_pinning(self) -> None:
        self.assert_ok(self.runtime('/a', 600_000))
        self.assertEqual('EINVAL', self.runtime('/d', 600_000))
        self.assert_ok(self.runtime('/a/b', 400_000))
        self.assertEqual('EINVAL', self.runtime('/a/c', 200_001))
        self.assertEqual('EINVAL', self.runtime('/a', 399_999))
        self.assertEqual('EINVAL', self.runtime('/a', 0))

    def test_twenty_bits(self) -> None:
        self.assert_ok(self.runtime('/a', 900_000))
        self.assert_ok(self.runtime('/d', 50_001))
        self.assertEqual('EINVAL', self.runtime('/d', 50_002))

    def test_the_order_of_the_two_writes(self) -> None:
        self.assert_ok(self.runtime('/a', 50_000), self.runtime('/a/b', 40),
                       self.period('/a/b', 1_000))
        self.assertEqual('EINVAL', self.runtime('/a/b', 4_000))
        self.assert_ok(self.period('/a/b', 100_000),
                       self.runtime('/a/b', 4_000))
        self.assertEqual('EINVAL', self.period('/a/b', 1_000))
        self.assert_ok(self.runtime('/a/b', 40), self.period('/a/b', 1_000))

    def test_tasks(self) -> None:
        self.task('/a')
        self.assertEqual('EPERM', self.policy(7, base.FIFO))
        self.assert_ok(self.runtime('/a', 1_000), self.policy(7, base.FIFO))
        self.assertEqual('EBUSY', self.runtime('/a', 0))
        self.assertEqual('EINVAL', self.move(7, '/d'))
        self.assert_ok(self.runtime('/a', 500), self.period('/a', 500_000))
        self.assert_ok(self.policy(7, base.OTHER), self.runtime('/a', 0))

    def test_a_whole_process(self) -> None:
        self.assert_ok(self.runtime('/a', 1_000))
        self.task('/a', base.FIFO)
        self.kernel.spawn(8, '/a', process=7)
        self.assertEqual('EINVAL', self.write('/d', 'cgroup.procs', '8'))
        self.assert_ok(self.write('/d', 'tasks', '8'))
        self.assertEqual('ESRCH', self.write('/d', 'tasks', '99'))
        self.task('/', thread=2)
        self.assertEqual('EINVAL', self.write('/d', 'tasks', '2'))

    def test_fork(self) -> None:
        self.assert_ok(self.runtime('/a', 1_000))
        self.task('/a', base.FIFO)
        child = self.kernel.fork(7, 8)
        self.assertEqual((base.FIFO, '/a'),
                         (child.policy, child.groups['cpu']))

    def test_late_return_of_a_budget(self) -> None:
        self.assert_ok(self.runtime('/a', 1_000), self.runtime('/a/b', 1_000))
        self.kernel.rmdir('/a/b')
        self.assertEqual('EINVAL', self.runtime('/a/c', 1_000))
        self.clock.sleep(0.02)
        self.assert_ok(self.runtime('/a/c', 1_000), self.runtime('/a/c', 0))
        self.kernel.rmdir('/a/c')
        self.assert_ok(self.runtime('/a', 0))

    def test_sysctl(self) -> None:
        def write(runtime: int, period: int) -> str:
            return self.result(
                lambda: self.kernel.set_sysctl(runtime, period))

        self.assertEqual('EINVAL', write(940_000, 1_000_000))
        self.assertEqual('EBUSY', write(0, 1_000_000))
        self.assertEqual('EINVAL', write(-2, 1_000_000))
        self.assertEqual('EINVAL', write(950_000, 2_000_000))
        self.assert_ok(write(1_000_000, 1_000_000))
        self.assertEqual('950000', self.read('/', scalars.RUNTIME))
        self.assert_ok(self.runtime('/', 1_000_000), write(-1, 1_000_000))

    def test_granted(self) -> None:
        self.assert_ok(self.runtime('/a', 2_000), self.runtime('/a/b', 1_000))
        self.assertEqual(
            {'/a': dict.fromkeys(range(4), (2_000, 1_000_000)),
             '/a/b': dict.fromkeys(range(4), (1_000, 1_000_000))},
            self.kernel.granted())
        self.assertEqual([], self.kernel.over_cap(1_000))
        self.assertEqual(4, len(self.kernel.over_cap(999)))

    def test_survives(self) -> None:
        self.assert_ok(self.runtime('/a', 1_000))
        self.task('/a', base.FIFO)
        self.assert_ok(self.policy(7, base.OTHER), self.runtime('/a', 0))
