# SPDX-License-Identifier: Apache-2.0

"""Tests SCHED_DEADLINE on the pCPU of each claim.

The kernel is emulated with its rules: EPERM for a thread that may not run
everywhere, EBUSY by one sum, and bandwidth lost with a sleeping thread.
"""

import errno
import itertools
import time
import unittest
from unittest import mock

import hypothesis
from hypothesis import stateful
from hypothesis import strategies as st

from nova_rt.machine.kernel import pins
from nova_rt.machine.kernel import shortfall
from nova_rt.machine import privsep
from nova_rt.machine import sched_setattr
from nova_rt.rules import cpulist
from nova_rt.rules import cpus as rt_cpus
from nova_rt.rules import exception
from nova_rt.rules import packing
from nova_rt.rules import reservation
from nova_rt.services.virt.libvirt import deadline
from nova_rt.services.virt.libvirt import reconcile
from nova_rt.services.virt.libvirt import vcpus
from tests.emulation import groups
from tests.emulation import stock
from tests.emulation import tasks as emulated
from tests.unit.services.virt.libvirt import fakes

CPUS = 3
_REVIVALS = vcpus._REVIVALS
_LISTED = {
    'nova_rt.machine.kernel.tasks._belongs': emulated.belongs,
    'nova_rt.machine.kernel.starving._GRACE_SECONDS': 0.0,
    'nova_rt.services.virt.libvirt.vcpus._PERIODS': 0,
    'nova_rt.services.virt.libvirt.vcpus._REVIVALS': (0.0, 0.0),
    'nova_rt.services.virt.libvirt.vcpus._GRACE_SECONDS': 0.0,
    'nova_rt.services.virt.libvirt.deadline._RETURN_SECONDS': 0.0,
    'nova_rt.services.virt.libvirt.deadline._RETURN_PERIODS': 0,
    'nova_rt.services.virt.libvirt.deadline._POLL_SECONDS': 0.0}


