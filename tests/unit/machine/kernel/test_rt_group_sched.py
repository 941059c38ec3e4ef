# SPDX-License-Identifier: Apache-2.0

"""nova_rt.machine.kernel.rt_group_sched on the emulated kernel."""

from collections.abc import Callable
import errno
import os
import random
from unittest import mock

from nova_rt.machine.kernel import journal
from nova_rt.rules import exception
from tests.emulation import rt_group_sched as emulation
from tests.unit.machine.kernel import base

budget = base.budget


class ReserveTest(base.KernelTest):
    """The values, their order, and the parents."""

    def setUp(self) -> None:
        super().setUp()
        base.mkdirs(self.kernel, base.LEAF, base.OTHER, base.DEEP,
                    base.DEEPER)

    def reserve(self, group: str, runtime: int, period: int) -> None:
        self.interface.reserve({group: budget(runtime, period)})

    def test_parents_grow_before_the_leaf(self) -> None:
        """A parent is throttled too, so the top one gets all there is."""
        found = self.writes_of(
            lambda: self.reserve(base.LEAF, 100_000, 200_000))
        self.assertEqual([('/machine', 'runtime', '950000'),
                          (base.LEAF, 'period', '200000'),
                          (base.LEAF, 'runtime', '100000')], found)

    def test_the_top_group_stays_while_any_has_a_budget(self) -> None:
        self.reserve(base.LEAF, 100_000, 200_000)
        for action in (
                lambda: self.reserve(base.LEAF, 20_000, 200_000),
                lambda: self.reserve(base.OTHER, 20_000, 200_000),
                lambda: self.interface.release([base.LEAF])):
            self.assertNotIn('/machine', [
                group for group, _, _ in self.writes_of(action)])
        self.assertIn(('/machine', 'runtime', '0'), self.writes_of(
            lambda: self.interface.release([base.OTHER])))

    def test_parents_in_the_middle_shrink_after_the_leaf(self) -> None:
        self.reserve(base.DEEP, 100_000, 200_000)
        scope = base.DEEP.rpartition('/')[0]
        found = self.writes_of(
            lambda: self.reserve(base.DEEP, 20_000, 200_000))
        self.assertEqual([(base.DEEP, 'runtime', '20000'),
                          (scope, 'runtime', '100000')], found)

    def test_both_grow_period_first(self) -> None:
        self.reserve(base.LEAF, 40, 1_000)
        found = self.writes_of(
            lambda: self.reserve(base.LEAF, 4_000, 100_000))
        self.assertEqual([(base.LEAF, 'period', '100000'),
                          (base.LEAF, 'runtime', '4000')], found)

    def test_both_shrink_runtime_first(self) -> None:
        self.reserve(base.LEAF, 4_000, 100_000)
        found = self.writes_of(lambda: self.reserve(base.LEAF, 40, 1_000))
        self.assertEqual([(base.LEAF, 'runtime', '40'),
                          (base.LEAF, 'period', '1000')], found)

    def test_runtime_grows_and_period_shrinks(self) -> None:
        self.reserve(base.LEAF, 40_000, 200_000)
        found = self.writes_of(
            lambda: self.reserve(base.LEAF, 60_000, 100_000))
        self.assertEqual([(base.LEAF, 'runtime', '60000'),
                          (base.LEAF, 'period', '100000')], found)

    def test_runtime_shrinks_and_period_grows(self) -> None:
        self.reserve(base.LEAF, 60_000, 100_000)
        found = self.writes_of(
            lambda: self.reserve(base.LEAF, 40_000, 200_000))
        self.assertEqual([(base.LEAF, 'period', '200000'),
                          (base.LEAF, 'runtime', '40000')], found)

    def test_never_goes_through_zero(self) -> None:
        """EBUSY: the tasks of a guest are real-time already."""
        self.reserve(base.LEAF, 60_000, 100_000)
        self.kernel.spawn(1, base.LEAF)
        self.kernel.set_policy(1, os.SCHED_RR, 1)
        for runtime, period in ((20_000, 200_000), (90_000, 150_000),
                                (100, 1_000), (95_000, 100_000)):
            self.reserve(base.LEAF, runtime, period)
            self.assertEqual((runtime, period),
                             self.kernel.snapshot()[base.LEAF])

    def test_the_same_again_writes_nothing(self) -> None:
        self.reserve(base.LEAF, 100_000, 200_000)
        self.assertEqual([], self.writes_of(
            lambda: self.reserve(base.LEAF, 100_000, 200_000)))

    def test_deep_chain(self) -> None:
        found = self.writes_of(
            lambda: self.reserve(base.DEEP, 30_000, 100_000))
        scope = base.DEEP.rpartition('/')[0]
        self.assertEqual(
            ['/machine.slice', scope, base.DEEP, base.DEEP],
            [group for group, _, _ in found])
        self.reserve(base.DEEPER, 7_777, 33_333)
        self.assert_tight(self.kernel, '/machine.slice')
        self.interface.release([base.DEEP])
        self.assert_tight(self.kernel, '/machine.slice')
        self.interface.release([base.DEEPER])
        self.assertEqual((0, 1_000_000),
                         self.kernel.snapshot()['/machine.slice'])

    def test_parents_in_the_middle_are_tight_in_spite_of_rounding(
            self) -> None:
        """The guest finds no room to take, not even a millionth."""
        self.reserve(base.DEEP, 1, 3)
        self.assert_tight(self.kernel, '/machine.slice')
        runtime, period = self.kernel.snapshot()[base.DEEP.rpartition('/')[0]]
        self.assertLess(runtime / period - 1 / 3, 2e-6)

    def test_no_room(self) -> None:
        self.reserve(base.LEAF, 500_000, 1_000_000)
        before = self.kernel.snapshot()
        with self.assertRaisesRegex(
                exception.KernelError, f'{base.OTHER}: .* no room .EINVAL'):
            self.reserve(base.OTHER, 450_001, 1_000_000)
        self.assertEqual(before, self.kernel.snapshot())
        self.reserve(base.OTHER, 450_000, 1_000_000)

    def test_the_group_is_missing(self) -> None:
        before = self.kernel.snapshot()
        with self.assertRaisesRegex(exception.KernelError, '/machine/gone'):
            self.reserve('/machine/gone', 10_000, 100_000)
        self.assertEqual(before, self.kernel.snapshot())

    def test_the_group_goes_while_we_write(self) -> None:
        before = self.kernel.snapshot()
        base.refuse_nth(self.kernel, 1, errno.ENODEV)
        with self.assertRaises(exception.KernelError):
            self.reserve(base.LEAF, 10_000, 100_000)
        self.assertEqual(before, self.kernel.snapshot())

    def test_a_parent_with_a_period_of_its_own(self) -> None:
        for name, text in ((emulation.RUNTIME, '5000'),
                           (emulation.PERIOD, '100000')):
            self.kernel.write(f'/sys/fs/cgroup/cpu/machine/{name}', text)
        with self.assertRaisesRegex(
                exception.KernelError, 'period of 100000 us.*set it to'):
            self.reserve(base.LEAF, 10_000, 100_000)

    def test_another_value_read_back(self) -> None:
        kernel = self.new_kernel()
        base.mkdirs(kernel, base.LEAF)
        interface = self.interface_on(kernel)
        before = kernel.snapshot()
        write = kernel.write
        kernel.write = lambda path, text: write(  # type: ignore[method-assign]
            path, '9999' if text == '10000' else text)
        with self.assertRaisesRegex(exception.KernelError,
                                    'reads 9999 after 10000 was written'):
            interface.reserve({base.LEAF: budget(10_000, 100_000)})
        self.assertEqual(before, kernel.snapshot())

    def test_room_comes_back_late(self) -> None:
        """libvirt removes groups with their budgets; RCU takes its time."""
        self.reserve(base.LEAF, 900_000, 1_000_000)
        self.kernel.rmdir(base.LEAF)
        self.reserve(base.OTHER, 900_000, 1_000_000)
        self.assertEqual(900_000, self.kernel.snapshot()[base.OTHER][0])

    def test_room_comes_back_after_seconds(self) -> None:
        """A start does not need the room of a guest that crashed."""
        self.kernel.late_seconds = 5
        for group, other in ((base.LEAF, base.OTHER),
                             (base.DEEP, base.DEEPER)):
            with self.subTest(group):
                top = '/' + group.split('/')[1]
                self.reserve(group, 300_000, 1_000_000)
                self.kernel.rmdir(group)
                self.reserve(other, 100_000, 200_000)
                self.assertEqual((100_000, 200_000),
                                 self.kernel.snapshot()[other])
                self.kernel.clock.sleep(5)
                self.interface.settle(top)
                self.assert_tight(self.kernel, top)
                self.interface.release([other])

    def test_room_does_not_come_back(self) -> None:
        self.kernel.late_seconds = 60
        self.reserve(base.LEAF, 900_000, 1_000_000)
        self.kernel.rmdir(base.LEAF)
        before = self.kernel.snapshot()
        with self.assertRaisesRegex(exception.KernelError, 'no room'):
            self.reserve(base.OTHER, 900_000, 1_000_000)
        self.assertEqual(before, self.kernel.snapshot())
        self.assertLess(self.kernel.clock.now, 1)


