# SPDX-License-Identifier: Apache-2.0

"""Tests what is written on each kernel, and how often."""

from collections.abc import Mapping
import os
import unittest

import testscenarios

from nova_rt.machine.kernel import base as kernel_base
from nova_rt.rules import exception
from nova_rt.services.virt.libvirt import layout
from tests.emulation import hcbs_multi
from tests.emulation import hcbs_rfc
from tests.emulation import hcbs_rfc_multi
from tests.emulation import rt_max
from tests.unit.machine.kernel import base
from tests.unit.machine.kernel import host as rt_host

LEAF = base.LEAF
MAX_WRITES = 25
SHAPES = (layout.Layout('/machine/lxc-1-a.libvirt-lxc', (), 0),
          rt_host.NESTED, rt_host.machine(1), rt_host.machine(2),
          rt_host.machine(4))


class SyntaxTest(testscenarios.WithScenarios, base.KernelTest):
    """The words that a fresh leaf and its parent are given, and take back."""

    #: (kind, on pCPUs 1 and 3 of 4, 20 ms every 100 ms)
    F2 = (('/machine', 'runtime', '200000'), (LEAF, 'period', '100000'),
          (LEAF, 'runtime', '20000'))
    F1 = (('/machine', 'runtime', '950000'), *F2[1:])
    F1_BACK = ((LEAF, 'runtime', '0'), ('/machine', 'runtime', '0'))
    F2M = (('/machine', 'multi_runtime', '1 200000 3 200000'),
           (LEAF, 'period', '100000'),
           (LEAF, 'multi_runtime', '1 20000 3 20000'))
    F2M_BACK = ((LEAF, 'multi_runtime', '1 0 3 0'),
                ('/machine', 'multi_runtime', '1 0 3 0'))
    F3 = (('/machine', 'period', '1000000'), *F2)
    F3M = (('/machine', 'period', '1000000'),
           ('/machine', 'runtime', '200000 1,3'),
           (LEAF, 'period', '100000'), (LEAF, 'runtime', '20000 1,3'))
    F4 = (('/machine', 'cpu.rt.max', '200000 1000000'),
          (LEAF, 'cpu.rt.max', '20000 100000'))
    F4_BACK = ((LEAF, 'cpu.rt.max', 'max 0'),
               ('/machine', 'cpu.rt.max', '0 1000000'))

    scenarios = [(kind, {'kind': kind, 'wanted': wanted, 'back': back})
                 for kind, wanted, back in (
                     ('F1', F1, F1_BACK), ('F2', F2, F1_BACK),
                     ('F2-v2', F2, F1_BACK), ('F2m', F2M, F2M_BACK),
                     ('F2m-v2', F2M, F2M_BACK), ('F3', F3, F1_BACK),
                     ('F3m', F3M, F1_BACK), ('F4', F4, F4_BACK),
                     ('F5', F4, F4_BACK))]
    wanted: tuple[tuple[str, str, str], ...]
    back: tuple[tuple[str, str, str], ...]

    def setUp(self) -> None:
        super().setUp()
        base.mkdirs(self.kernel, LEAF)
        if self.interface.binds_cpus:
            self.kernel.write(base.cpus_of(self.kernel, LEAF), '1,3')
        self.interface.settle('/machine')
        self.budget = base.budget(20_000, 100_000, 1, 3)

    def test_reserve_and_release(self) -> None:
        self.assertEqual(list(self.wanted), self.writes_of(
            lambda: self.interface.reserve({LEAF: self.budget})))
        found = self.interface.read(LEAF)
        assert found is not None
        cpus = range(4) if self.interface.replicated else (1, 3)
        self.assertEqual((dict.fromkeys(cpus, 20_000), 100_000),
                         (dict(found.runtime_us), found.period_us))
        self.assertEqual(list(self.back), self.writes_of(
            lambda: self.interface.release([LEAF])))
        self.assertIsNone(self.interface.read(LEAF))

    def test_the_same_again(self) -> None:
        self.interface.reserve({LEAF: self.budget})
        for action in (lambda: self.interface.reserve({LEAF: self.budget}),
                       lambda: self.interface.settle('/machine')):
            self.assertEqual([], self.writes_of(action))
        self.interface.release([LEAF])
        self.assertEqual([], self.writes_of(
            lambda: self.interface.release([LEAF])))

    def test_the_group_is_gone(self) -> None:
        self.interface.reserve({LEAF: self.budget})
        base.rmdir(self.kernel, LEAF)
        self.assertIsNone(self.interface.read(LEAF))
        self.interface.release([LEAF])
        self.assert_tight(self.kernel, '/machine')
        before = self.kernel.budgets()
        with self.assertRaisesRegex(exception.KernelError, LEAF):
            self.interface.reserve({LEAF: self.budget})
        self.assertEqual(before, self.kernel.budgets())

    def test_what_no_kernel_takes(self) -> None:
        self.kernel.written.clear()
        for runtime, period, cpus in (
                (20_000, 10_000, (1, 3)), (0, 10_000, (1, 3)),
                (1_000, 4_194_305, (1, 3)), (1, 0, (1, 3))):
            with self.assertRaisesRegex(
                    exception.KernelError, f'{LEAF}: the group cannot hold'):
                self.interface.reserve(
                    {LEAF: base.budget(runtime, period, *cpus)})
        for budget in (base.budget(1_000, 10_000, 4),
                       kernel_base.Budget({}, 10_000)):
            if self.interface.replicated and budget.runtime_us:
                continue  # which pCPUs is not the kernel's business
            with self.assertRaisesRegex(exception.KernelError, 'cannot hold'):
                self.interface.reserve({LEAF: budget})
        self.assertEqual([], self.kernel.written)

    def test_the_least(self) -> None:
        """Parents too can have no less than a deadline server."""
        least = max(3, self.interface.least_runtime_us())
        self.interface.reserve({LEAF: base.budget(least, 4_194_304, 1, 3)})
        self.assert_tight(self.kernel, '/machine')
        self.interface.release([LEAF])
        self.assert_tight(self.kernel, '/machine')

    def test_capacity(self) -> None:
        self.assertEqual(base.CAP, self.interface.capacity('/machine').ppm)
        self.interface.reserve({LEAF: self.budget})
        self.assertEqual(base.CAP, self.interface.capacity('/machine').ppm)

    def test_what_others_hold_counts(self) -> None:
        base.mkdirs(self.kernel, '/docker/a')
        if self.interface.binds_cpus:
            self.kernel.write(base.cpus_of(self.kernel, '/docker/a'), '1,3')
        self.interface.reserve({'/docker/a': self.budget})
        taken = base.CAP if self.interface.keeps_room('/docker') else 200_000
        self.assertEqual(base.CAP - taken,
                         self.interface.capacity('/machine').ppm)

    def test_enforcement_is_off(self) -> None:
        self.kernel.sysctl = (-1, 1_000_000)
        with self.assertRaisesRegex(exception.KernelError, 'is -1.*950000'):
            self.interface.capacity('/machine')

    def test_a_cpu_that_is_offline(self) -> None:
        """A write for this CPU is possible, and only other CPUs have room."""
        if not self.interface.binds_cpus:
            return  # the root group has it
        read = self.kernel.read
        self.kernel.read = lambda path: (  # type: ignore[method-assign]
            '0-7' if path.endswith('possible') else read(path))
        interface = self.interface_on(self.kernel)
        self.assertEqual(base.CAP, interface.capacity('/machine').ppm)
        interface.reserve({LEAF: self.budget})
        found = interface.read(LEAF)
        assert found is not None
        self.assertEqual(dict(self.budget.runtime_us),
                         dict(found.runtime_us))

    def test_nonsense_in_the_files(self) -> None:
        read = self.kernel.read
        for text in ('', 'x', '1 2 3 4 5 6 7'):
            def nonsense(path: str, text: str = text) -> str:
                return text if 'cpu.rt' in path else read(path)

            self.kernel.read = nonsense  # type: ignore[method-assign]
            for action in (lambda: self.interface.read(LEAF),
                           lambda: self.interface.release([LEAF]),
                           lambda: self.interface.reserve(
                               {LEAF: self.budget}),
                           lambda: self.interface.capacity('/machine')):
                with self.assertRaisesRegex(exception.KernelError,
                                            'cannot read'):
                    action()


