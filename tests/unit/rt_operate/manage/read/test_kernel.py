# SPDX-License-Identifier: Apache-2.0

import os
from unittest import mock

import fixtures

from nova_rt.machine.host import files as host_files
from nova_rt.machine.host import sched
from nova_rt.machine.kernel import base as kernel_base
from nova_rt.rules import reservation
from rt_operate.manage.read import kernel
from rt_operate.manage import snapshot
from tests.emulation import clock
from tests.emulation import rt_group_sched
from tests.emulation import tasks as emulated
from tests.unit import base as unit_base
from tests.unit.rt_operate.manage import base
from tests.unit.services.virt.libvirt import test_pinned


class Files:
    """The readable files of an emulated kernel."""

    def __init__(self, emulation):
        self.children, self.mounts = emulation.children, emulation.mounts
        self._read = emulation.read

    def read(self, path):
        if path == '/proc/sys/kernel/osrelease':
            return '6.12.0'
        return self._read(path)


class LookTest(unit_base.TestCase):
    """Mainline, where runtimes are granted on every pCPU."""

    def setUp(self):
        super().setUp()
        self.emulation = rt_group_sched.Kernel(4, clock.Clock())
        self.guests = emulated.Guests(self.emulation)
        self.trouble = ''
        self.holding = base.holding(0, (0,), 20_000, 200_000)
        self.running = [(self.holding.server, self.guests.start('a'))]
        for name, new in (
                ('rt_operate.manage.read.kernel.this_host',
                 lambda: Files(self.emulation)),
                ('rt_operate.manage.read.kernel.running_guests',
                 lambda: self.running),
                ('nova_rt.machine.host.namespaces.trouble',
                 lambda host: self.trouble),
                ('nova_rt.machine.kernel.tasks.Tasks',
                 emulated.EmulatedTasks)):
            self.useFixture(fixtures.MonkeyPatch(name, new))

    def group(self):
        return self.guests.group(self.running[0][1])

    def put(self, group, runtime, period=None):
        path = f'/sys/fs/cgroup/cpu{group}/cpu.rt_'
        if period:
            self.emulation.write(f'{path}period_us', str(period))
        self.emulation.write(f'{path}runtime_us', str(runtime))

    def reserve(self):
        self.put('/machine', 100_000)
        self.put(self.group(), 20_000, 200_000)

    def test_in_order(self):
        self.reserve()
        found = kernel.read_budgets([self.holding])
        self.assertTrue(found.replicated)
        leaf, = found.guests[self.holding.server]
        self.assertEqual(
            (self.group(), kernel_base.Budget({0: 20_000}, 200_000)),
            (leaf.group, leaf.wanted))
        self.assertEqual(20_000, leaf.budget.runtime_us[0])
        self.assertEqual(({}, {}), (found.strays, found.room))

    def test_no_budget_and_room(self):
        self.put('/machine', 100_000)
        found = kernel.read_budgets([self.holding])
        self.assertIsNone(found.guests[self.holding.server][0].budget)
        self.assertEqual({'/machine': 100_000}, found.room)

    def test_a_guest_without_a_claim(self):
        self.reserve()
        one = base.holding(0, ())
        leaf, = kernel.read_budgets([one]).guests[one.server]
        self.assertIsNone(leaf.wanted)
        self.assertIsNotNone(leaf.budget)

    def test_strays(self):
        self.reserve()
        self.put('/machine', 200_000)
        self.emulation.mkdir('/machine/other')
        self.put('/machine/other', 100_000)
        self.assertEqual({'/machine/other': 100_000},
                         kernel.read_budgets([self.holding]).strays)
        # A guest that is none of Nova's, too.
        self.assertEqual({'/machine/other', self.group()},
                         set(kernel.read_budgets([]).strays))

    def test_a_soft_reservation_may_have_more(self):
        """A longer runtime is right, a shorter one or a period is not."""
        wanted = kernel_base.Budget({0: 30_000}, 100_000)
        for runtime, period, is_right in (
                (30_000, 100_000, True), (95_000, 100_000, True),
                (29_999, 100_000, False), (47_500, 50_000, False)):
            policy = sched.Policy(sched.SCHED_DEADLINE, 0, runtime * 1000,
                                  period * 1000, period * 1000)
            with (mock.patch.object(sched, 'get', return_value=policy),
                  mock.patch.object(os, 'sched_getaffinity',
                                    return_value={0})):
                leaf = kernel._thread_leaf('g', 1, wanted, True)
                hard = kernel._thread_leaf('g', 1, wanted)
            self.assertEqual(is_right, leaf.wanted == leaf.budget)
            self.assertEqual(wanted, hard.wanted)

    def test_outside_of_the_host(self):
        self.trouble = 'why'
        error = self.assertRaises(kernel.Unreadable, kernel.read_budgets,
                                  [self.holding])
        self.assertEqual('this process does not see the host: why',
                         str(error))

    def test_a_guest_that_ended_meanwhile(self):
        self.running.append((self.holding.server, 1))
        self.running.pop(0)
        self.assertEqual({}, kernel.read_budgets([self.holding]).guests)

    def test_no_interface(self):
        self.useFixture(fixtures.MonkeyPatch(
            'rt_operate.manage.read.kernel.this_host',
            lambda: host_files.Host(
                self.useFixture(fixtures.TempDir()).path)))
        self.assertRaises(kernel.Unreadable, kernel.read_budgets,
                          [self.holding])


class LibvirtTest(unit_base.TestCase):

    def test_no_libvirt(self):
        self.config(group='libvirt', connection_uri='nonsense:///')
        error = self.assertRaises(kernel.Unreadable, kernel.running_guests)
        self.assertIn('cannot be asked', str(error))


class ModelTest(unit_base.TestCase):

    def test_a_difference_is_one_line(self):
        found = snapshot.Difference('k', 'host1', 's', 'a', 'b', 'c')
        self.assertEqual('host1: server s: a; should be: b; to do: c',
                         str(found))
        self.assertEqual('1 us every 2 us (share 0.500)',
                         str(reservation.Reservation(1, 2)))


class ThreadsTest(unit_base.TestCase):
    """A stock kernel, where vCPU threads have their runtimes."""

    def setUp(self):
        super().setUp()
        self.host = test_pinned.Host()
        self.addCleanup(self.host.close)
        self.holding = base.holding(0, (1,), 30_000, 100_000)
        self.pid = self.host.start(1)
        for name, new in (
                ('rt_operate.manage.read.kernel.this_host',
                 lambda: Files(self.host.kernel)),
                ('rt_operate.manage.read.kernel.running_guests',
                 lambda: [(self.holding.server, self.pid)]),
                ('rt_operate.manage.read.kernel.os.sched_getaffinity',
                 emulated.affinity_of),
                ('nova_rt.machine.host.namespaces.trouble', lambda host: ''),
                ('nova_rt.machine.kernel.tasks.Tasks',
                 emulated.EmulatedTasks)):
            self.useFixture(fixtures.MonkeyPatch(name, new))

    def test_workers_of_kvm_need_no_budget(self):
        self.host.enforcer.apply(self.pid, self.holding.claims[0])
        self.host.guests.first_run(self.pid)
        (leaf,), = kernel.read_budgets([self.holding]).guests.values()
        self.assertEqual(leaf.wanted, leaf.budget)
