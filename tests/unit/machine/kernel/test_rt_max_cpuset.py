# SPDX-License-Identifier: Apache-2.0

"""cpu.rt.max by cpuset, where cpusets and servers do not agree."""

import testscenarios

from nova_rt.machine.kernel import survey
from nova_rt.rules import exception
from tests.emulation import rt_max
from tests.emulation import rt_max_cpuset
from tests.unit.machine.kernel import base

MACHINE = f'{base.PLAIN}/cgroup.subtree_control'


class CpusetTest(base.KernelTest):
    """Two containers below the group of all guests."""

    kind = 'F5'

    def setUp(self) -> None:
        super().setUp()
        self.interface.settle(base.PLAIN)
        base.mkdirs(self.kernel, base.LEAF, base.OTHER)

    def pin(self, group: str, cpus: str) -> None:
        self.kernel.write(base.cpus_of(self.kernel, group), cpus)

    def reserve(self, group: str, *cpus: int, runtime: int = 40_000) -> None:
        self.interface.reserve({group: base.budget(runtime, 100_000, *cpus)})

    def write(self, group: str, text: str) -> None:
        self.kernel.write(f'{base.mount(self.kernel)}{group}/cpu.rt.max',
                          text)

    def on(self, group: str) -> set[int]:
        return {*self.kernel.granted().get(group, ())}


class WithoutCpusetsTest(CpusetTest):
    """Groups with the file of the budget and without those of cpusets."""

    def setUp(self) -> None:
        super().setUp()
        self.kernel.write(f'{base.mount(self.kernel)}{MACHINE}', '-cpuset')

    def test_a_budget_is_seen(self) -> None:
        self.reserve(base.LEAF, 0, 1, 2, 3)
        self.assertEqual(base.budget(40_000, 100_000, 0, 1, 2, 3),
                         self.interface.read(base.LEAF))

    def test_a_budget_is_released(self) -> None:
        self.reserve(base.LEAF, 0, 1, 2, 3)
        self.interface.release([base.LEAF])
        self.assertEqual({}, self.kernel.granted())

    def test_some_cpus_are_refused_with_the_reason(self) -> None:
        with self.assertRaisesRegex(
                exception.KernelError,
                'pinned to CPUs 0-3 instead of 1[.]$'):
            self.reserve(base.LEAF, 1)
        self.assertEqual({}, self.kernel.granted())

    def test_the_next_settle_enables_cpusets(self) -> None:
        self.interface.settle(base.PLAIN)
        self.pin(base.LEAF, '1')
        self.reserve(base.LEAF, 1)
        self.assertEqual({1}, self.on(base.LEAF))

    def test_a_group_that_is_gone(self) -> None:
        self.assertIsNone(self.interface.read('/machine/gone'))


class ControllerTest(base.KernelTest):
    """Nobody has enabled cpusets for the groups of the host."""

    kind = 'F5'

    def setUp(self) -> None:
        self.kernel = self.new_kernel()
        self.path = f'{base.mount(self.kernel)}/cgroup.subtree_control'

    def test_enabled_at_the_start(self) -> None:
        self.interface_on(self.kernel)
        self.assertEqual('cpuset cpu', self.kernel.read(self.path))

    def test_nothing_is_offered_without(self) -> None:
        found = self.interface_on(self.kernel)
        self.assertEqual(950_000, found.capacity('/machine').ppm)
        self.kernel.write(self.path, '-cpuset')
        with self.assertRaisesRegex(
                exception.KernelError,
                'of the root group lacks cpuset, so no guest can be kept'):
            found.capacity('/machine')
        found.settle('/machine')
        self.assertEqual(950_000, found.capacity('/machine').ppm)

    def test_a_host_without_the_controller(self) -> None:
        def refuse(path: str, text: str) -> None:
            if text == '+cpuset':
                raise base.refuse(2)

        self.kernel.intercept = refuse
        with self.assertRaises(exception.KernelError):
            self.interface_on(self.kernel)