class Killed(BaseException):
    """The process ends before a write."""


class ShrinkingTest(base.KernelTest):
    """A parent is throttled as a leaf is, in periods of its own.

    In its present period the parent may have used more than its children hold
    now.  So the parent keeps its runtime until its period has ended.
    """

    VMS = ('/machine/a.partition/vm1/vcpu0', '/machine/a.partition/vm2/vcpu0')

    def setUp(self) -> None:
        super().setUp()
        base.mkdirs(self.kernel, *self.VMS, base.LEAF)
        self.lowered: dict[str, float] = {}
        self.shrunk = 0
        self.kernel.intercept = self.watch

    def watch(self, path: str, text: str) -> None:
        """Checks that each write leaves time for a period that began."""
        group, _, name = path.removeprefix(emulation.CPU_MOUNT).rpartition('/')
        if name != emulation.RUNTIME:
            return
        old = self.kernel.snapshot()[group][0]
        if int(text) >= old:
            return
        now = self.kernel.clock.now
        before = max((at for leaf, at in self.lowered.items()
                      if leaf.startswith(f'{group}/')), default=-1.0)
        if group in (*self.VMS, base.LEAF):
            self.lowered[group] = now
        elif int(text):
            self.shrunk += 1
            self.assertGreaterEqual(now - before, 1.0, (group, text))

    def reserve(self, group: str, runtime: int) -> None:
        self.interface.reserve({group: budget(runtime, 200_000)})

    def test_no_parent_shrinks_in_the_period_of_its_leaf(self) -> None:
        chosen = random.Random(5)  # noqa: S311 - not for secrets
        for _ in range(60):
            group = chosen.choice((*self.VMS, base.LEAF))
            if chosen.random() < 0.2:
                self.interface.release([group])
            else:
                self.reserve(group, chosen.randrange(1_000, 60_000))
            self.assert_tight(self.kernel, '/machine')
            self.kernel.clock.sleep(chosen.choice((0, 0.1)))
        self.assertGreater(self.shrunk, 20)

    def test_it_waits_for_nothing_else(self) -> None:
        """A larger runtime, and the last guest below a parent."""
        self.reserve(self.VMS[0], 20_000)
        self.reserve(self.VMS[0], 40_000)
        self.reserve(base.LEAF, 40_000)
        self.reserve(base.LEAF, 20_000)
        self.assertEqual(0, self.kernel.clock.now)
        self.interface.release([base.LEAF])
        self.interface.release([self.VMS[0]])
        self.assertLess(self.kernel.clock.now, 1)  # The tasks have ended.

    def test_it_waits_once_for_all_parents(self) -> None:
        self.reserve(self.VMS[0], 40_000)
        self.reserve(self.VMS[0], 20_000)
        self.assertEqual(2, self.shrunk)
        self.assertAlmostEqual(1.02, self.kernel.clock.now)

    def test_killed_while_it_waits(self) -> None:
        """The next change of the group ends what was begun."""
        self.reserve(self.VMS[0], 40_000)
        with mock.patch.object(self.kernel.clock, 'sleep',
                               side_effect=Killed), mock.patch.object(
                                   journal.Journal, 'undo'):
            self.assertRaises(Killed, self.reserve, self.VMS[0], 20_000)
        self.assertEqual(
            [20_000, 200_000, 200_000],
            [self.kernel.snapshot()[group][0] for group in (
                self.VMS[0], '/machine/a.partition/vm1',
                '/machine/a.partition')])
        self.interface_on(self.kernel).reserve(
            {self.VMS[0]: budget(20_000, 200_000)})
        self.assert_tight(self.kernel, '/machine')

    def test_others_get_the_room_afterwards(self) -> None:
        """The lock makes them wait; the room is theirs then."""
        self.reserve(self.VMS[0], 180_000)
        self.reserve(self.VMS[0], 20_000)
        self.reserve(self.VMS[1], 160_000)
        self.assertEqual(160_000, self.kernel.snapshot()[self.VMS[1]][0])