class Host:
    """One host of virtual machines on a stock kernel.

    :ivar spare: the pCPUs that no reservation may have
    :ivar cells: the pCPUs of each NUMA cell
    :ivar own: the pCPUs for emulators; None for the spare ones
    :ivar fails: which of the next changes of a thread are refused, from 0
    """

    def __init__(self) -> None:
        self._patches = [mock.patch(name, new) for name, new in (
            emulated.DEADLINE | _LISTED).items()]
        for patch in self._patches:
            patch.start()
        privsep.cgroup_pctxt.set_client_mode(False)
        self.kernel = stock.Kernel(CPUS)
        self.guests = emulated.Guests(self.kernel)
        self.tasks = emulated.EmulatedTasks(self.kernel)
        self.spare: set[int] = set()
        self.cells: list[set[int]] = []
        self.shared: set[int] = set()
        self.own: set[int] | None = None
        self.fails: dict[int, int] = {}
        self.kernel.intercept = self._before
        self.enforcer = deadline.DeadlineEnforcer(
            self.kernel, self.tasks, False, lambda: range(CPUS),
            pins.Pins(self.tasks, lambda: self.spare, lambda: self.cells,
                      lambda: self.shared, lambda: (
                          self.spare if self.own is None else self.own)))
        self.claims: dict[int, object] = {}
        self._numbers = itertools.count(1)

    def close(self) -> None:
        privsep.cgroup_pctxt.set_client_mode(True)
        for patch in self._patches:
            patch.stop()

    def _before(self, path: str, text: str) -> None:
        if path.startswith('sched_setattr'):
            number = self.fails.pop(0, 0)
            self.fails = {turn - 1: each for turn, each
                          in self.fails.items()}
            if number:
                raise OSError(number, 'refused', path)

    def start(self, *cpus: int) -> int:
        """A guest as libvirt pins it, without a reservation yet."""
        return self.guests.start_qemu(
            f'g{next(self._numbers)}', [str(cpu) for cpu in cpus])

    def vcpus(self, pid: int) -> list[int]:
        return self.guests.running[pid][2:]

    def emulator(self, pid: int) -> set[int]:
        return set(self.kernel.allowed(pid))

    def iothread(self, pid: int) -> set[int]:
        return set(cpulist.parse_ids(self.kernel.read(
            self.guests.cpus_of(f'{self.guests.group(pid)}/iothread1'))))

    def run(self, pid: int) -> None:
        """Makes the vCPUs busy from now on."""
        self.kernel.busy_threads.update(self.vcpus(pid))

    def grants(self, pid: int) -> list[tuple[set[int], int]]:
        """(CPUs, us) of each vCPU."""
        return [(set(self.kernel.allowed(thread)),
                 self.kernel.policy(thread).runtime // 1000)
                for thread in self.vcpus(pid)]


class PinnedTest(unittest.TestCase):

    def setUp(self) -> None:
        self.host = Host()
        self.addCleanup(self.host.close)
        self.enforcer = self.host.enforcer

    def claim(self, runtime: int, *cpus: int) -> object:
        return fakes.claim(runtime, 1000, cpus)

    def test_each_vcpu_on_its_pcpu(self) -> None:
        pid = self.host.start(2, 0)
        claim = self.claim(300, 2, 0)
        self.assertFalse(self.enforcer.holds(pid, claim))
        self.enforcer.apply(pid, claim)
        self.assertEqual([({2}, 300), ({0}, 300)], self.host.grants(pid))
        self.assertTrue(self.enforcer.holds(pid, claim))
        self.assertFalse(self.enforcer.holds(pid, self.claim(300, 0, 2)))
        self.assertTrue(self.enforcer.pins)

    def masked(self, runtime: int, *places: int | None) -> object:
        """A claim with None for each vCPU without a reservation."""
        return fakes.claim(
            runtime, 1000, [cpu for cpu in places if cpu is not None],
            unreserved=[vcpu for vcpu, cpu in enumerate(places)
                        if cpu is None])

    def start_wide(self, *cpus: str) -> int:
        return self.host.guests.start_qemu('wide', list(cpus))

    def test_a_vcpu_without_a_reservation_stays_ordinary(self) -> None:
        """Without a spare CPU, the vCPU stays where Nova pinned it."""
        pid, claim = self.start_wide('0-2', '2', '1'), self.masked(
            300, None, 2, 1)
        self.assertFalse(self.enforcer.holds(pid, claim))
        self.enforcer.apply(pid, claim)
        self.assertEqual([({0, 1, 2}, 0), ({2}, 300), ({1}, 300)],
                         self.host.grants(pid))
        self.assertTrue(self.enforcer.holds(pid, claim))
        self.assertFalse(self.enforcer.holds(
            pid, self.masked(300, 1, None, 2)))
        self.assertEqual(2 * ((300 << 20) // 1000),
                         self.host.kernel.deadline_used())
        self.enforcer.release(pid)
        self.assertEqual([({0, 1, 2}, 0), ({2}, 0), ({1}, 0)],
                         self.host.grants(pid))

    def test_a_vcpu_without_a_reservation_goes_to_spare_cpus(self) -> None:
        self.host.spare = {0}
        for first, home in (('0-2', {0}), ('', {0}), ('1-2', {1, 2})):
            pid = self.start_wide(first, '2')
            claim = self.masked(100, None, 2)
            self.enforcer.apply(pid, claim)
            self.assertEqual([(home, 0), ({2}, 100)], self.host.grants(pid))
            self.assertTrue(self.enforcer.holds(pid, claim))
            self.enforcer.release(pid)
            self.assertEqual([(home, 0), ({2}, 0)], self.host.grants(pid))
            self.host.guests.stop(pid)

    def test_a_vcpu_without_a_reservation_stays_in_its_cell(self) -> None:
        self.host.spare, self.host.cells = {0, 1}, [{0}, {1, 2}]
        for first, home in (('0-2', {1}), ('1-2', {1}), ('0', {0})):
            pid = self.start_wide(first, '2')
            claim = self.masked(100, None, 2)
            self.enforcer.apply(pid, claim)
            self.assertEqual([(home, 0), ({2}, 100)], self.host.grants(pid))
            self.assertTrue(self.enforcer.holds(pid, claim))
            self.host.guests.stop(pid)

    def test_an_emulator_on_a_dedicated_cpu_stays_there(self) -> None:
        """Nova put it there: hw:emulator_threads_policy=isolate."""
        self.host.spare, self.host.shared = {1}, {1, 2}
        for own, home in (('0', {0}), ('0-2', {1}), ('', {1})):
            pid = self.start_wide('2')
            group = self.host.guests.group(pid)
            self.host.kernel.write(self.host.guests.cpus_of(
                f'{group}/emulator'), own or '0-2')
            self.enforcer.apply(pid, self.claim(100, 2))
            self.assertEqual(home, self.host.emulator(pid))
            self.assertTrue(self.enforcer.holds(pid, self.claim(100, 2)))
            self.host.guests.stop(pid)

    def test_an_audit_makes_a_vcpu_ordinary_again(self) -> None:
        self.host.spare = {0}
        pid, claim = self.start_wide('0-2', '2'), self.masked(300, None, 2)
        self.enforcer.apply(pid, claim)
        first = self.host.vcpus(pid)[0]
        group = self.host.guests.vcpus(pid)[0]

        def widen() -> None:
            self.host.kernel.write(self.host.guests.cpus_of(group), '0-2')

        def reserve() -> None:
            widen()
            sched_setattr.start(first, 100, 1000)

        for break_it in (widen, reserve):
            break_it()
            self.assertFalse(self.enforcer.holds(pid, claim))
            reconcile.Reconciler(self.enforcer).run(
                [reconcile.RunningGuest('u', pid, (claim,))], [pid])
            self.assertEqual([({0}, 0), ({2}, 300)], self.host.grants(pid))
            self.assertTrue(self.enforcer.holds(pid, claim))

    def test_a_refusal_puts_the_ordinary_vcpu_back(self) -> None:
        self.host.spare = {0}
        pid = self.start_wide('0-2', '2')
        self.host.fails = {0: errno.EINVAL}
        self.refused(pid, self.masked(300, None, 2))
        self.assertEqual([({0, 1, 2}, 0), ({2}, 0)], self.host.grants(pid))

    def test_another_number_of_vcpus_than_the_claim(self) -> None:
        pid = self.start_wide('0-2', '2')
        self.assertIn('threads for 2 vCPUs but a claim for 3',
                      self.refused(pid, self.masked(300, None, 2, None)))

    def test_resize_and_another_pcpu(self) -> None:
        pid = self.host.start(1)
        for runtime, cpu in ((300, 1), (600, 1), (100, 2)):
            self.enforcer.apply(pid, self.claim(runtime, cpu))
            self.assertEqual([({cpu}, runtime)], self.host.grants(pid))

    def test_two_guests_on_one(self) -> None:
        for _ in range(2):
            pid = self.host.start(1)
            self.enforcer.apply(pid, self.claim(450, 1))
            self.assertEqual([({1}, 450)], self.host.grants(pid))

    def test_release_returns_all(self) -> None:
        """A release returns threads that sleep, too."""
        for _ in range(20):
            pid = self.host.start(1)
            self.enforcer.apply(pid, self.claim(900, 1))
            self.enforcer.release(pid)
            self.assertEqual([({1}, 0)], self.host.grants(pid))
            self.host.guests.stop(pid)
        self.assertEqual(0, self.host.kernel.lost)

    def test_refusal_of_each_vcpu(self) -> None:
        """Nothing is left of those that were set before."""
        for turn in range(2):
            for number in (errno.EINVAL, errno.EPERM, errno.EBUSY):
                pid = self.host.start(2, 0)
                before = self.host.kernel.confined()
                self.host.fails = {turn: number}
                with mock.patch.object(vcpus, 'is_full',
                                       return_value=False):
                    self.refused(pid, self.claim(300, 2, 0))
                self.assertEqual(before, self.host.kernel.confined())
                self.assertEqual([({2}, 0), ({0}, 0)],
                                 self.host.grants(pid))
                self.assertEqual(0, self.host.kernel.deadline_used())

    def test_refused_resize(self) -> None:
        """The server keeps its reservation and its pCPUs."""
        pid, other = self.host.start(1), self.host.start(0, 1, 2)
        self.enforcer.apply(pid, self.claim(300, 1))
        self.enforcer.apply(other, self.claim(750, 0, 1, 2))
        error = self.refused(pid, self.claim(500, 2))
        self.assertIn('EBUSY', error)
        self.assertEqual([({1}, 300)], self.host.grants(pid))

    def refused(self, pid: int, claim: object) -> str:
        with self.assertRaises(exception.KernelError) as caught:
            self.enforcer.apply(pid, claim)
        return str(caught.exception)

    def test_audit_repairs(self) -> None:
        pid = self.host.start(1)
        claim = self.claim(300, 1)
        self.enforcer.apply(pid, claim)
        thread = self.host.vcpus(pid)[0]
        reconciler = reconcile.Reconciler(self.enforcer)
        guest = reconcile.RunningGuest('u', pid, (claim,))
        for break_it in (
                lambda: sched_setattr.stop(thread),
                lambda: self.host.kernel.write(self.host.guests.cpus_of(
                    self.host.guests.vcpus(pid)[0]), '0-2')):
            break_it()
            self.assertFalse(self.enforcer.holds(pid, claim))
            reconciler.run([guest], [pid])
            self.assertEqual([({1}, 300)], self.host.grants(pid))

    def test_a_busy_vcpu_is_released_and_reserved_again(self) -> None:
        """The policy of the vCPU is not enough: the vCPU must run."""
        pid, claim = self.host.start(1, 2), self.claim(300, 1, 2)
        self.host.run(pid)
        for _ in range(3):
            self.enforcer.apply(pid, claim)
            self.assertEqual(set(), self.host.kernel.stuck)
            self.assertTrue(self.enforcer.holds(pid, claim))
            self.enforcer.release(pid)
        self.assertEqual(0, self.host.kernel.deadline_used())

    def test_the_first_of_two_vcpus_is_tried_again(self) -> None:
        pid = self.host.start(1, 2)
        self.host.run(pid)
        self.host.fails = {1: errno.EBUSY}
        with mock.patch.object(deadline, '_RETURN_SECONDS', 10.0):
            self.enforcer.apply(pid, self.claim(300, 1, 2))
        self.assertEqual(set(), self.host.kernel.stuck)

    def stick(self, thread: int) -> None:
        """Pins vCPUs as nova-rt itself did, and as anybody can."""
        runtime = self.host.kernel.policy(thread).runtime // 1000
        with mock.patch.object(self.host.kernel, 'allowed',
                               return_value=range(CPUS)):
            sched_setattr.start(thread, *sched_setattr.SMALLEST)
            self.host.kernel.set_policy(thread, 0)
            sched_setattr.start(thread, runtime, 1000)
        self.assertIn(thread, self.host.kernel.stuck)

    def test_audit_cures_a_vcpu_that_never_runs(self) -> None:
        pid, claim = self.host.start(1, 2), self.claim(300, 1, 2)
        self.host.run(pid)
        self.enforcer.apply(pid, claim)
        self.stick(self.host.vcpus(pid)[1])
        self.assertEqual([({1}, 300), ({2}, 300)], self.host.grants(pid))
        self.assertFalse(self.enforcer.holds(pid, claim))
        reconcile.Reconciler(self.enforcer).run([
            reconcile.RunningGuest('u', pid, (claim,))], [pid])
        self.assertEqual(set(), self.host.kernel.stuck)
        self.assertEqual([({1}, 300), ({2}, 300)], self.host.grants(pid))
        self.assertTrue(self.enforcer.holds(pid, claim))

    def test_a_vcpu_that_cannot_be_cured(self) -> None:
        """The vCPU becomes ordinary, so that it runs; others do not change."""
        pid, claim = self.host.start(1, 2), self.claim(300, 1, 2)
        self.host.run(pid)
        stuck, _ = self.host.vcpus(pid)
        ran_ns = self.host.kernel.ran_ns
        with mock.patch.object(
                self.host.kernel, 'ran_ns',
                lambda thread: 7 if thread == stuck else ran_ns(thread)):
            self.assertIn(f'the threads {stuck} no CPU time',
                          self.refused(pid, claim))
            self.assertFalse(self.enforcer.holds(pid, claim))
        self.assertEqual([({1}, 0), ({2}, 300)], self.host.grants(pid))
        self.enforcer.apply(pid, claim)
        self.assertTrue(self.enforcer.holds(pid, claim))

    def test_a_vcpu_that_cannot_be_cured_holds_next_to_nothing(self) -> None:
        """Otherwise its pCPU would be reserved for hours without use."""
        for cpu in (0, 2):
            self.enforcer.apply(self.host.start(cpu), self.claim(400, cpu))
        held = self.host.kernel.deadline_used()
        pid, claim = self.host.start(1), self.claim(900, 1)
        self.host.run(pid)
        self.enforcer.apply(pid, claim)
        self.host.kernel.hopeless.update(self.host.vcpus(pid))
        self.host.kernel.stuck.update(self.host.vcpus(pid))
        self.assertIn('no CPU time', self.refused(pid, claim))
        self.assertEqual([({1}, 0)], self.host.grants(pid))
        self.assertLess(self.host.kernel.deadline_used() - held,
                        groups.UNIT // 50)
        self.host.kernel.hopeless.clear()
        self.enforcer.apply(pid, claim)
        self.assertTrue(self.enforcer.holds(pid, claim))

    def test_a_vcpu_is_cured_whose_last_period_was_long(self) -> None:
        """The deadline is ahead by that period, even after an overrun."""
        pid, claim = self.host.start(1), self.claim(300, 1)
        self.host.run(pid)
        self.enforcer.apply(pid, claim)
        thread, = self.host.vcpus(pid)
        self.host.kernel.hopeless.add(thread)
        self.host.kernel.stuck.add(thread)
        slept = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            if sum(slept) > reservation.MAX_PERIOD_US / 1_000_000:
                self.host.kernel.hopeless.clear()

        clock = mock.Mock(wraps=time, sleep=sleep)
        with mock.patch.object(vcpus, 'time', clock), \
                mock.patch.object(vcpus, '_REVIVALS', _REVIVALS), mock.patch(
                'nova_rt.machine.host.thread.overrun_ns', return_value=1000):
            self.enforcer.apply(pid, claim)
        self.assertEqual([({1}, 300)], self.host.grants(pid))
        self.assertTrue(self.enforcer.holds(pid, claim))

    def test_a_vcpu_whose_own_share_is_still_counted_is_given_up(self) -> None:
        """The kernel has no room for it twice, for hours."""
        pid, claim = self.host.start(0, 1, 2), self.claim(900, 0, 1, 2)
        self.host.run(pid)
        self.enforcer.apply(pid, claim)
        stuck = self.host.vcpus(pid)[1]
        self.host.kernel.hopeless.add(stuck)
        self.host.kernel.stuck.add(stuck)
        self.assertIn(f'the threads {stuck} no CPU time',
                      self.refused(pid, claim))
        self.assertEqual([({0}, 900), ({1}, 0), ({2}, 900)],
                         self.host.grants(pid))
        self.enforcer.apply(self.host.start(1), self.claim(800, 1))

    def test_a_sum_that_the_kernel_got_wrong_is_counted_anew(self) -> None:
        pid = self.host.start(1)
        self.host.kernel.wrong = groups.UNIT * CPUS
        with mock.patch.object(deadline, '_RETURN_SECONDS', 10.0):
            self.enforcer.apply(pid, self.claim(300, 1))
        self.assertEqual([({1}, 300)], self.host.grants(pid))

    def test_a_vcpu_that_gets_too_little_is_named(self) -> None:
        pid, claim = self.host.start(1), self.claim(300, 1)
        self.host.run(pid)
        self.enforcer.apply(pid, claim)
        with mock.patch.object(shortfall, 'is_short', return_value=True):
            self.enforcer.note([pid])
            self.assertEqual([], self.enforcer.warnings())
            self.enforcer.note([pid])
            text, = self.enforcer.warnings()
            self.assertIn(f'{self.host.guests.group(pid)}/vcpu0', text)
            # The time of the thread begins again.
            self.enforcer.apply(pid, self.claim(400, 1))
            self.enforcer.note([pid])
            self.assertEqual([], self.enforcer.warnings())

    def test_workers_of_kvm_are_no_vcpus(self) -> None:
        pid, claim = self.host.start(1, 2), self.claim(300, 1, 2)
        self.enforcer.apply(pid, claim)
        worker = self.host.guests.first_run(pid)
        self.assertTrue(self.enforcer.holds(pid, claim))
        self.enforcer.apply(pid, self.claim(400, 1, 2))
        self.assertEqual([({1}, 400), ({2}, 400)], self.host.grants(pid))
        self.enforcer.release(pid)
        self.assertEqual(0, self.host.kernel.policy(worker).runtime)

    def test_hot_plug(self) -> None:
        pid = self.host.start(1, 2)
        self.assertIn('instead of plugging or unplugging vCPUs',
                      self.refused(pid, self.claim(300, 1)))

    def test_emulator_is_kept_off(self) -> None:
        self.host.spare = {0}
        pid = self.host.start(1)
        self.assertEqual({0, 1, 2}, self.host.emulator(pid))
        claim = self.claim(300, 1)
        self.enforcer.apply(pid, claim)
        self.assertEqual({0}, self.host.emulator(pid))
        self.host.spare = {0, 2}
        self.assertFalse(self.enforcer.holds(pid, claim))
        self.enforcer.apply(pid, claim)
        self.assertEqual({0, 2}, self.host.emulator(pid))

    def test_threads_of_io_are_kept_off(self) -> None:
        self.host.spare = {0}
        pid, claim = self.host.start(1), self.claim(300, 1)
        own = self.host.guests.cpus_of(
            f'{self.host.guests.group(pid)}/iothread1')
        self.enforcer.apply(pid, claim)
        self.assertEqual({0}, self.host.iothread(pid))
        self.host.kernel.write(own, '0-2')
        self.assertFalse(self.enforcer.holds(pid, claim))
        self.host.fails = {0: errno.EINVAL}
        self.refused(pid, self.claim(400, 1))
        self.assertEqual({0, 1, 2}, self.host.iothread(pid))

    def test_spare_cpus_of_the_same_cell_first(self) -> None:
        self.host.spare, self.host.cells = {0, 2}, [{0}, {1, 2}]
        pid = self.host.start(1)
        self.enforcer.apply(pid, self.claim(300, 1))
        self.assertEqual({2}, self.host.emulator(pid))
        self.host.spare = {0}
        self.enforcer.apply(pid, self.claim(300, 1))
        self.assertEqual({0}, self.host.emulator(pid))

    def test_cpus_for_emulators(self) -> None:
        """CPUs for emulators are not the spare CPUs of other vCPUs."""
        self.host.spare, self.host.own = {1}, {0}
        pid = self.start_wide('0-2', '2')
        claim = self.masked(100, None, 2)
        self.enforcer.apply(pid, claim)
        self.assertEqual(({0}, {0}), (self.host.emulator(pid),
                                      self.host.iothread(pid)))
        self.assertEqual([({1}, 0), ({2}, 100)], self.host.grants(pid))
        self.assertTrue(self.enforcer.holds(pid, claim))
        self.host.own = {0, 1}
        self.assertFalse(self.enforcer.holds(pid, claim))
        self.enforcer.apply(pid, claim)
        self.assertEqual({0, 1}, self.host.emulator(pid))

    def test_cpus_for_emulators_without_spare_cpus(self) -> None:
        self.host.own, self.host.cells = {0, 1}, [{0}, {1, 2}]
        pid = self.start_wide('0-2', '2')
        self.enforcer.apply(pid, self.masked(100, None, 2))
        self.assertEqual({1}, self.host.emulator(pid))
        self.assertEqual([({0, 1, 2}, 0), ({2}, 100)], self.host.grants(pid))

    def test_emulator_stays_after_a_refusal(self) -> None:
        self.host.spare = {0}
        pid = self.host.start(1)
        self.host.kernel.write(self.host.guests.cpus_of(
            self.host.tasks.cpuset_group_of(pid)), '0-1')
        self.host.fails = {0: errno.EINVAL}
        self.refused(pid, self.claim(300, 1))
        self.assertEqual({0, 1}, self.host.emulator(pid))

    def test_no_cpuset_of_its_own(self) -> None:
        pid = self.host.start(1)
        thread = self.host.vcpus(pid)[0]
        with mock.patch.object(
                emulated.EmulatedTasks, 'cpuset_group_of',
                return_value='/machine'):
            self.assertIn('cgroup_controllers', self.refused(
                pid, self.claim(300, 1)))
        self.assertEqual(0, self.host.kernel.policy(thread).runtime)

    def test_a_thread_that_ended_is_released(self) -> None:
        pid = self.host.start(1, 2)
        self.enforcer.apply(pid, self.claim(300, 1, 2))
        self.host.kernel.exit(self.host.vcpus(pid)[0])
        self.enforcer.release(pid)
        self.assertEqual(0, self.host.kernel.deadline_used())

    def test_shared_cpus(self) -> None:
        """Fewer than the root domain has are no trouble."""
        self.enforcer._shared = lambda: {1}
        self.assertEqual(900_001, self.enforcer.capacity().ppm)
        self.enforcer._shared = lambda: {1, 7}
        with self.assertRaisesRegex(exception.KernelError,
                                    'on CPU 7 outside of'):
            self.enforcer.capacity()

    def test_probe(self) -> None:
        self.assertTrue(deadline.can_pin(self.host.kernel, self.host.tasks))
        self.assertEqual([], self.host.kernel.children('/sys/fs/cgroup'))
        with mock.patch.object(stock.Kernel, 'shrinks', False):
            self.assertFalse(deadline.can_pin(self.host.kernel,
                                              self.host.tasks))


_SHARES = st.sampled_from((100, 250, 300, 450, 600, 900))


class Machine(stateful.RuleBasedStateMachine):
    """Guests come, change and go, with faults and audits in between."""

    def __init__(self) -> None:
        super().__init__()
        self.host = Host()
        self.held: dict[int, object] = {}

    @property
    def state(self) -> rt_cpus.CpuBandwidth:
        empty = rt_cpus.CpuBandwidth.empty(range(CPUS), 900_000)
        return empty.fold((claim.cpus, claim.reservation)
                          for claim in self.held.values())

    @stateful.rule(share=_SHARES, vcpus=st.integers(1, CPUS),
                   fails=st.none() | st.integers(0, 3))
    def launch(self, share: int, vcpus: int, fails: int | None) -> None:
        cpus = rt_cpus.fit(self.state, vcpus,
                           reservation.Reservation(share, 1000),
                           packing.load('worst_fit'))
        if cpus is None:
            return
        pid = self.host.start(*cpus)
        if fails is not None:
            self.host.fails = {fails: errno.EINVAL}
        claim = fakes.claim(share, 1000, cpus)
        try:
            self.host.enforcer.apply(pid, claim)
            self.held[pid] = claim
        except exception.KernelError:
            assert not self.host.enforcer.bandwidth(pid)
            self.host.guests.stop(pid)
        finally:
            self.host.fails = {}

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data(), crash=st.booleans())
    def end(self, data: st.DataObject, crash: bool) -> None:
        pid = data.draw(st.sampled_from(sorted(self.held)))
        if not crash:
            self.host.enforcer.release(pid)
        self.host.guests.stop(pid)
        del self.held[pid]

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data())
    def lower(self, data: st.DataObject) -> None:
        pid = data.draw(st.sampled_from(sorted(self.held)))
        claim = fakes.claim(100, 1000, self.held[pid].cpus)
        self.host.enforcer.apply(pid, claim)
        self.held[pid] = claim

    @stateful.precondition(lambda self: self.held)
    @stateful.rule(data=st.data())
    def lose_and_audit(self, data: st.DataObject) -> None:
        pid = data.draw(st.sampled_from(sorted(self.held)))
        thread = data.draw(st.sampled_from(self.host.vcpus(pid)))
        self.host.kernel.reserved.pop(thread)
        self.host.kernel.tasks[thread].deadline = 0
        self.host.kernel.tasks[thread].policy = 0
        reconcile.Reconciler(self.host.enforcer).run([
            reconcile.RunningGuest(str(each), each, (claim,))
            for each, claim in self.held.items()], [*self.held])

    @stateful.invariant()
    def the_kernel_holds_what_is_claimed(self) -> None:
        for pid, claim in self.held.items():
            assert self.host.grants(pid) == [
                ({cpu}, claim.reservation.runtime_us) for cpu in claim.cpus]
        assert len(self.host.kernel.reserved) == sum(
            len(claim.cpus) for claim in self.held.values())

    @stateful.invariant()
    def no_pcpu_is_over_committed(self) -> None:
        assert not self.host.kernel.over_cap(900_001)
        assert not self.host.kernel.lost

    def teardown(self) -> None:
        for pid in list(self.held):
            self.host.enforcer.release(pid)
            self.host.guests.stop(pid)
        assert not self.host.kernel.deadline_used()
        self.host.close()


Machine.TestCase.settings = hypothesis.settings(
    max_examples=30, stateful_step_count=20, deadline=None, database=None)
SequencesTest = Machine.TestCase
