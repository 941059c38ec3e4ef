# SPDX-License-Identifier: Apache-2.0

"""Tests place, budget, read back and policy, in that order."""

from oslotest import base

from nova_rt.machine.kernel import base as kernel_base
from nova_rt.rules import exception
from nova_rt.services.virt.libvirt import enforcer
from tests.unit.services.virt.libvirt import fakes

PID = 42
CONTAINER = '/machine/c'
DOMAIN = '/machine/q'
VCPUS = [f'{DOMAIN}/vcpu0', f'{DOMAIN}/vcpu1']


class Kernel:
    """An interface and the tasks; *reads* is what it reads back instead."""

    name = 'fake'
    controller = 'cpu'
    fixed_priorities = False

    def __init__(self, vcpus=0, replicated=False, inherits=False,
                 binds_cpus=False, drains=False):
        self.vcpus = vcpus
        self.replicated = replicated
        self.inherits = inherits
        self.binds_cpus = binds_cpus
        self.drains = drains
        self.budgets = {}
        self.events = []
        self.reads = None
        self.error = None
        self.confined = None
        self.real_time = False
        self.inside = {}
        self.high = ()
        self.full = False
        self.period = 0
        self.rebels = 0
        self.idle = ['/machine/idle']

    def group_of(self, pid, controller):
        if pid != PID:
            raise LookupError(f'process {pid} has ended')
        return f'{DOMAIN}/emulator' if self.vcpus else CONTAINER

    def groups_below(self, group, controller):
        return VCPUS[:self.vcpus]

    def partition(self, controller):
        return '/machine'

    def is_confined(self, pid, cpus):
        return self.confined == sorted(cpus)

    def confine(self, pid, cpus):
        self.events.append(f'confine {cpus}')
        if self.error:
            raise self.error
        before, self.confined = self.confined, sorted(cpus)
        return tuple(before or ())

    def gather(self, groups, controller, cpus):
        self.events.append(f'gather {len(groups)} {cpus}')

    def threads(self, group, controller, keeper=0):
        return self.inside.get(group, [])

    def vcpu_threads(self, group, controller):
        return self.threads(group, controller)

    def runs_at(self, thread, policy, priority):
        return self.real_time == (policy, priority)

    def outranks(self, thread, policy, priority):
        return thread in self.high

    def capacity(self, ours):
        assert ours == '/machine'
        return kernel_base.Capacity(950_000, 0)

    def reserve(self, budgets):
        self.events.append('reserve')
        if self.full:
            raise exception.KernelError(interface='fake', group=CONTAINER,
                                        reason='no room')
        self.budgets.update(budgets)

    def read(self, group):
        return self.reads or self.budgets.get(group)

    def release(self, groups):
        self.events.append('release')
        for group in groups:
            self.budgets.pop(group, None)

    def group_state(self, group):
        return kernel_base.GroupState((0,), self.period)

    def forbid(self, groups):
        self.events.append(f'forbid {groups}')
        if self.rebels:
            self.rebels -= 1
            raise exception.KernelError(interface='fake', group=CONTAINER,
                                        reason='real-time tasks')

    def settle(self, group):
        self.events.append(f'settle {group}')

    def idle_groups(self, partition, controller):
        return [group for group in self.budgets if group in self.idle]

    def make_real_time(self, group, controller, keeper, policy, priority):
        self.events.append(f'{policy} {priority} {group} but {keeper}')
        self.inside[group] = [1]
        self.real_time = policy, priority

    def is_init(self, thread, keeper):
        return thread == 1

    def make_ordinary(self, group, controller, keeper):
        self.events.append('ordinary')


class EnforcerTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.kernel = Kernel()
        self.enforcer = self.on(self.kernel)

    def on(self, kernel, policy='rr'):
        self.kernel = kernel
        return enforcer.GroupEnforcer(
            kernel, kernel, policy, lambda wanted: wanted.runtime_us // 100)

    def refused(self, words, pid=PID):
        error = self.assertRaises(exception.KernelError, self.enforcer.apply,
                                  pid, fakes.claim())
        for word in words:
            self.assertIn(word, str(error))
        self.assertFalse(self.kernel.real_time)

    def test_a_refused_guest_stays_where_it_is(self):
        """The old budget of the guest still counts, as does its old claim."""
        self.enforcer = self.on(Kernel(replicated=True))
        self.enforcer.apply(PID, fakes.claim(cpus=(0, 1)))
        held = dict(self.kernel.budgets)
        self.kernel.full, self.kernel.real_time = True, False
        self.refused(['no room'])
        self.assertEqual(([0, 1], held),
                         (self.kernel.confined, self.kernel.budgets))

    def test_a_refused_guest_that_was_nowhere(self):
        self.kernel.full = True
        self.refused(['no room'])

    def test_container(self):
        self.enforcer.apply(PID, fakes.claim(cpus=(3, 1)))
        self.assertEqual(
            ['confine (3, 1)', 'reserve', f'rr 10 {CONTAINER} but 42'],
            self.kernel.events)
        self.assertEqual(
            {CONTAINER: kernel_base.Budget({3: 1000, 1: 1000}, 2000)},
            self.kernel.budgets)

    def test_virtual_machine(self):
        """Each vCPU has its own budget; libvirt has pinned it."""
        self.on(Kernel(vcpus=2)).apply(PID, fakes.claim(cpus=(3, 1)))
        self.assertEqual(
            ['reserve', f'rr 10 {VCPUS[0]} but 0', f'rr 10 {VCPUS[1]} but 0'],
            self.kernel.events)
        self.assertEqual(
            {VCPUS[0]: kernel_base.Budget({3: 1000}, 2000),
             VCPUS[1]: kernel_base.Budget({1: 1000}, 2000)},
            self.kernel.budgets)

    def test_vcpus_are_gathered(self):
        """The vCPUs share one budget on a replicated interface."""
        target = self.on(Kernel(vcpus=2, replicated=True))
        target.apply(PID, fakes.claim(cpus=(3, 1)))
        self.assertEqual(['gather 2 (3, 1)', 'reserve'],
                         self.kernel.events[:2])
        self.assertEqual({VCPUS[0]}, set(self.kernel.budgets))
        self.on(Kernel(vcpus=1, replicated=True)).apply(PID, fakes.claim())
        self.assertEqual('reserve', self.kernel.events[0])

    def test_vcpus_inherit(self):
        """Demoted first: a real-time task holds its group where it is."""
        target = self.on(Kernel(vcpus=2, replicated=True, inherits=True))
        target.apply(PID, fakes.claim(cpus=(3, 1)))
        self.assertEqual(['ordinary', 'reserve'], self.kernel.events[:2])
        self.assertEqual({DOMAIN}, set(self.kernel.budgets))
        self.kernel.events.clear()
        target.apply(PID, fakes.claim(500, cpus=(3, 1)))
        self.assertEqual('reserve', self.kernel.events[0])

    def test_other_pcpus(self):
        """A running server is demoted, released, and gets its new claim."""
        for kinds in ({}, {'binds_cpus': True, 'inherits': True}):
            target = self.on(Kernel(**kinds))
            target.apply(PID, fakes.claim(cpus=(3, 1)))
            self.kernel.events.clear()
            target.apply(PID, fakes.claim(cpus=(3, 2)))
            self.assertEqual(
                ['ordinary', 'release', 'confine (3, 2)', 'reserve',
                 f'rr 10 {CONTAINER} but 42'], self.kernel.events)

    def test_other_pcpus_where_budgets_are_on_all(self):
        target = self.on(Kernel(replicated=True))
        target.apply(PID, fakes.claim(cpus=(3, 1)))
        self.kernel.events.clear()
        target.apply(PID, fakes.claim(cpus=(3, 2)))
        self.assertEqual(['confine (3, 2)', 'reserve'],
                         self.kernel.events[:2])

    def test_not_where_it_should_be(self):
        """The kernel fixes the pCPUs of a budget."""
        target = self.on(Kernel(binds_cpus=True, inherits=True))
        target.apply(PID, fakes.claim())
        self.kernel.events.clear()
        self.kernel.confined = [0, 1]
        target.apply(PID, fakes.claim())
        self.assertEqual(['ordinary', 'release', 'confine (0,)', 'reserve'],
                         self.kernel.events[:4])

    def test_policy_left_to_the_guest(self):
        target = self.on(Kernel(), policy='none')
        target.apply(PID, fakes.claim())
        self.assertEqual(['confine (0,)', 'reserve'], self.kernel.events)
        self.assertTrue(target.holds(PID, fakes.claim()))

    def test_other_budget_read_back(self):
        for budget in (kernel_base.Budget({0: 999}, 2000),
                       kernel_base.Budget({0: 1000}, 2001),
                       kernel_base.Budget({1: 1000}, 2000),
                       kernel_base.Budget({0: 1000, 1: 1000}, 2000)):
            self.kernel.reads = budget
            self.refused(['reads back', str(budget)])

    def test_not_confined(self):
        self.kernel.error = OSError('EBUSY')
        self.refused([CONTAINER, 'on the claimed pCPUs', 'EBUSY'])
        self.assertNotIn('reserve', self.kernel.events)

    def test_another_number_of_vcpus(self):
        self.enforcer = self.on(Kernel(vcpus=2))
        self.refused([DOMAIN, 'groups for 2 vCPUs but a claim for 1'])
        self.assertEqual([], self.kernel.events)

    def test_process_is_gone(self):
        self.refused(['process 7', 'has ended'], pid=7)

    def test_release(self):
        for kernel in (Kernel(), Kernel(vcpus=2),
                       Kernel(vcpus=2, replicated=True)):
            target = self.on(kernel)
            target.apply(PID, fakes.claim(cpus=range(kernel.vcpus or 1)))
            target.release(PID)
            self.assertEqual({}, self.kernel.budgets)
            self.assertEqual(['ordinary', 'release'],
                             self.kernel.events[-2:])

    def test_early_release(self):
        """Not on kernels where a budget can be taken only a period later."""
        self.assertTrue(self.enforcer.releases_early)
        self.assertFalse(self.on(Kernel(drains=True)).releases_early)

    def test_guard(self):
        """Guests find nothing to inherit."""
        self.enforcer.guard()
        self.assertEqual([], self.kernel.events)
        self.on(Kernel(inherits=True)).guard()
        self.assertEqual(['settle /machine'], self.kernel.events)

    def test_withheld(self):
        """A container finds no room in the group of all guests."""
        self.on(Kernel(inherits=True)).withhold(PID)
        self.assertEqual(['ordinary', f"forbid ['{CONTAINER}']"],
                         self.kernel.events)

    def test_nothing_to_withhold(self):
        """Machines, kernels that withhold, and a second call need nothing."""
        for kernel in (Kernel(), Kernel(inherits=True, vcpus=1)):
            self.on(kernel).withhold(PID)
            self.assertEqual([], kernel.events)
        kernel = Kernel(inherits=True)
        kernel.period = 1_000_000
        self.on(kernel).withhold(PID)
        self.assertEqual([], kernel.events)

    def test_a_guest_that_goes_back_to_real_time(self):
        kernel = Kernel(inherits=True)
        kernel.rebels = 2
        self.on(kernel).withhold(PID)
        self.assertEqual(3, kernel.events.count('ordinary'))
        kernel.rebels = 99
        self.assertRaises(exception.KernelError, self.on(kernel).withhold,
                          PID)

    def test_a_released_guest_gets_no_real_time(self):
        self.on(Kernel(inherits=True)).release(PID)
        self.assertEqual('ordinary release ordinary forbid'.split(), [
            event.split()[0] for event in self.kernel.events])

    def test_settle_and_capacity(self):
        self.enforcer.settle()
        self.assertEqual(['settle /machine'], self.kernel.events)
        self.assertEqual(950_000, self.enforcer.capacity().ppm)

    def test_orphans(self):
        self.assertEqual([], self.enforcer.release_orphans([PID]))
        self.assertEqual([], self.kernel.events)
        budget = kernel_base.Budget({0: 1}, 10)
        self.kernel.budgets = {'/machine/idle': budget, CONTAINER: budget}
        self.assertEqual(['/machine/idle'],
                         self.enforcer.release_orphans([PID]))
        self.assertEqual({CONTAINER: budget}, self.kernel.budgets)

    def test_no_orphan_where_libvirt_says_that_its_domain_runs(self):
        """The lists of tasks in this namespace do not matter."""
        self.kernel.idle.append(CONTAINER)
        budget = kernel_base.Budget({0: 1}, 10)
        self.kernel.budgets = {'/machine/idle': budget, CONTAINER: budget}
        self.assertEqual(['/machine/idle'],
                         self.enforcer.release_orphans([PID]))
        self.assertEqual([CONTAINER], self.enforcer.release_orphans([]))

    def test_no_orphan_while_it_is_not_known_what_runs(self):
        """The process has ended, or this namespace does not show it."""
        self.kernel.budgets = {
            '/machine/idle': kernel_base.Budget({0: 1}, 10)}
        for unseen in (0, 99):
            self.assertEqual([], self.enforcer.release_orphans([PID, unseen]))

    def test_holds(self):
        self.assertFalse(self.enforcer.holds(PID, fakes.claim()))
        self.enforcer.apply(PID, fakes.claim())
        self.assertTrue(self.enforcer.holds(PID, fakes.claim()))
        self.assertFalse(self.enforcer.holds(PID, fakes.claim(1001)))
        self.assertFalse(self.enforcer.holds(PID, fakes.claim(cpus=(0, 1))))

    def test_holds_only_where_it_is_confined(self):
        self.enforcer = self.on(Kernel(replicated=True))
        self.enforcer.apply(PID, fakes.claim())
        self.kernel.confined = [0, 1]
        self.assertFalse(self.enforcer.holds(PID, fakes.claim()))

    def test_holds_only_with_the_policy(self):
        """nova-compute was killed before it gave it."""
        self.enforcer.apply(PID, fakes.claim())
        self.kernel.real_time = False
        self.assertFalse(self.enforcer.holds(PID, fakes.claim()))

    def test_priority_of_the_reservation(self):
        self.enforcer.apply(PID, fakes.claim())
        self.kernel.real_time = 'rr', 11
        self.assertFalse(self.enforcer.holds(PID, fakes.claim()))
        self.kernel.real_time = 'fifo', 10
        self.assertFalse(self.enforcer.holds(PID, fakes.claim()))

    def test_divided_for_the_kernel(self):
        """The kernel has other values than the claim of the tenant."""
        self.enforcer = enforcer.GroupEnforcer(
            self.kernel, self.kernel, 'rr', lambda wanted: wanted.period_us)
        claim = fakes.claim(1001, 2002, divisor=4)
        self.enforcer.apply(PID, claim)
        self.assertEqual(
            {CONTAINER: kernel_base.Budget({0: 251}, 500)},
            self.kernel.budgets)
        self.assertEqual(('rr', 500), self.kernel.real_time)
        self.assertTrue(self.enforcer.holds(PID, claim))
        for divisor in 1, 5:
            self.assertFalse(self.enforcer.holds(
                PID, fakes.claim(1001, 2002, divisor=divisor)))

    def test_no_task_of_a_container_has_more(self):
        self.enforcer.apply(PID, fakes.claim())
        self.kernel.inside[CONTAINER] = [1, 2]
        self.assertTrue(self.enforcer.holds(PID, fakes.claim()))
        self.kernel.high = (2,)
        self.assertFalse(self.enforcer.holds(PID, fakes.claim()))

    def test_holds_only_with_all_vcpus_in_one_group(self):
        target = self.on(Kernel(vcpus=2, replicated=True))
        held = fakes.claim(cpus=(0, 1))
        target.apply(PID, held)
        self.kernel.inside = {VCPUS[0]: [1, 2]}
        self.assertTrue(target.holds(PID, held))
        self.kernel.inside = {VCPUS[0]: [1], VCPUS[1]: [2]}
        self.assertFalse(target.holds(PID, held))

    def test_holds_only_without_more_above(self):
        target = self.on(Kernel(vcpus=1))
        target.apply(PID, fakes.claim())
        self.kernel.budgets[DOMAIN] = kernel_base.Budget({0: 500_000},
                                                         1_000_000)
        self.assertTrue(target.holds(PID, fakes.claim()))
        self.kernel.budgets[DOMAIN] = kernel_base.Budget({0: 600_000},
                                                         1_000_000)
        self.assertFalse(target.holds(PID, fakes.claim()))

    def test_replicated_budget_holds(self):
        target = self.on(Kernel(replicated=True), policy='none')
        self.kernel.confined = [2, 7]
        self.kernel.reads = kernel_base.Budget(dict.fromkeys(range(8), 1000),
                                               2000)
        self.assertTrue(target.holds(PID, fakes.claim(cpus=(7, 2))))

    def test_bandwidth(self):
        self.assertEqual(0, self.enforcer.bandwidth(PID))
        self.enforcer.apply(PID, fakes.claim())
        self.assertEqual(500_000, self.enforcer.bandwidth(PID))

    def test_held(self):
        self.assertEqual([], [*self.enforcer.shares(PID)])
        self.enforcer.apply(PID, fakes.claim())
        (ids, held), = self.enforcer.shares(PID)
        self.assertEqual((fakes.claim().cpus, fakes.claim().reservation),
                         (ids, held))

    def test_held_by_vcpus(self):
        target = self.on(Kernel(vcpus=2))
        self.kernel.budgets |= {
            VCPUS[0]: kernel_base.Budget({0: 0, 3: 10}, 100),
            VCPUS[1]: kernel_base.Budget({1: 20, 2: 10}, 100)}
        self.assertCountEqual(
            [((3,), 10), ((1,), 20), ((2,), 10)],
            [(ids, each.runtime_us) for ids, each in target.shares(PID)])

    def test_bandwidth_of_a_domain_without_its_vcpus(self):
        target = self.on(Kernel(vcpus=1))
        self.kernel.budgets[DOMAIN] = kernel_base.Budget({0: 1}, 10)
        self.assertEqual(100_000, target.bandwidth(PID))
