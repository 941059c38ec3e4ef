# SPDX-License-Identifier: Apache-2.0

"""What is tested here: cpuset, budget and policy, in that order."""

from oslotest import base

from nova_rt import exception
from nova_rt.kernel import base as kernel_base
from nova_rt.virt.libvirt import enforcer
from tests.unit.virt.libvirt import fakes

PID = 42


class Kernel:
    """An interface and the tasks; *reads* is what it reads back instead."""

    name = 'fake'
    controller = 'cpu'

    def __init__(self):
        self.budgets = {}
        self.events = []
        self.reads = None
        self.confine_error = None

    def group_of(self, pid, controller):
        if pid != PID:
            raise LookupError(f'{pid} is gone')
        return f'/machine/{controller}'

    def partition(self, controller):
        return '/machine'

    def confine(self, pid, cpus):
        self.events.append(f'confine {cpus}')
        if self.confine_error:
            raise self.confine_error

    def reserve(self, group, budget):
        self.events.append('reserve')
        self.budgets[group] = budget

    def read(self, group):
        return self.reads or self.budgets.get(group)

    def release(self, group):
        self.events.append('release')
        del self.budgets[group]

    def settle(self, group):
        self.events.append(f'settle {group}')

    def make_real_time(self, group, controller, keeper, policy, priority):
        self.events.append(f'{policy} {priority} but {keeper}')

    def make_ordinary(self, group, controller):
        self.events.append('ordinary')


class EnforcerTest(base.BaseTestCase):

    def setUp(self):
        super().setUp()
        self.kernel = Kernel()
        self.enforcer = self.with_policy('rr')

    def with_policy(self, policy):
        return enforcer.Enforcer(self.kernel, self.kernel, policy, 10)

    def refused(self, words, pid=PID):
        error = self.assertRaises(exception.KernelError, self.enforcer.apply,
                                  pid, fakes.claim())
        for word in words:
            self.assertIn(word, str(error))
        self.assertNotIn('rr 10 but 42', self.kernel.events)

    def test_order(self):
        self.enforcer.apply(PID, fakes.claim(cpus=(3, 1)))
        self.assertEqual(['confine (3, 1)', 'reserve', 'rr 10 but 42'],
                         self.kernel.events)
        self.assertEqual(
            {'/machine/cpu': kernel_base.Budget({3: 1000, 1: 1000}, 2000)},
            self.kernel.budgets)

    def test_policy_left_to_the_guest(self):
        self.with_policy('none').apply(PID, fakes.claim())
        self.assertEqual(['confine (0,)', 'reserve'], self.kernel.events)

    def test_other_budget_read_back(self):
        for budget in (kernel_base.Budget({0: 999}, 2000),
                       kernel_base.Budget({0: 1000}, 2001),
                       kernel_base.Budget({1: 1000}, 2000)):
            self.kernel.reads = budget
            self.refused(['reads back', '1000 us every 2000 us'])

    def test_not_confined(self):
        self.kernel.confine_error = OSError('EBUSY')
        self.refused(['cpuset', 'pCPUs [0]', 'EBUSY'])
        self.assertNotIn('reserve', self.kernel.events)

    def test_process_is_gone(self):
        self.refused(['process 7', '7 is gone'], pid=7)

    def test_release(self):
        self.enforcer.apply(PID, fakes.claim())
        self.enforcer.release(PID)
        self.assertEqual({}, self.kernel.budgets)
        self.assertEqual(['ordinary', 'release'], self.kernel.events[-2:])

    def test_settle(self):
        self.enforcer.settle()
        self.assertEqual(['settle /machine'], self.kernel.events)

    def test_holds(self):
        self.assertFalse(self.enforcer.holds(PID, fakes.claim()))
        self.enforcer.apply(PID, fakes.claim())
        self.assertTrue(self.enforcer.holds(PID, fakes.claim()))
        self.assertFalse(self.enforcer.holds(PID, fakes.claim(1001)))
        self.assertFalse(self.enforcer.holds(PID, fakes.claim(cpus=(0, 1))))

    def test_replicated_budget_holds(self):
        self.kernel.reads = kernel_base.Budget(dict.fromkeys(range(8), 1000),
                                               2000)
        self.assertTrue(self.enforcer.holds(PID, fakes.claim(cpus=(7, 2))))

    def test_bandwidth(self):
        self.assertEqual(0, self.enforcer.bandwidth(PID))
        self.enforcer.apply(PID, fakes.claim())
        self.assertEqual(500_000, self.enforcer.bandwidth(PID))
