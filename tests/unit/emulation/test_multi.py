# SPDX-License-Identifier: Apache-2.0

"""F2m and F3m: a runtime for each CPU."""

from tests.emulation import hcbs_multi
from tests.emulation import hcbs_rfc_multi
from tests.emulation import scalars
from tests.unit.emulation import base


class F2mTest(base.EmulationTest):
    """cpu.rt_multi_runtime_us: the CPUs first, others are kept."""

    name = 'F2m'

    def multi(self, group: str, text: str) -> str:
        return self.write(group, hcbs_multi.MULTI, text)

    def shown(self, group: str) -> str:
        return self.read(group, hcbs_multi.MULTI)

    def test_syntax(self) -> None:
        self.assertEqual('0 0 0 0 \n', self.kernel.show(
            self.path('/a', hcbs_multi.MULTI)))
        self.assert_ok(self.multi('/a', '2-3 100'))
        self.assert_ok(self.multi('/a', '0 700 1 500 '))
        self.assertEqual('700 500 100 100', self.shown('/a'))
        for text in ('0', '0 1 2', '100 0-3', '4 100', 'x 100', '', '0 x'):
            self.assertEqual('EINVAL', self.multi('/a', text), text)

    def test_scalar_is_the_average(self) -> None:
        self.assert_ok(self.multi('/a', '0 1000'))
        self.assertEqual('250', self.read('/a', scalars.RUNTIME))
        self.assert_ok(self.runtime('/a', 10))
        self.assertEqual('10 10 10 10', self.shown('/a'))

    def test_scalar_stops_at_the_first_cpu_without_room(self) -> None:
        self.assert_ok(self.multi('/d', '2 600000'))
        self.assertEqual('EINVAL', self.runtime('/a', 400_000))
        self.assertEqual('400000 400000 0 0', self.shown('/a'))

    def test_admission_by_cpu(self) -> None:
        self.assert_ok(self.multi('/a', '0 600000'),
                       self.multi('/d', '1 600000'))
        self.assertEqual('EINVAL', self.multi('/d', '0 600000'))
        self.assertEqual('EINVAL', self.multi('/a/b', '1 1000'))
        self.assert_ok(self.multi('/a/b', '0 600000'))
        self.assertEqual('EINVAL', self.multi('/a', '0 599999'))

    def test_no_short_writes(self) -> None:
        self.assertEqual('EINVAL', self.multi('/a', '0 1000001'))
        self.assertEqual('EINVAL', self.multi('/a', '0 1'))
        self.assertEqual('EINVAL', self.period('/a', 0))

    def test_tasks(self) -> None:
        self.task('/a')
        self.assertEqual('EPERM', self.policy(7, base.FIFO))
        self.assert_ok(self.multi('/a', '0 1000 1 1000'),
                       self.policy(7, base.FIFO))
        self.assertEqual('EINVAL', self.multi('/a', '0 0'))
        self.assertEqual('EINVAL', self.multi('/a', '0-3 0'))
        self.assertEqual('EINVAL', self.runtime('/a', 0))
        self.assert_ok(self.multi('/a', '0 2'))
        self.assertEqual('EINVAL', self.multi('/a/b', '0 2'))
        self.assert_ok(self.policy(7, base.OTHER))
        self.clock.sleep(1)
        self.assert_ok(self.multi('/a/b', '0 2'))
        self.assertEqual('EPERM', self.policy(7, base.FIFO))

    def test_a_cpu_that_may_be_throttled(self) -> None:
        self.task('/a')
        self.assert_ok(self.multi('/a', '0-1 1000'),
                       self.policy(7, base.FIFO), self.policy(7, base.OTHER))
        self.assert_dies(lambda: self.multi('/a', '1 0'))

    def test_zero_in_the_root(self) -> None:
        self.assert_dies(lambda: self.multi('/', '0 0'))

    def test_old_kernels(self) -> None:
        self.kernel = hcbs_multi.Kernel(4, self.clock, refuses_zero=True)
        self.kernel.mkdir('/a')
        self.assertEqual('EINVAL', self.multi('/a', '0 0'))
        self.assert_ok(self.multi('/a', '0 2'))

    def test_granted(self) -> None:
        self.assert_ok(self.multi('/a', '1 2000'),
                       self.multi('/a/b', '1 1000'))
        self.assertEqual({'/a': {1: (2_000, 1_000_000)},
                          '/a/b': {1: (1_000, 1_000_000)}},
                         self.kernel.granted())
        self.assertEqual(1, len(self.kernel.over_cap(999)))
        self.assertEqual(((0, 1_000, 0, 0), 1_000_000),
                         self.kernel.snapshot()['/a/b'])


class F3mTest(base.EmulationTest):
    """Lists in both files: the value first, CPUs not named get 0."""

    name = 'F3m'

    def prepare(self) -> None:
        super().prepare()
        self.assert_ok(self.period('/', 1_000_000),
                       self.runtime('/', 900_000))
        self.assert_ok(self.period('/a', 1_000_000))

    def test_syntax(self) -> None:
        self.assert_ok(self.runtime('/a', '10000 0-2'))
        self.assertEqual('10000 10000 10000 0 \n', self.kernel.show(
            self.path('/a', scalars.RUNTIME)))
        self.assert_ok(self.runtime('/a', '200 3 100 0,2'))
        self.assertEqual('100 0 100 200', self.read('/a', scalars.RUNTIME))
        for text in ('1000 4', '1000 0 1000', '', 'x', '1000 x'):
            self.assertEqual('EINVAL', self.runtime('/a', text), text)

    def test_probe(self) -> None:
        self.kernel.mkdir('/probe')
        self.assert_ok(self.period('/probe', '100000 1'))
        self.assertEqual('0 100000 0 0', self.read('/probe', scalars.PERIOD))

    def test_the_root_is_uniform(self) -> None:
        self.assertEqual('EINVAL', self.runtime('/', '900000 0-2'))
        self.assertEqual('EINVAL', self.runtime('/', '1 0-2 900000 3'))

    def test_admission_by_cpu(self) -> None:
        self.assert_ok(self.period('/d', 100_000),
                       self.runtime('/a', '600000 0'),
                       self.runtime('/d', '60000 1'))
        self.assertEqual('EINVAL', self.runtime('/d', '60000 0-1'))

    def test_a_period_on_one_cpu_only(self) -> None:
        self.assert_ok(self.runtime('/a', '1000 0-1'))
        self.assertEqual('EINVAL', self.period('/a', '100000 0'))
        self.assertEqual('EINVAL', self.runtime('/d', '1000 0'))

    def test_tasks(self) -> None:
        self.task('/a')
        self.assertEqual('EPERM', self.policy(7, base.FIFO))
        self.assert_ok(self.runtime('/a', '1000 0-1'),
                       self.policy(7, base.FIFO))
        self.assertEqual('EBUSY', self.runtime('/a', 0))
        self.assert_ok(self.runtime('/a', '1000 0'))
        self.assert_ok(self.policy(7, base.OTHER))
        self.assert_dies(lambda: self.runtime('/a', '1000 1'))

    def test_one_number_where_all_have_it(self) -> None:
        self.kernel = hcbs_rfc_multi.Kernel(uniform_scalar=True)
        self.assert_ok(self.period('/', 1_000_000))
        self.assertEqual('1000000', self.read('/', scalars.PERIOD))