class OfflineTest(CpusetTest):
    """CPU 3 goes and comes back."""

    def setUp(self) -> None:
        super().setUp()
        self.pin(base.LEAF, '3')
        self.pin(base.OTHER, '1')
        self.reserve(base.LEAF, 3)

    def test_what_is_read_is_where_the_servers_are(self) -> None:
        self.kernel.offline(3)
        self.assertEqual(base.budget(40_000, 100_000, 3),
                         self.interface.read(base.LEAF))
        self.write(base.LEAF, '40000 100000')
        self.kernel.online(3)
        self.assertEqual(base.budget(40_000, 100_000, 0, 1, 2),
                         self.interface.read(base.LEAF))

    def test_the_same_numbers_again_move_the_servers(self) -> None:
        self.kernel.offline(3)
        self.write(base.LEAF, '40000 100000')
        self.kernel.online(3)
        self.reserve(base.LEAF, 3)
        self.assertEqual({3}, self.on(base.LEAF))

    def test_settle_changes_nothing_meanwhile(self) -> None:
        self.kernel.offline(3)
        before = self.kernel.budgets()
        self.interface.settle(base.PLAIN)
        self.assertEqual(before, self.kernel.budgets())

    def test_a_cpu_that_was_away_when_all_guests_got_numbers(self) -> None:
        self.interface.release([base.LEAF])
        self.kernel.offline(3)
        self.reserve(base.OTHER, 1)
        self.kernel.online(3)
        self.assertEqual({0, 1, 2}, self.on(base.PLAIN))
        self.interface.settle(base.PLAIN)
        self.assertEqual({0, 1, 2, 3}, self.on(base.PLAIN))
        self.reserve(base.LEAF, 3)
        self.assertEqual({3}, self.on(base.LEAF))

    def test_a_root_that_was_seeded_meanwhile(self) -> None:
        self.kernel = self.new_kernel()
        self.kernel.offline(3)
        self.interface_on(self.kernel)
        self.kernel.online(3)
        self.assertEqual({0, 1, 2}, self.root_cpus())
        self.interface = self.interface_on(self.kernel)
        self.assertEqual({0, 1, 2, 3}, self.root_cpus())

    def root_cpus(self) -> set[int]:
        runtimes, _ = self.kernel.budgets()['/']
        return {cpu for cpu, runtime in enumerate(runtimes) if runtime}


class ForbiddenTest(testscenarios.WithScenarios, CpusetTest):
    """Two containers, of which only one has a reservation."""

    scenarios = [(kind, {'kind': kind}) for kind in ('F4', 'F5')]

    def setUp(self) -> None:
        super().setUp()
        self.pin(base.LEAF, '0')
        self.reserve(base.LEAF, 0)
        self.kernel.spawn(1, base.OTHER)

    def may(self) -> bool:
        try:
            self.kernel.set_policy(1, 1, 1)
        except PermissionError:
            return False
        self.kernel.set_policy(1, 0)
        return True

    def test_without_it_the_room_of_all_guests_is_free(self) -> None:
        """Without forbid(), the kernel accepts the task."""
        self.assertTrue(self.may())

    def test_forbidden(self) -> None:
        self.interface.forbid([base.OTHER, '/machine/gone'])
        self.assertFalse(self.may())
        self.assertIsNone(self.interface.read(base.OTHER))
        self.assert_tight(self.kernel, base.PLAIN)

    def test_a_budget_stays(self) -> None:
        self.interface.forbid([base.LEAF])
        self.assertIsNotNone(self.interface.read(base.LEAF))

    def test_a_real_time_task_inside(self) -> None:
        self.kernel.set_policy(1, 1, 1)
        with self.assertRaises(exception.KernelError):
            self.interface.forbid([base.OTHER])

    def test_a_budget_comes_later(self) -> None:
        self.interface.forbid([base.OTHER])
        self.interface.reserve({base.OTHER: base.budget(
            20_000, 100_000, 0, 1, 2, 3)})
        self.assertTrue(self.may())

    def test_a_budget_comes_below(self) -> None:
        """A virtual machine has its budgets below its group."""
        self.interface.forbid([base.OTHER])
        base.mkdirs(self.kernel, f'{base.OTHER}/vcpu0')
        self.interface.reserve({f'{base.OTHER}/vcpu0': base.budget(
            20_000, 100_000, 0, 1, 2, 3)})
        self.assertIn(f'{base.OTHER}/vcpu0', self.kernel.granted())

    def test_released(self) -> None:
        """A released guest can be pinned again, because 0 is also a number."""
        self.interface.forbid([base.OTHER])
        if self.kind == 'F5':
            with self.assertRaises(OSError):
                self.pin(base.OTHER, '2')
        self.interface.release([base.OTHER])
        self.pin(base.OTHER, '2')


