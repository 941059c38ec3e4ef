# SPDX-License-Identifier: Apache-2.0

"""Tests which groups of a guest hold a budget, and which."""

import types

from oslotest import base as oslo_base
import testscenarios

from nova_rt.machine.kernel import base as kernel_base
from nova_rt.services.virt.libvirt import layout
from tests.emulation import tasks as emulated
from tests.unit.machine.kernel import base
from tests.unit.services.virt.libvirt import fakes

PID = 42
SCOPE = '/machine.slice/machine-qemu\\x2d3\\x2di.scope/libvirt'


def interface(replicated=False, inherits=False):
    return types.SimpleNamespace(replicated=replicated, inherits=inherits)


class Tasks:
    """The group of one process, and the groups below that of its domain."""

    def __init__(self, group, *below):
        self._group = group
        self._below = below

    def group_of(self, pid, controller):
        if pid != PID:
            raise LookupError(f'process {pid} has ended')
        return self._group

    def groups_below(self, group, controller):
        return [f'{group}/{name}' for name in self._below]


class FindTest(oslo_base.BaseTestCase):

    def test_container(self):
        for group in ('/machine/lxc-42-i.libvirt-lxc',
                      '/machine.slice/machine-lxc\\x2d42.scope',
                      '/machine.slice/machine-lxc\\x2d42.scope/libvirt'):
            self.assertEqual(layout.Layout(group, (), PID),
                             layout.find(Tasks(group), 'cpu', PID))

    def test_virtual_machine(self):
        for domain in ('/machine/qemu-3-i.libvirt-qemu', SCOPE,
                       SCOPE.removesuffix('/libvirt')):
            found = layout.find(Tasks(
                f'{domain}/emulator', 'emulator', 'vcpu1', 'iothread1',
                'vcpu0'), '', PID)
            self.assertEqual(layout.Layout(domain, (
                f'{domain}/vcpu0', f'{domain}/vcpu1'), 0), found)

    def test_vcpus_in_the_order_of_their_numbers(self):
        names = [f'vcpu{number}' for number in range(12)]
        found = layout.find(Tasks('/d/emulator', *sorted(names)), '', PID)
        self.assertEqual(tuple(f'/d/{name}' for name in names), found.vcpus)

    def test_no_vcpus(self):
        error = self.assertRaises(LookupError, layout.find, Tasks(
            '/d/emulator', 'emulator', 'vcpus', 'vcpu'), '', PID)
        self.assertIn('no group for a vCPU', str(error))

    def test_ended(self):
        self.assertRaises(LookupError, layout.find, Tasks('/d'), '', 7)


class BudgetTest(oslo_base.BaseTestCase):
    """Budgets are compared in the unit of the kernel's admission test."""

    def setUp(self):
        super().setUp()
        self.container = layout.Layout('/c', (), PID)
        self.machines = {count: layout.Layout('/d', tuple(
            f'/d/vcpu{number}' for number in range(count)), 0)
            for count in (1, 2, 4)}

    def budgets(self, guest, cpus, **kinds):
        found = guest.budgets(interface(**kinds),
                              fakes.claim(1000, 2000, cpus))
        self.assertEqual(set(found), set(guest.leaves(interface(**kinds))))
        for budget in found.values():
            self.assertEqual((2000, {1000}), (
                budget.period_us, set(budget.runtime_us.values())))
        return {group: set(budget.runtime_us)
                for group, budget in found.items()}

    def test_container(self):
        for kinds in ({}, {'replicated': True}, {'inherits': True},
                      {'replicated': True, 'inherits': True}):
            self.assertEqual({'/c': {3, 1}},
                             self.budgets(self.container, (3, 1), **kinds))
            self.assertFalse(self.container.gathers(interface(**kinds)))
        self.assertEqual(('/c',), self.container.reserved(fakes.claim()))

    def test_a_group_for_each_vcpu_where_cpus_are_charged(self):
        for kinds in ({}, {'inherits': True}):
            for count, guest in self.machines.items():
                cpus = tuple(range(count + 2, 2, -1))
                self.assertEqual(
                    {f'/d/vcpu{number}': {cpu}
                     for number, cpu in enumerate(cpus)},
                    self.budgets(guest, cpus, **kinds))
                self.assertFalse(guest.gathers(interface(**kinds)))
                self.assertEqual(guest.vcpus, guest.reserved(
                    fakes.claim(cpus=cpus)))

    def test_only_the_vcpus_of_the_claim(self):
        claim = fakes.claim(1000, 2000, (7, 5), unreserved=(0, 2))
        guest = self.machines[4]
        self.assertEqual(
            {'/d/vcpu1': {7: 1000}, '/d/vcpu3': {5: 1000}},
            {group: budget.runtime_us for group, budget
             in guest.budgets(interface(), claim).items()})
        self.assertEqual(('/d/vcpu1', '/d/vcpu3'), guest.reserved(claim))
        error = self.assertRaises(LookupError, self.machines[2].budgets,
                                  interface(), claim)
        self.assertIn('groups for 2 vCPUs but a claim for 4', str(error))

    def test_one_group_where_all_cpus_are_charged(self):
        for count, guest in self.machines.items():
            cpus = tuple(range(count))
            self.assertEqual({'/d/vcpu0': set(cpus)},
                             self.budgets(guest, cpus, replicated=True))
            self.assertEqual(count > 1,
                             guest.gathers(interface(replicated=True)))

    def test_the_domain_where_vcpus_inherit(self):
        both = {'replicated': True, 'inherits': True}
        for count, guest in self.machines.items():
            cpus = tuple(range(count))
            self.assertEqual({'/d': set(cpus)},
                             self.budgets(guest, cpus, **both))
            self.assertFalse(guest.gathers(interface(**both)))

    def test_another_number_of_vcpus(self):
        """All vCPUs have one thread: TCG without MTTCG."""
        for kinds in ({}, {'replicated': True}):
            error = self.assertRaises(
                LookupError, self.budgets, self.machines[1], (0, 1), **kinds)
            self.assertIn('groups for 1 vCPU but a claim for 2', str(error))


class EmulatedTest(testscenarios.WithScenarios, oslo_base.BaseTestCase):
    """Guests as libvirt makes them, on each kernel."""

    scenarios = base.SCENARIOS

    def setUp(self):
        super().setUp()
        self.kernel = base.KERNELS[self.kind](4)
        self.interface = base.interface_on(self.kernel, self.kind)
        self.guests = emulated.Guests(self.kernel)
        self.tasks = emulated.EmulatedTasks(self.kernel)

    def find(self, pid):
        return layout.find(self.tasks, self.interface.controller, pid)

    def test_container(self):
        pid = self.guests.start('a', '1')
        self.assertEqual(layout.Layout(self.guests.group(pid), (), pid),
                         self.find(pid))

    def test_virtual_machines(self):
        for count in (1, 2, 4):
            pid = self.guests.start_qemu('m', [''] * count)
            found = self.find(pid)
            self.assertEqual(self.guests.group(pid), found.domain)
            self.assertEqual(count, len(found.vcpus))
            self.assertEqual(0, found.keeper)
            for group, budget in found.budgets(
                    self.interface, fakes.claim(cpus=range(count))).items():
                self.assertIn(group, self.kernel.budgets())
                self.assertIsInstance(budget, kernel_base.Budget)
