# SPDX-License-Identifier: Apache-2.0

"""Virtual machines on a stock kernel: SCHED_DEADLINE, which probing finds."""

import errno
import os
import unittest
from unittest import mock

import fixtures
from nova import context
from nova import objects
from nova.tests.fixtures import libvirt as fakelibvirt

from nova_rt.machine import sched_setattr
from nova_rt.rules import hostmap
from nova_rt.services.compute import claims
from tests.emulation import groups
from tests.emulation import kernels
from tests.emulation import stock
from tests.emulation import tasks as emulated
from tests.functional import invariants
from tests.functional import operations
from tests.functional import test_kill
from tests.functional import test_lifecycle
from tests.functional import test_live_migration
from tests.functional import test_moves
from tests import seeds

#: The number of inherited tests that run with each change.
_SAMPLE = 3


class Stock(invariants.TestCase):
    """A mixin: hosts whose kernel has no budget for groups."""

    KERNEL = 'stock'
    VIRT_TYPE = 'qemu'
    #: what the kernel leaves beside its fair server
    CAP = 900_001

    def setUp(self) -> None:
        self.useFixture(fixtures.MonkeyPatch(
            'tests.emulation.kernels.KERNELS', kernels.KERNELS | {
                'stock': kernels.Emulated(stock.Kernel, 'sched_deadline')}))
        for name, new in emulated.DEADLINE.items():
            self.useFixture(fixtures.MonkeyPatch(name, new))
        super().setUp()

    def _policy(self, host: str, claim: claims.RTClaim | None
                ) -> tuple[int, int]:
        if claim is None:
            return super()._policy(host, claim)
        return groups.DEADLINE, 0


class DeadlineTest(Stock, operations.TestCase):
    """Tests what differs from kernels with budgets for groups."""

    HOSTS = ('host1',)

    def test_chosen_by_probing(self) -> None:
        self.assertLessEqual(hostmap.TRAITS, set(self.traits()))
        server = self.reserved(share=450)
        other = self.reserved(share=450)
        self.assertEqual({0, 1}, {self.claimed(each).cpus[0]
                                  for each in (server, other)})

    def test_not_pinned(self) -> None:
        """If the kernel lets no cpuset shrink, the log reports global EDF."""
        self.useFixture(fixtures.MonkeyPatch(
            'tests.emulation.stock.Kernel.shrinks', False))
        found = self.traits(self.start_host('host2'))
        self.assertIn(hostmap.TRAIT, found)
        self.assertNotIn(hostmap.PINNED_TRAIT, found)

    def test_refused_by_the_kernel(self) -> None:
        """The server does not run, and nothing of it is left."""
        self.kernel().intercept = refuse
        self.boot_on('host1', self.flavor(600), 'ERROR')
        self.kernel().intercept = None
        self.assertEqual([], self.alive('host1'))
        self.assert_invariants()

    def test_audit_repairs(self) -> None:
        server = self.reserved()
        pid = self.domain(server).rt_pid
        thread = self.guests.hosts['host1'].running[pid][2]
        sched_setattr.stop(thread)
        self.audit()
        self.assert_runs(server, 'host1', 600)

    def busy(self, server: object) -> int:
        """Makes the vCPU of a server busy, so that it never sleeps."""
        pid = self.domain(server).rt_pid
        thread = self.guests.hosts['host1'].running[pid][2]
        self.kernel().busy_threads.add(thread)
        return int(thread)

    def test_a_vcpu_that_starves_runs_after_an_audit(self) -> None:
        """The policy and the pCPU of the vCPU are right all the time."""
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.machine.kernel.starving._GRACE_SECONDS', 0.0))
        server = self.reserved()
        thread = self.busy(server)
        self.kernel().stuck.add(thread)
        self.assert_runs(server, 'host1', 600)
        self.audit()
        self.assertEqual(set(), self.kernel().stuck)
        self.assert_runs(server, 'host1', 600)

    def test_a_power_off_that_libvirt_refuses(self) -> None:
        """The reservation was lost meanwhile; the audit restores it."""
        server = self.reserved()
        self.busy(server)
        driver = self.computes['host1'].driver
        instance = objects.Instance.get_by_uuid(
            context.get_admin_context(), server['id'])
        guest = driver._host.get_guest(instance)
        with mock.patch.object(
                guest._domain, 'destroy',
                side_effect=fakelibvirt.make_libvirtError(
                    fakelibvirt.libvirtError, 'it is busy')):
            self.assertRaises(fakelibvirt.libvirtError, guest.poweroff)
        self.audit()
        self.assertEqual(set(), self.kernel().stuck)
        self.assert_runs(server, 'host1', 600)


def refuse(path: str, text: str) -> None:
    if path.startswith('sched_setattr'):
        raise OSError(errno.EINVAL, 'refused', path)


class LifecycleTest(Stock, test_lifecycle.MachineTest):
    """Tests of servers on one host."""

    refuse = staticmethod(refuse)


class MovesTest(Stock, test_moves.MachineTest):
    """Tests of servers that move while they are off."""


class LiveMigrationTest(Stock, test_live_migration.LiveMigrationTest):
    """Tests of servers that move while they run."""

    refuse = staticmethod(refuse)


class KillTest(Stock, test_kill.MachineTest):
    """nova-compute is killed at steps of each operation."""


def load_tests(loader: unittest.TestLoader, standard: unittest.TestSuite,
               pattern: str | None) -> unittest.TestSuite:
    """Runs all tests of other kernels with NOVA_RT_STOCK, else a few."""
    inherited = [
        test for case in (LifecycleTest, MovesTest, LiveMigrationTest,
                          KillTest)
        for test in loader.loadTestsFromTestCase(case)]
    if not os.environ.get('NOVA_RT_STOCK'):
        inherited = seeds.sample(__name__).sample(inherited, _SAMPLE)
    return unittest.TestSuite(
        [*loader.loadTestsFromTestCase(DeadlineTest), *inherited])