class RootlessTest(testscenarios.WithScenarios, base.KernelTest):
    """The root group has no file."""

    scenarios = [('F4', {'kernel_of': rt_max.Kernel, 'kind': 'F4'}),
                 ('F5', {'kernel_of': rt_max_cpuset.Kernel, 'kind': 'F5'})]
    kernel_of: type[rt_max.Kernel]

    def setUp(self) -> None:
        super().setUp()
        self.kernel = self.kernel_of(4, self.kernel.clock, rootless=True)
        self.interface = self.interface_on(self.kernel)

    def ppm(self) -> int:
        return self.interface.capacity('/machine').ppm

    def test_what_the_fair_server_leaves(self) -> None:
        self.assertEqual(950_000, self.ppm())
        self.assertEqual({950_000}, {*self.interface.group_state('/').ppm})

    def test_what_both_servers_leave(self) -> None:
        """The second one is there where sched_ext is."""
        self.files = {'/sys/kernel/sched_ext/state': 'disabled'}
        self.kernel.read = self.read  # type: ignore[method-assign]
        self.assertEqual(900_000, self.ppm())

    def test_servers_that_can_be_read(self) -> None:
        debug = '/sys/kernel/debug/sched'
        self.files = {'/sys/kernel/sched_ext/state': 'disabled'} | {
            f'{debug}/{server}/cpu{cpu}/{name}': value
            for server, runtime in (('fair_server', '20000001'),
                                    ('ext_server', '0'))
            for cpu in range(4)
            for name, value in (('runtime', runtime),
                                ('period', '1000000000'))}
        self.kernel.read = self.read  # type: ignore[method-assign]
        self.assertEqual(979_999, self.ppm())

    def read(self, path: str) -> str:
        if path in self.files:
            return self.files[path]
        return type(self.kernel).read(self.kernel, path)

    def test_all_of_it_is_sold(self) -> None:
        base.mkdirs(self.kernel, base.LEAF)
        self.interface.reserve({base.LEAF: base.budget(
            950_000, 1_000_000, 0, 1, 2, 3)})
        self.assertEqual(950_000, self.ppm())

    def test_it_is_detected(self) -> None:
        hierarchy = survey.hierarchy_of(self.kernel)
        assert hierarchy is not None
        look = survey.Survey(self.kernel, hierarchy)
        with look.open():
            self.assertTrue(type(self.interface).detect(look))


class EveryCpuTest(CpusetTest):
    """Tests what a host sells: 0.95 of each of its CPUs."""

    def test_a_foreign_group_takes_room(self):
        """The rest is offered, and the group is named."""
        self.assertEqual((), self.interface.capacity('/machine').others)
        base.mkdirs(self.kernel, '/foreign')
        self.pin('/foreign', '2')
        self.write('/foreign', '50000 100000')
        self.reserve(base.LEAF, 0, 1, 2, 3)
        found = self.interface.capacity('/machine')
        self.assertEqual((450_000, ('/foreign',)), (found.ppm, found.others))
        self.pin(base.OTHER, '2')
        with self.assertRaises(exception.KernelError):
            self.reserve(base.OTHER, 2, runtime=10_000)

    def test_eight_containers(self) -> None:
        self.kernel.rmdir(base.LEAF)
        self.kernel.rmdir(base.OTHER)
        self.kernel.clock.sleep(1)
        groups = [f'/machine/lxc-{number}' for number in range(12)]
        base.mkdirs(self.kernel, *groups)
        for number, group in enumerate(groups):
            self.pin(group, str(number % 4))
            self.reserve(group, number % 4,
                         runtime=40_000 if number < 8 else 15_000)
        sold = sum(runtime / period for name, held
                   in self.kernel.granted().items() if name in groups
                   for runtime, period in held.values())
        self.assertAlmostEqual(3.8, sold)
        self.assertEqual([], self.kernel.over_cap(950_000))
        base.mkdirs(self.kernel, '/machine/lxc-x')
        self.pin('/machine/lxc-x', '2')
        with self.assertRaises(exception.KernelError):
            self.reserve('/machine/lxc-x', 2, runtime=100)


