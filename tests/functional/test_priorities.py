# SPDX-License-Identifier: Apache-2.0

"""Servers on one pCPU of hosts that run them by fixed priorities.

That each server has the priority of its period is an invariant.
"""

import os

import fixtures

from nova_rt.rules import exception
from nova_rt.rules import hostmap
from tests.functional import invariants
from tests.functional import operations
from tests.functional import test_live_migration
from tests import proof
from tests import seeds

#: Their shares fit on one pCPU, their periods do not.
LONG, MIDDLE = (600_000, 1_000_000), (210_000, 700_000)
SHORT = (3_000, 10_000)
WORDS = ('runs servers by fixed priorities and could not give all of them '
         'their runtime')


class TestCase(operations.TestCase):

    def _configure(self) -> None:
        super()._configure()
        self.flags(rt_cpus='0', group='nova_rt')

    def priorities(self, server: operations.Server, host: str = 'host1'
                   ) -> set[int]:
        """Returns the priorities of all tasks inside."""
        keeper = self.keeper(server, host)
        tasks = self.kernel(host).tasks
        return {tasks[thread].priority for thread
                in self.guests.hosts[host].running[keeper]
                if thread != keeper}


class PrioritiesTest(TestCase):

    def test_resize_to_another_period(self) -> None:
        server = self.boot_on('host1', self.rt_flavor(*LONG))
        neighbour = self.boot_on('host1', self.rt_flavor(20_000, 200_000))
        before = self.priorities(server)
        for action in 'revertResize', 'confirmResize':
            self.act(server, 'resize', {
                'flavorRef': self.rt_flavor(*SHORT)}, 'VERIFY_RESIZE')
            self.assertEqual({invariants.HIGHEST - 13},
                             self.priorities(server, 'host2'))
            self.act(server, action, None, 'ACTIVE')
            if action == 'revertResize':
                self.assertEqual(before, self.priorities(server))
        self.assertLess(max(before), min(self.priorities(neighbour)))
        self.assert_nothing_remains()

    def test_audit_and_restart_mend(self) -> None:
        """A guest may lower tasks of its own, but for its init."""
        server = self.boot_on('host1', self.rt_flavor(*SHORT))
        _, init, other = self.guests.hosts['host1'].running[
            self.keeper(server)]
        for mend in (self.audit,
                     lambda: self.restart_compute_service('host1')):
            for thread, policy, priority in (
                    (other, os.SCHED_RR, 99), (init, os.SCHED_RR, 1),
                    (init, os.SCHED_FIFO, invariants.HIGHEST - 13)):
                self.kernel('host1').set_policy(thread, policy, priority)
                mend()
                self.assert_invariants()

    def test_a_kernel_that_does_not_tell_its_capacity(self) -> None:
        """The host takes no more, and those that run keep theirs."""
        server = self.boot_on('host1', self.rt_flavor(*SHORT))
        before = self.priorities(server)

        def refuse(*args: object) -> None:
            raise exception.KernelError(interface='', group='/', reason='')

        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.machine.kernel.rt_group_sched.RtGroupSched.capacity',
            refuse))
        self.audit('host1')
        self.assertEqual(before, self.priorities(server))

    def test_one_priority_for_all(self) -> None:
        self.flags(guest_priority_max=10, group='nova_rt')
        self.restart_compute_service('host1')
        servers = [self.boot_on('host1', self.rt_flavor(*each))
                   for each in ((20_000, 200_000), (50_000, 1_000_000))]
        for server in servers:
            self.assertEqual({10}, self.priorities(server))
        self.flags(guest_priority_max=57, group='nova_rt')
        self.restart_compute_service('host1')
        self.assert_invariants()


class LiveMigrationTest(test_live_migration.TestCase):

    KERNEL = 'F1'

    def test_priority_goes_along(self) -> None:
        server = self.boot_on('host1', self.rt_flavor(*SHORT, vcpus=2))
        self.migrate(server, 'completed')
        self.assert_runs(server, 'host2', 300)