class EndingTest(base.KernelTest):
    """A group with a task that was killed, and that no list shows."""

    def setUp(self) -> None:
        super().setUp()
        base.mkdirs(self.kernel, base.LEAF)
        self.interface.reserve({base.LEAF: budget(90_000, 100_000)})
        self.kernel.spawn(8, base.LEAF, base.LEAF)
        self.kernel.set_policy(8, os.SCHED_FIFO, 1)
        self.kernel.begin_exit(8)
        self.sleep, self.ends = self.kernel.clock.sleep, 0.15
        patch = mock.patch.object(self.kernel.clock, 'sleep', self.later)
        patch.start()
        self.addCleanup(patch.stop)

    def later(self, seconds: float) -> None:
        """Sleeps; after the throttled time, the task runs its last steps."""
        self.sleep(seconds)
        if self.kernel.clock.now > self.ends:
            self.kernel.exit(8)

    def test_it_ends_before_its_budget_goes(self) -> None:
        """Otherwise nobody could remove the groups above the group."""
        self.interface.release([base.LEAF])
        self.later(1)
        self.assertNotIn(8, self.kernel.tasks)

    def test_it_takes_no_longer_than_it_must(self) -> None:
        self.interface.release([base.LEAF])
        self.assertAlmostEqual(0.22, self.kernel.clock.now)
        self.interface.release([base.LEAF])  # holds nothing any more
        self.assertAlmostEqual(0.22, self.kernel.clock.now)