class NumbersTakenAwayTest(base.KernelTest):
    """Somebody writes "max 0" to the group of all guests."""

    kind = 'F5'

    def heal(self, leaf: str) -> None:
        top = f'/{leaf.split("/")[1]}'
        self.interface.settle(top)
        base.mkdirs(self.kernel, leaf)
        self.interface.reserve({leaf: base.budget(60_000, 100_000,
                                                  0, 1, 2, 3)})
        before = self.kernel.budgets()
        self.kernel.write(f'{base.mount(self.kernel)}{top}/cpu.rt.max',
                          'max 0')
        self.interface.settle(top)
        self.assertEqual(before, self.kernel.budgets())

    def test_plain(self) -> None:
        self.heal(base.LEAF)

    def test_with_groups_in_between(self) -> None:
        """The kernel adds both budgets until the group is above the guest."""
        self.heal(base.DEEP)


class Figure5Test(testscenarios.WithScenarios, base.KernelTest):
    """Figure 5 of the paper: its containers are on more than one CPU."""

    scenarios = [('with root file', {'rootless': False}),
                 ('without root file', {'rootless': True})]
    kind = 'F5'
    rootless: bool

    def setUp(self) -> None:
        super().setUp()
        self.kernel = rt_max_cpuset.Kernel(4, self.kernel.clock,
                                           rootless=self.rootless)
        self.interface = self.interface_on(self.kernel)
        self.interface.settle(base.PLAIN)

    def put(self, name: str, runtime: int, *cpus: int) -> None:
        base.mkdirs(self.kernel, f'/machine/{name}')
        self.kernel.write(base.cpus_of(self.kernel, f'/machine/{name}'),
                          ','.join(map(str, cpus)))
        self.interface.reserve({f'/machine/{name}': base.budget(
            runtime, 100_000, *cpus)})

    def test_the_sequence(self) -> None:
        self.put('a', 50_000, 0, 1)
        self.put('b', 30_000, 2)
        self.put('c', 40_000, 3, 2, 0)
        for cpu in range(4):
            # 0.75 is free in all, but not on one CPU.
            with self.assertRaises(exception.KernelError):
                self.put('d', 75_000, cpu)
        self.interface.release(['/machine/c'])
        self.put('c', 40_000, 1, 2, 0)
        self.put('d', 75_000, 3)
        self.assertEqual(
            {'/machine/a': {0, 1}, '/machine/b': {2}, '/machine/c': {0, 1, 2},
             '/machine/d': {3}},
            {group: {*held} for group, held in self.kernel.granted().items()
             if group != base.PLAIN})
        self.assertEqual([], self.kernel.over_cap(950_000))


class Figure5InAllTest(base.KernelTest):
    """The form before: the third container is refused."""

    kind = 'F4'

    def test_the_third(self) -> None:
        self.interface.settle(base.PLAIN)
        for name, runtime, cpus in (('a', 50_000, (0, 1)),
                                    ('b', 30_000, (2,))):
            base.mkdirs(self.kernel, f'/machine/{name}')
            self.interface.reserve({f'/machine/{name}': base.budget(
                runtime, 100_000, *cpus)})
        base.mkdirs(self.kernel, '/machine/c')
        with self.assertRaises(exception.KernelError):
            self.interface.reserve({'/machine/c': base.budget(
                40_000, 100_000, 0, 2, 3)})
