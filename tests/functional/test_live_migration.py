# SPDX-License-Identifier: Apache-2.0

"""A virtual machine moves while it runs, and its reservation with it."""

from typing import Any

import fixtures
from lxml import etree
from nova.compute import resource_tracker
from nova import exception
from nova import thread_pool_factory
from nova.virt.libvirt import driver

from nova_rt.rules import hostmap
from tests.functional import live
from tests.functional import operations
from tests import proof
from tests import seeds

_counted = resource_tracker.ResourceTracker._update_usage_from_migration


class TestCase(operations.TestCase):
    """Migrations from host1 to host2, with a runtime for each CPU."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'
    VCPUS = 2

    def setUp(self) -> None:
        super().setUp()
        self.status = 'ACTIVE'
        self.libvirt = self.useFixture(live.Migrations(
            self.guests, lambda: self.computes[
                'host2'].driver._host.get_connection()))
        self.libvirt.while_copying = self.while_copying

    def while_copying(self, incoming: Any) -> None:
        """Both hosts hold the reservation, also through audits."""
        self.assert_invariants()

    def migrate(self, server: operations.Server, status: str) -> None:
        """Requests the migration and waits for its end."""
        self.ask(server)
        self.assert_ended(server, status)

    def ask(self, server: operations.Server) -> None:
        self.domain(server)._job_type = live.NONE
        self.refused(server, 'os-migrateLive', {
            'host': None, 'block_migration': 'auto'})
        if self.libvirt.ends == live.CANCELLED:
            self.libvirt.copying.wait(live.PATIENCE)
            self.abort(server)
        self.finish()

    def assert_ended(self, server: operations.Server, status: str) -> None:
        self._wait_for_migration_status(server, [status])
        self._wait_for_server_parameter(
            server, {'OS-EXT-STS:task_state': None, 'status': self.status},
            wait_for_fault_key=False)
        self.assertEqual([], self.libvirt.trouble)
        self.assert_invariants()

    def abort(self, server: operations.Server) -> None:
        migration = self._wait_for_migration_status(server, ['running'])
        self.api.api_delete(
            f'/servers/{server["id"]}/migrations/{migration["id"]}')

    @staticmethod
    def finish() -> None:
        """Live migrations have a pool with one thread."""
        thread_pool_factory.get_executor(
            thread_pool_factory.ExecutorType.LIVE_MIGRATION).submit(
                lambda: None).result(live.PATIENCE)

    def pins(self) -> list[str]:
        """Returns the pCPUs of each vCPU in the XML for the destination."""
        return [pin.get('cpuset') for pin in etree.fromstring(
            self.libvirt.xml).findall('cputune/vcpupin')]

    def assert_stayed(self, server: operations.Server, before: Any) -> None:
        """Checks that the server is as before the request."""
        self.assertEqual(before, self.claimed(server))
        self.assert_runs(server, 'host1', 600)
        self.assert_nothing_left('host2')
        self.assertEqual([], self.alive('host2'))


class LiveMigrationTest(TestCase):

    @proof.proves(
        'Live migration',
        'The destination claims before anything moves, and has the budget in'
        ' place before the guest runs there. The source releases the '
        'reservation.')
    def test_accepted(self) -> None:
        self.reserved('host2', 300)
        server = self.reserved()
        self.assertEqual((0, 1), self.claimed(server).cpus)
        self.migrate(server, 'completed')
        self.assertEqual(['2', '3'], self.pins())
        self.assertEqual((2, 3), self.claimed(server).cpus)
        self.assert_runs(server, 'host2', 600)
        self.assert_nothing_left('host1')
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.assert_runs(server, 'host2', 600)

    @proof.proves(
        'Live migration, aborted',
        'The server stays on the source as before, and nothing is left at '
        'the destination.')
    def test_aborted(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.libvirt.ends = live.CANCELLED
        self.migrate(server, 'cancelled')
        self.assert_stayed(server, before)

    @proof.proves(
        'Live migration, failed at the source',
        'The server stays on the source as before, and nothing is left at '
        'the destination.')
    def test_failed(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.libvirt.ends = live.FAILED
        self.migrate(server, 'failed')
        self.assert_stayed(server, before)

    @proof.proves(
        'Live migration with disks that are not shared, failed',
        'The server stays on the source as before, and nothing is left at '
        'the destination.')
    def test_failed_with_its_disks(self) -> None:
        """Nova stores the server while it deletes the disks there."""
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.driver.LibvirtDriver.'
            '_check_shared_storage_test_file', lambda *args: False))
        server = self.reserved()
        before, stored = self.claimed(server), []
        clean_up = driver.LibvirtDriver.rollback_live_migration_at_destination

        def watched(*args: Any, **kwargs: Any) -> None:
            clean_up(*args, **kwargs)
            stored.append(self.claimed(server))
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.driver.LibvirtDriver.'
            'rollback_live_migration_at_destination', watched))
        self.libvirt.ends = live.FAILED
        self.migrate(server, 'failed')
        self.assertEqual([before], stored)
        self.assert_stayed(server, before)

    @proof.proves(
        'Live migration, failed with an error of libvirt',
        'The server stays on the source as before. From Nova 34 on, its '
        'state is ERROR.')
    def test_failed_with_an_error(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.libvirt.ends, self.libvirt.raises = live.FAILED, True
        self.status = 'ERROR'
        self.migrate(server, 'error')
        self.assert_stayed(server, before)
        self.act(server, 'os-resetState', {'state': 'active'}, 'ACTIVE')
        self.libvirt.ends, self.libvirt.raises = live.COMPLETED, False
        self.status = 'ACTIVE'
        self.migrate(server, 'completed')
        self.assert_runs(server, 'host2', 600)

    @proof.proves(
        'Live migration, the kernel of the destination refuses the budget',
        'The incoming guest is ended. The server stays on the source as '
        'before.')
    def test_refused_by_the_kernel(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.kernel('host2').intercept = self.refuse
        self.libvirt.while_copying = (
            lambda incoming: self.assertEqual(0, incoming.rt_pid))
        self.migrate(server, 'failed')
        self.kernel('host2').intercept = None
        self.assert_stayed(server, before)

    @staticmethod
    def refuse(path: str, text: str) -> None:
        if '.libvirt-' in path and 'rt_' in path:
            raise OSError(22, 'refused', path)

    @proof.proves(
        'Live migration, nova-compute of the destination gets no event of '
        'libvirt',
        'The migration is given up before the guest stops. The server stays '
        'on the source as before.')
    def test_not_in_place(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.services.virt.libvirt.holding.PATIENCE', 1.0))
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.services.virt.libvirt.started.Starts.heed',
            lambda self, uuid: False))
        self.libvirt.while_copying = lambda incoming: None
        self.migrate(server, 'cancelled')
        self.assertEqual([live.SLOW], self.libvirt.speeds)
        self.assertIn('is given up', self.stdlog.logger.output)
        self.assert_stayed(server, before)

    def test_speed(self) -> None:
        """The migration is no faster than Nova lets it."""
        self.flags(live_migration_bandwidth=7, group='libvirt')
        server = self.reserved()
        self.migrate(server, 'completed')
        self.assertEqual([live.SLOW, 7], self.libvirt.speeds)

    @proof.proves(
        'Live migration, no room at the destination',
        'The migration is refused. The server stays on the source as before.')
    def test_no_room(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        other = self.reserved('host2', 600, vcpus=4)
        self.migrate(server, 'error')
        self._delete_server(other)
        self.assert_invariants()
        self.assert_stayed(server, before)

    @proof.proves(
        'Live migration, the schedulers use a stale map',
        'The destination refuses the migration at the claim. The server '
        'stays on the source as before.')
    def test_no_room_for_the_claim(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        other = self.reserved('host2', 500, vcpus=4)
        self.useFixture(fixtures.MonkeyPatch(
            'nova_rt.services.scheduler.filters.rt_share_filter.RTShareFilter.'
            'filter_all', lambda self, hosts, spec: hosts))
        self.migrate(server, 'error')
        self.assertIn('CPU reservation refused', self.stdlog.logger.output)
        self._delete_server(other)
        self.assert_invariants()
        self.assert_stayed(server, before)

    @proof.proves(
        'Live migration, a check at the destination fails after the claim',
        'The migration is refused. The server stays on the source as before,'
        ' and the claim is released before any audit.')
    def test_check_fails_after_the_claim(self) -> None:
        server = self.reserved()
        before = self.claimed(server)

        def fail(*args: Any) -> None:
            claimed.append(self.tracked('host2'))
            raise exception.MigrationPreCheckError(reason='for a test')

        claimed: list[Any] = []
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.driver.LibvirtDriver.'
            'cleanup_live_migration_destination_check', fail))
        self.ask(server)
        self._wait_for_migration_status(server, ['error'])
        self.assertEqual([1], list(map(len, claimed)))
        self.assertEqual(set(), self.tracked('host2'))
        self.assertEqual('0.000', self.stats('host2')[hostmap.SHARE_USED])
        self.assert_ended(server, 'error')
        self.assert_stayed(server, before)

    @proof.proves(
        'Live migration, the claim at the destination is interrupted',
        'The migration is refused. The server stays on the source as before.')
    def test_claim_breaks_off(self) -> None:
        server = self.reserved()
        before = self.claimed(server)

        def fail(*args: Any) -> None:
            raise exception.MigrationPreCheckError(reason='for a test')

        self.useFixture(fixtures.MonkeyPatch(
            'nova.compute.resource_tracker.ResourceTracker.'
            '_update_usage_from_migration', fail))
        self.ask(server)
        self._wait_for_migration_status(server, ['error'])
        self.assertEqual(set(), self.tracked('host2'))
        # Nova does not give back resources that it never counted.
        rt = self.computes['host2'].manager.rt
        self.assertEqual(0, rt.compute_nodes['host2'].vcpus_used)
        self.useFixture(fixtures.MonkeyPatch(
            'nova.compute.resource_tracker.ResourceTracker.'
            '_update_usage_from_migration', _counted))
        self.assert_ended(server, 'error')
        self.assert_stayed(server, before)

    @proof.proves(
        'Live migration to a host without nova-rt',
        'The scheduler refuses the host. The server stays on the source as '
        'before.')
    def test_no_plugin(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        self.disable('host2')
        self.flags(compute_driver='libvirt.LibvirtDriver')
        plain = self.start_host('host3')
        self.computes.pop(plain)
        self.migrate(server, 'error')
        self.assertEqual(before, self.claimed(server))
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'Live migration, the schedulers wrongly expect nova-rt on the '
        'destination',
        'The source refuses the migration before anything moves. The server '
        'stays there as before.')
    def test_plugin_is_gone(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        plain = self.computes['host2'].driver
        ours, plain.__class__ = plain.__class__, driver.LibvirtDriver
        self.migrate(server, 'error')
        plain.__class__ = ours
        self.assertEqual('', self.libvirt.xml)
        self.assertIn('makes no claim', self.stdlog.logger.output)
        self.assert_stayed(server, before)

    @proof.proves(
        'Live migration, the destination made no claim',
        'The migration is ended before anything moves. The server runs on, '
        'in state ERROR.')
    def test_no_claim(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        plain = self.computes['host2'].manager.rt
        ours, plain.__class__ = (
            plain.__class__, resource_tracker.ResourceTracker)
        self.status = 'ERROR'
        self.ask(server)
        plain.__class__ = ours
        self.assert_ended(server, 'error')
        self.assertEqual('', self.libvirt.xml)
        self.assertIn('made no claim', self.stdlog.logger.output)
        self.assert_stayed(server, before)

    @proof.proves(
        'Live migration of a server without a reservation',
        'The migration works as without nova-rt.')
    def test_without_reservation(self) -> None:
        server = self.boot_on('host1', self.rt_flavor(None, None))
        self.migrate(server, 'completed')
        self.assertEqual('host2', self.host_of(server))
        self.assertEqual([], self.pins())


load_tests = seeds.load_of_the_day(__name__, 3, 'NOVA_RT_OPERATIONS')