class FaultTest(base.KernelTest):
    """Each write fails once; all files are then as before."""

    def start(self, group: str, *others: str) -> None:
        """A host with servers in these groups."""
        self.kernel = self.new_kernel()
        self.interface = self.interface_on(self.kernel)
        base.mkdirs(self.kernel, group, *others)
        for each in (group, *others):
            self.interface.reserve({each: budget(40_000, 200_000)})

    def _each_write_fails(self, action: Callable[..., None], *args: object
                          ) -> int:
        for nth in range(32):
            before = self.kernel.snapshot()
            for number in (errno.EINVAL, errno.EBUSY, errno.EIO):
                base.refuse_nth(self.kernel, nth, number)
                try:
                    action(*args)
                except exception.KernelError:
                    self.assertEqual(before, self.kernel.snapshot(), nth)
                else:
                    return nth
        raise AssertionError('it never succeeds')

    def test_reserve(self) -> None:
        for group in (base.LEAF, base.DEEP):
            self.start(group)
            for values, writes in (
                    ((50_000, 200_000), 1), ((30_000, 200_000), 1),
                    ((60_000, 400_000), 2), ((20_000, 100_000), 2),
                    ((70_000, 150_000), 2), ((30_000, 300_000), 2)):
                with self.subTest(group=group, values=values):
                    parents = group.count('/') - 2
                    count = self._each_write_fails(
                        self.interface.reserve, {group: budget(*values)})
                    self.assertLessEqual(writes, count)
                    self.assertLessEqual(count, writes + parents)
                    self.assertEqual(values, self.kernel.snapshot()[group])

    def test_release(self) -> None:
        for group, *others in ((base.LEAF,), (base.DEEP,),
                               (base.LEAF, base.OTHER)):
            with self.subTest(group=group, others=others):
                self.start(group, *others)
                count = self._each_write_fails(
                    self.interface.release, [group])
                # The top group stays as it is for the others.
                self.assertEqual(group.count('/') - len(others), count)

    def test_settle(self) -> None:
        self.start(base.LEAF)
        self.kernel.rmdir(base.LEAF)
        self.assertEqual(1, self._each_write_fails(
            self.interface.settle, '/machine'))
        self.assert_tight(self.kernel, '/machine')