class DividedTest(TestCase):
    """Servers that fit on one pCPU only divided for the kernel."""

    HOSTS = ('host1',)
    TENANTS = {**TestCase.TENANTS, 'min_divided_runtime_us': 100}

    @proof.proves(
        'Create, the host has [nova_rt] min_divided_runtime_us',
        'A server that fits on a pCPU only divided gets a part of its runtime '
        'in a part of its period; the claim has the divisor, which restarts '
        'and reboots keep.')
    def test_divided(self) -> None:
        """The claim has the divisor; the tenant and Placement do not."""
        first = self.boot(self.rt_flavor(*LONG))
        self.assertEqual(1, self.claimed(first).divisor)
        second = self.boot(self.rt_flavor(*MIDDLE))
        claim = self.claimed(second)
        self.assertGreater(claim.divisor, 1)
        self.assertEqual(MIDDLE, (claim.reservation.runtime_us,
                                  claim.reservation.period_us))
        self.assertEqual(
            (claim.in_kernel.runtime_us, claim.in_kernel.period_us),
            self.budget(second))
        self.assert_invariants()
        for option in 0, 100:  # Claims stay as they are.
            self.flags(min_divided_runtime_us=option, group='nova_rt')
            self.restart_compute_service('host1')
            self.assertEqual(claim, self.claimed(second))
            self.assert_invariants()
        self.act(second, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.assert_invariants()

    @proof.proves(
        'Audit, the host has [nova_rt] min_divided_runtime_us, and somebody '
        'changed a divided budget by hand',
        'The divided runtime and period are in the kernel again. The audit '
        'changes nothing in a budget that is right.')
    def test_an_audit_restores_what_is_divided(self) -> None:
        self.boot(self.rt_flavor(*LONG))
        server = self.boot(self.rt_flavor(*MIDDLE))
        right = self.budget(server)
        self.assertLess(right[0], MIDDLE[0])
        kernel, group = self.kernel('host1'), self.group(server)
        written: list[str] = []
        kernel.intercept = lambda path, text: written.append(path)
        self.audit('host1')
        kernel.intercept = None
        self.assertEqual([], [path for path in written if group in path])
        for runtime_us, period_us in (right[0] // 2, right[1]), MIDDLE:
            for name, value in (('period', period_us),
                                ('runtime', runtime_us)):
                kernel.write(f'/sys/fs/cgroup/cpu{group}/cpu.rt_{name}_us',
                             str(value))
            self.assertEqual((runtime_us, period_us), self.budget(server))
            self.audit('host1')
            self.assertEqual(right, self.budget(server))
            self.assert_invariants()


class AdmissionTest(TestCase):
    HOSTS = ('host1',)

    def setUp(self) -> None:
        super().setUp()
        self.server = self.boot(self.rt_flavor(*LONG))

    def test_scheduler_says_why(self) -> None:
        refused = self.boot(self.rt_flavor(*MIDDLE), status='ERROR')
        self.assertIn('does not fit on 1 pCPU of any host',
                      self.fault(refused))
        self.assertIn('host1 has 1 pCPU, the emptiest with 0.350 free, but '
                      f'its kernel {WORDS}', self.stdlog.logger.output)
        self.boot(self.rt_flavor(*SHORT))
        self.assert_invariants()

    def test_a_period_that_the_kernel_does_not_keep(self) -> None:
        self.boot(self.rt_flavor(300, 1_000), status='ERROR')
        self.assertIn(f'but its kernel {WORDS}', self.stdlog.logger.output)

    def test_scheduler_of_the_version_before(self) -> None:
        """The older scheduler compares sums; then the claim refuses."""
        self.start_host('host2')
        # The fullest host first.
        self.flags(rt_share_weight_multiplier=-100.0, group='nova_rt')
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.rules.hostmap._rule', lambda data: None))
        hostmap._decode.cache_clear()
        self.addCleanup(hostmap._decode.cache_clear)
        other = self.boot(self.rt_flavor(*MIDDLE))
        self.assertEqual('host2', self.host_of(other))
        self.assertIn(f'CPU reservation refused: no pCPU has room for '
                      f'210000 us every 700000 us (share 0.300): its kernel '
                      f'{WORDS}', self.stdlog.logger.output)
        self.assert_invariants()


class UpgradeTest(TestCase):
    """nova-compute of the version before: by the sum, one priority."""

    HOSTS = ('host1',)

    def setUp(self) -> None:
        self.before = fixtures.CompoundFixture([
            fixtures.MonkeyPatch('nova_rt.services.compute.capacity._rule',
                                 lambda conf, found: None),
            fixtures.MonkeyPatch(
                'nova_rt.services.virt.libvirt.selection.'
                '_priority_by_period',
                lambda wanted: 10)])
        self.before.setUp()
        super().setUp()

    def test_upgrade(self) -> None:
        servers = [self.boot(self.rt_flavor(*each))
                   for each in (LONG, MIDDLE)]
        self.assertIsNone(self.host_map().state.rule)
        for server in servers:
            self.assertEqual({invariants.LOWEST}, self.priorities(server))
        self.before.cleanUp()
        self.restart_compute_service('host1')
        self.assert_invariants()
        self.assertIn('pCPU 0 cannot give all its servers their runtime in '
                      'each of their periods; migrate or resize one of '
                      'servers', self.stdlog.logger.output)
        self._delete_server(servers[0])
        self.assert_invariants()


load_tests = seeds.load_of_the_day(__name__, 5, 'NOVA_RT_OPERATIONS')