class CountTest(testscenarios.WithScenarios, unittest.TestCase):
    """A server costs few writes in all its life."""

    scenarios = base.SCENARIOS
    kind: str

    def test_a_life(self) -> None:
        counts: Mapping[str, int] = {}
        for guest in SHAPES:
            host = rt_host.Host(self.kind, 4)
            claim = rt_host.claim(20_000, 100_000,
                                  range(max(1, len(guest.vcpus))))
            with host.time():
                host.apply(guest, claim)
                host.release(guest)
            counts = {**counts, guest.domain: host.tries}
        self.assertEqual({}, {name: count for name, count in counts.items()
                              if count > MAX_WRITES})


class SeedTest(base.KernelTest):
    """Root groups that start with nothing."""

    def root(self, kernel: object, kind: str, ppm: int = base.CAP) -> int:
        self.kernel = kernel  # type: ignore[assignment]
        base.interface_on(self.kernel, kind, ppm)
        runtimes, period = self.kernel.budgets()['/']
        self.assertEqual(1_000_000, period)
        return max(runtimes)

    def test_as_much_as_is_asked(self) -> None:
        for kernel, kind in ((hcbs_rfc.Kernel(), 'F3'),
                             (hcbs_rfc_multi.Kernel(), 'F3m'),
                             (rt_max.Kernel(), 'F4')):
            self.assertEqual(base.CAP, self.root(kernel, kind))
            self.kernel.written.clear()
            self.assertEqual(base.CAP, self.root(kernel, kind, 500_000))
            self.assertEqual([], self.kernel.written)

    def test_not_more_than_deadline_servers_leave(self) -> None:
        for servers, wanted in ((50_000, 950_000), (100_000, 900_000),
                                (120_000, 850_000)):
            for kernel, kind in (
                    (hcbs_rfc.Kernel(servers_ppm=servers), 'F3'),
                    (hcbs_rfc_multi.Kernel(servers_ppm=servers), 'F3m'),
                    (rt_max.Kernel(servers_ppm=servers), 'F4')):
                self.assertEqual(wanted, self.root(kernel, kind))

    def test_not_more_than_the_sysctl(self) -> None:
        kernel = rt_max.Kernel(sysctl=(800_000, 1_000_000), servers_ppm=0)
        self.assertEqual(800_000, self.root(kernel, 'F4'))

    def test_nothing_is_left(self) -> None:
        with self.assertRaisesRegex(exception.KernelError, 'SCHED_DEADLINE'):
            self.root(rt_max.Kernel(servers_ppm=990_000), 'F4')
        self.assertEqual(((0,) * 4, 1_000_000), self.kernel.budgets()['/'])

    def test_a_root_group_with_a_budget_is_left_alone(self) -> None:
        for revision in (1, 2, 3):
            kernel = hcbs_rfc.Kernel(revision=revision)
            self.root(kernel, 'F3')
            self.assertEqual([], [path for path, _ in kernel.written
                                  if 'cpu.rt' in path])