class ReadReleaseTest(base.KernelTest):
    """Reading, releasing, settling."""

    def setUp(self) -> None:
        super().setUp()
        base.mkdirs(self.kernel, base.LEAF, base.OTHER)

    def test_read(self) -> None:
        self.interface.reserve({base.LEAF: budget(10_000, 100_000)})
        found = self.interface.read(base.LEAF)
        assert found is not None
        self.assertEqual(100_000, found.period_us)
        self.assertEqual(dict.fromkeys(range(4), 10_000),
                         dict(found.runtime_us))

    def test_read_names_each_possible_cpu(self) -> None:
        """More than Python counts here, and not only those online."""
        kernel = self.new_kernel(cpus=512)
        base.mkdirs(kernel, base.LEAF)
        interface = self.interface_on(kernel)
        interface.reserve({base.LEAF: budget(10_000, 100_000)})
        found = interface.read(base.LEAF)
        assert found is not None
        self.assertEqual(512, len(found.runtime_us))

    def test_read_nothing(self) -> None:
        self.assertIsNone(self.interface.read(base.LEAF))
        self.assertIsNone(self.interface.read('/machine/gone'))

    def test_release(self) -> None:
        self.interface.reserve({base.LEAF: budget(10_000, 100_000)})
        self.interface.reserve({base.OTHER: budget(5_000, 100_000)})
        found = self.writes_of(lambda: self.interface.release([base.LEAF]))
        self.assertEqual([(base.LEAF, 'runtime', '0')], found)
        self.assertEqual([], self.writes_of(
            lambda: self.interface.release([base.LEAF])))

    def test_release_of_a_busy_group(self) -> None:
        self.interface.reserve({base.LEAF: budget(10_000, 100_000)})
        self.kernel.spawn(1, base.LEAF)
        self.kernel.set_policy(1, os.SCHED_FIFO, 1)
        before = self.kernel.snapshot()
        with self.assertRaisesRegex(exception.KernelError, 'EBUSY'):
            self.interface.release([base.LEAF])
        self.assertEqual(before, self.kernel.snapshot())

    def test_release_of_a_group_that_is_gone(self) -> None:
        self.interface.reserve({base.LEAF: budget(10_000, 100_000)})
        self.kernel.rmdir(base.LEAF)
        self.interface.release([base.LEAF])
        self.assertEqual(0, self.kernel.snapshot()['/machine'][0])

    def test_settle_takes_room_left_behind(self) -> None:
        self.interface.reserve({base.LEAF: budget(10_000, 100_000)})
        self.interface.reserve({base.OTHER: budget(5_000, 100_000)})
        self.kernel.rmdir(base.LEAF)
        self.interface.settle('/machine')
        self.assertEqual(950_000, self.kernel.snapshot()['/machine'][0])
        self.kernel.rmdir(base.OTHER)
        self.interface.settle('/machine')
        self.assertEqual(0, self.kernel.snapshot()['/machine'][0])

    def test_settle_without_guests(self) -> None:
        self.kernel.written.clear()
        self.interface.settle('/machine.slice')
        self.interface.settle('/machine')
        self.assertEqual([], self.kernel.written)


class CapacityTest(base.KernelTest):
    """Tests what may be handed out, next to other people's groups."""

    def ppm(self) -> int:
        return self.interface.capacity('/machine').ppm

    def test_an_empty_host(self) -> None:
        self.assertEqual(950_000, self.ppm())

    def test_ours_do_not_count(self) -> None:
        base.mkdirs(self.kernel, base.LEAF)
        self.interface.reserve({base.LEAF: budget(100_000, 200_000)})
        self.assertEqual(950_000, self.ppm())

    def test_foreign_siblings_count(self) -> None:
        base.mkdirs(self.kernel, '/machine', '/docker', '/machine.slice')
        for group, runtime in (('docker', 100_000), ('machine.slice', 7)):
            self.kernel.write(
                f'{emulation.CPU_MOUNT}/{group}/{emulation.RUNTIME}',
                str(runtime))
        self.assertEqual(849_993, self.ppm())
        base.mkdirs(self.kernel, base.LEAF)
        self.interface.reserve({base.LEAF: budget(849_993, 1_000_000)})
        with self.assertRaises(exception.KernelError):
            self.interface.reserve({base.LEAF: budget(849_995, 1_000_000)})

    def test_the_root_group_is_lower(self) -> None:
        self.kernel.write(f'{emulation.CPU_MOUNT}/{emulation.RUNTIME}',
                          '400000')
        self.assertEqual(400_000, self.ppm())

    def test_the_sysctl_may_be_higher(self) -> None:
        self.kernel.set_sysctl(1_000_000, 1_000_000)
        self.assertEqual(950_000, self.ppm())

    def test_unlimited(self) -> None:
        self.kernel.set_sysctl(-1, 1_000_000)
        self.kernel.write(f'{emulation.CPU_MOUNT}/{emulation.RUNTIME}', '-1')
        with self.assertRaisesRegex(exception.KernelError,
                                    'is -1.*set it to 950000'):
            self.ppm()

    def test_tick(self) -> None:
        tick = self.interface.capacity('/machine').tick_us
        self.assertIn(tick, (1_000, 3_333, 4_000, 10_000))
