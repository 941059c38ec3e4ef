# SPDX-License-Identifier: Apache-2.0

"""F3: the postings v1 to v5."""

from tests.emulation import hcbs_rfc
from tests.emulation import scalars
from tests.unit.emulation import base


class RevisionTest(base.EmulationTest):
    """Tests what differs between the postings."""

    name = 'F3'

    def boot(self, revision: int) -> None:
        self.kernel = hcbs_rfc.Kernel(4, self.clock, revision)
        super().prepare()

    def test_new_groups(self) -> None:
        for revision in range(1, 6):
            self.boot(revision)
            self.assertEqual(((0,) * 4, 0), self.kernel.snapshot()['/a'])

    def test_the_root_after_boot(self) -> None:
        self.boot(3)
        self.assertEqual('950000', self.read('/', scalars.RUNTIME))
        self.assertEqual('EINVAL', self.runtime('/', 0))
        self.boot(5)
        self.assertEqual('0', self.read('/', scalars.RUNTIME))
        self.assert_ok(self.runtime('/', 0))

    def test_period_zero(self) -> None:
        self.boot(4)
        self.assertEqual('EINVAL', self.period('/a', 0))
        self.boot(5)
        self.assert_ok(self.period('/a', 0))

    def test_range_of_periods(self) -> None:
        self.boot(4)
        self.assert_ok(self.period('/a', 99), self.period('/a', 4_194_305))
        self.boot(5)
        for value in (99, 4_194_305):
            self.assertEqual('EINVAL', self.period('/a', value))
        self.assert_ok(self.period('/a', 100), self.period('/a', 4_194_304))

    def test_sysctl(self) -> None:
        self.boot(4)
        self.assertEqual((950_000, 1_000_000), self.kernel.sysctl)
        self.boot(5)
        self.assertEqual((1_000_000, 1_000_000), self.kernel.sysctl)
        self.assert_dies(lambda: self.kernel.set_sysctl(-1, 1_000_000))


class F3Test(base.EmulationTest):
    """The fifth."""

    name = 'F3'

    def prepare(self) -> None:
        super().prepare()
        self.assert_ok(self.period('/', 1_000_000),
                       self.runtime('/', 900_000))

    def test_period_first_in_a_new_group(self) -> None:
        self.assertEqual('EINVAL', self.runtime('/a', 1_000))
        self.assert_ok(self.period('/a', 100_000), self.runtime('/a', 1_000))
        self.assertEqual('EINVAL', self.period('/a', 0))

    def test_values(self) -> None:
        self.assert_ok(self.period('/a', 100_000))
        for value in (1, -1, 100_001, 'x'):
            self.assertEqual('EINVAL', self.runtime('/a', value))
        self.assert_ok(self.runtime('/a', 2))

    def test_the_root_and_the_deadline_pool(self) -> None:
        """The fair servers hold 5% of each CPU."""
        self.assertEqual('EBUSY', self.runtime('/', 950_100))
        self.assert_ok(self.runtime('/', 950_000))
        self.task('/')
        self.assertEqual('EBUSY', self.result(
            lambda: self.kernel.set_deadline(7, 100_000, 1_000_000)))
        self.assert_ok(self.runtime('/', 0))
        self.kernel.set_deadline(7, 400_000, 1_000_000)
        self.assertEqual('EBUSY', self.runtime('/', 900_000))

    def test_siblings(self) -> None:
        for group in ('/a', '/d'):
            self.assert_ok(self.period(group, 100_000))
        self.assert_ok(self.runtime('/a', 60_000))
        self.assertEqual('EINVAL', self.runtime('/d', 60_000))
        self.assertEqual('EINVAL', self.runtime('/', 500_000))

    def test_tasks(self) -> None:
        self.task('/a')
        self.task('/', base.FIFO, 8)
        self.assert_ok(*(self.period(group, 100_000)
                         for group in ('/a', '/a/b', '/d')))
        self.assertEqual('EPERM', self.policy(7, base.FIFO))
        self.assertEqual('EINVAL', self.move(8, '/d'))
        self.assert_ok(self.runtime('/a', 10_000), self.policy(7, base.FIFO))
        self.assertEqual('EINVAL', self.runtime('/a/b', 1_000))
        self.assertEqual('EBUSY', self.runtime('/a', 0))
        self.assert_ok(self.policy(7, base.OTHER),
                       self.runtime('/a/b', 1_000))
        self.assertEqual('EPERM', self.policy(7, base.FIFO))
        self.assertEqual('EINVAL', self.move(8, '/a'))
        self.assert_ok(self.runtime('/a/b', 0), self.policy(7, base.FIFO))

    def test_the_controller_and_real_time_tasks(self) -> None:
        self.kernel = hcbs_rfc.Kernel(4, self.clock)
        self.kernel.mkdir('/a')
        self.task('/a', base.FIFO)
        self.assertEqual('EINVAL', self.subtree('/', '+cpu'))
        self.assert_ok(self.move(7, '/'), self.subtree('/', '+cpu'))

    def test_it_dies_as_the_older_ones(self) -> None:
        self.task('/a')
        self.assert_ok(self.period('/a', 100_000), self.runtime('/a', 10_000),
                       self.policy(7, base.FIFO), self.policy(7, base.OTHER))
        self.assert_dies(lambda: self.runtime('/a', 0))