class OrderTest(base.EveryKernelTest):
    """Several groups at once, on a host that is full."""

    def test_those_that_shrink_come_first(self) -> None:
        base.mkdirs(self.kernel, LEAF, base.OTHER)
        every = (0, 1, 2, 3)
        large = base.budget(90_000, 100_000, *every)
        small = base.budget(50_000, 1_000_000, *every)
        for _ in range(2):
            for one, other in ((large, small), (small, large)):
                self.interface.reserve({LEAF: one, base.OTHER: other})
                self.assertEqual(one, self.interface.read(LEAF))
                self.assertEqual(other, self.interface.read(base.OTHER))
                self.assert_tight(self.kernel, '/machine')
        self.assertEqual(0.0, self.kernel.clock.now)


class ShortWriteTest(testscenarios.WithScenarios, base.KernelTest):
    """HCBS kernels cut a write short to refuse it."""

    scenarios = [(kind, {'kind': kind}) for kind in ('F2', 'F2-v2')]

    def test_written_once(self) -> None:
        base.mkdirs(self.kernel, LEAF, base.OTHER)
        self.interface.reserve({LEAF: base.budget(600_000, 1_000_000)})
        before = self.kernel.budgets()
        tried = []
        self.kernel.intercept = lambda path, text: tried.append(text)
        with self.assertRaisesRegex(exception.KernelError,
                                    'no room for the budget, and refused it '
                                    'by a short write'):
            self.interface.reserve(
                {base.OTHER: base.budget(600_000, 1_000_000)})
        self.assertEqual(['1200000'], tried)
        self.assertEqual(before, self.kernel.budgets())


class UnreservedTest(testscenarios.WithScenarios, base.KernelTest):
    """Tests where guests inherit, there is nothing for them to inherit."""

    scenarios = [(kind, {'kind': kind}) for kind in ('F4', 'F5')]

    def refused(self) -> None:
        with self.assertRaises(PermissionError):
            self.kernel.set_policy(1, os.SCHED_FIFO, 1)

    def test_a_new_guest(self) -> None:
        self.interface.settle('/machine')
        base.mkdirs(self.kernel, LEAF, base.OTHER)
        self.kernel.spawn(1, LEAF)
        self.refused()
        self.interface.reserve({base.OTHER: base.budget(
            20_000, 100_000, 0, 1, 2, 3)})
        self.interface.release([base.OTHER])
        self.refused()


class OldMultiTest(base.KernelTest):
    """F2m kernels that refuse 0 keep 2 us, which count as none."""

    kind = 'F2m'

    def setUp(self) -> None:
        super().setUp()
        self.kernel = hcbs_multi.Kernel(refuses_zero=True)
        self.interface = self.interface_on(self.kernel)
        base.mkdirs(self.kernel, LEAF, base.OTHER)
        self.budget = base.budget(45_000, 100_000, 1, 3)

    def test_many_lives(self) -> None:
        for _ in range(3):
            for group in (LEAF, base.OTHER):
                self.interface.reserve({group: self.budget})
                self.assert_tight(self.kernel, '/machine')
            for group in (LEAF, base.OTHER):
                self.interface.release([group])
                self.assertIsNone(self.interface.read(group))
                self.assert_tight(self.kernel, '/machine')

    def test_what_stays_counts_next_to_nothing(self) -> None:
        self.interface.reserve({LEAF: self.budget})
        self.interface.release([LEAF])
        self.assertEqual(((0, 2, 0, 2), 4_194_304),
                         self.kernel.budgets()[LEAF])
        self.assertLessEqual(max(self.kernel.budgets()['/machine'][0]), 3)
