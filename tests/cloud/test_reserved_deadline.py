# SPDX-License-Identifier: Apache-2.0

"""Virtual machines by SCHED_DEADLINE on their pCPUs, on real parts."""

import contextlib
import os
import re
import unittest

import libvirt
import openstack

from tests.cloud import base
from tests.cloud import lifecycle
from tests.cloud import pinned
from tests import proof
from tests import seeds

SECONDS = 10
_WHOLE = 'NOVA_RT_STOCK' in os.environ


class DeadlineTestCase(pinned.PinnedTests):

    #: of a CPU
    TOLERANCE = 0.005

    def reserved(self) -> base.host.Server:
        """Returns a busy server, as the host has it."""
        return self.on_host(self.busy(self.flavor(45_000, 100_000)))

    def ordinary(self, vcpus: int) -> str:
        """Makes a flavor without a reservation; returns its id."""
        found = self.cloud.compute.create_flavor(
            name=self.getUniqueString(), ram=96, vcpus=vcpus, disk=0)
        self.addCleanup(self.cloud.compute.delete_flavor, found)
        return str(found.id)

    def resize(self, server: openstack.compute.v2.server.Server,
               flavor: str) -> None:
        """Resizes a server, and confirms the resize."""
        compute = self.cloud.compute
        compute.resize_server(server, flavor)
        self.eventually('resized', lambda: compute.get_server(
            server).status == 'VERIFY_RESIZE')
        compute.confirm_server_resize(server)
        self.eventually('confirmed', lambda: compute.get_server(
            server).status == 'ACTIVE')

    def assert_share(self, wanted: float,
                     server: openstack.compute.v2.server.Server) -> None:
        """Checks that its vCPU gets this share of its pCPU."""
        found = self.on_host(server)
        self.assert_pinned(found)
        share = base.measure.shares([found], SECONDS)[found.name]
        print(f'share of {wanted}: {share:.4f}')
        self.assertAlmostEqual(wanted, share, delta=self.TOLERANCE)
        self.assert_in_step()

    @unittest.skipUnless(_WHOLE, 'takes a minute: set NOVA_RT_STOCK')
    @proof.proves(
        'Create, resize, release and delete of one real virtual machine with '
        'SCHED_DEADLINE',
        'The server gets its share, within 0.005 of a pCPU, before and after '
        'the resize. Without its reservation it is an ordinary server.')
    def test_one_server(self):
        server = self.busy(self.flavor(30_000, 100_000))
        self.assert_share(0.3, server)
        self.resize(server, self.flavor(60_000, 100_000))
        self.assert_share(0.6, server)
        self.resize(server, self.ordinary(vcpus=1))
        self.assertIsNone(self.on_host(server).claim)
        self.eventually('an ordinary guest', lambda: base.host.policies(
            self.on_host(server))['guest'] == ['SCHED_OTHER'])
        self.delete(server)
        self.assert_nothing_left()

    @proof.proves(
        'Two real virtual machines with 0.45 each on one pCPU with '
        'SCHED_DEADLINE, beside a third without a reservation',
        'Each reserved server gets its share, within 0.005 of a pCPU.')
    def test_two_on_one_pcpu(self):
        pair = [self.reserved(), self.reserved()]
        self.assertEqual(1, len({each.claim.cpus for each in pair}))
        self.boot(self.ordinary(vcpus=2))
        shares = base.measure.shares(pair, SECONDS)
        print('shares of two of 0.45 on one pCPU:', sorted(shares.values()))
        for each in pair:
            self.assert_pinned(each)
            self.assertAlmostEqual(0.45, shares[each.name],
                                   delta=self.TOLERANCE)
        self.assert_in_step()

    @unittest.skipUnless(_WHOLE, 'takes a minute: set NOVA_RT_STOCK')
    def test_no_room(self):
        """Checks that the request is refused and leaves nothing."""
        held = [self.boot(self.flavor(45_000, 100_000, vcpus=2))
                for _ in range(os.cpu_count() or 1)]
        self.boot(self.flavor(5_000, 100_000), wanted='ERROR')
        for server in held:
            self.assert_pinned(self.on_host(server))
        self.assert_nothing_remains()


class LifecycleTestCase(pinned.PinnedTests, lifecycle.LifecycleTests):
    """Checks that the server runs only with its reservation."""

    def assert_policies(self, found: base.host.Server) -> None:
        self.assert_pinned(found)

    def keeper(self, found: base.host.Server) -> int:
        emulator = found.below('cpuset') / found.group / 'emulator'
        return base.groups.tasks(emulator)[0]

    @proof.proves(
        'Suspend and resume of a real virtual machine with SCHED_DEADLINE',
        'The reservation is kept. There is no budget while the server is '
        'suspended.')
    def test_suspend(self):
        self.compute.suspend_server(self.server)
        self.reaches('SUSPENDED')
        self.assert_off()
        self.compute.resume_server(self.server)
        self.assert_runs()

    @proof.proves(
        'Rescue and unrescue of a real virtual machine with SCHED_DEADLINE',
        'The reservation is kept, and the rescue system has the same '
        'reservation.')
    def test_rescue(self):
        self.compute.rescue_server(self.server)
        self.reaches('RESCUE')
        rescue = self.on_host(self.server)
        self.assertEqual(lifecycle.BUDGET, rescue.kernel)
        self.assert_pinned(rescue)
        self.assert_in_step()
        self.compute.unrescue_server(self.server)
        self.runs_anew()

    @proof.proves(
        'Reset of a real virtual machine with SCHED_DEADLINE',
        'The same vCPU threads run on, with their budgets.')
    def test_reset(self):
        """A guest that reboots itself keeps its reservation."""
        with contextlib.closing(
                libvirt.open(self.settings.kind.uri)) as connection:
            connection.lookupByUUIDString(self.server.id).reset()
        self.eventually('it boots again', lambda: len(re.findall(
            base.guests.KINDS[self.GUEST].console,
            self.console(self.server))) == 2)
        self.assert_runs(again=False)


def load_tests(loader: unittest.TestLoader, standard: unittest.TestSuite,
               pattern: str | None) -> unittest.TestSuite:
    """Runs one test of the life cycle a day; all with NOVA_RT_STOCK.

    Without NOVA_RT_STOCK, the tests run with KVM alone if KVM is here
    (test_reserved_kvm).
    """
    if not _WHOLE and not base.lacking('kvm', budgets=False):
        return unittest.TestSuite()
    life = seeds.tests_of_the_day(
        __name__, [loader.loadTestsFromTestCase(LifecycleTestCase)], 1,
        'NOVA_RT_STOCK')
    return unittest.TestSuite(
        [*loader.loadTestsFromTestCase(DeadlineTestCase), *life])
