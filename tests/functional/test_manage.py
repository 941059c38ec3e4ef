# SPDX-License-Identifier: Apache-2.0

"""Tests nova-rt-manage on servers of Nova, in order and damaged."""

import contextlib
import io
import json
from typing import Any

import fixtures
from keystoneauth1 import exceptions as ks_exceptions
from nova.cmd import manage as nova_manage
from nova import context as nova_context
from nova import objects
from nova.scheduler.client import report

from nova_rt.rules import hostmap
from rt_operate.commands import manage
from rt_operate.commands import status
from tests.functional import base
from tests.functional import strangers
from tests import seeds

_ACTIVE = 1  # VIR_CONNECT_LIST_DOMAINS_ACTIVE
_IMAGE = 'a2459075-d96c-40d5-893e-577ff92e721c'


class Files:
    """The readable files of an emulated kernel."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self.children, self.mounts = kernel.children, kernel.mounts

    def read(self, path: str) -> str:
        if path == '/proc/sys/kernel/osrelease':
            return '6.12.0'
        return str(self._kernel.read(path))


class ManageTestCase(base.TestCase):
    """Two hosts, the first of which is the machine that runs the tests."""

    CAST_AS_CALL = False
    ADMIN_API = True

    def setUp(self) -> None:
        super().setUp()
        for name in ('host1', 'host2'):
            self.start_host(name)
        self.this_host = 'host1'
        for name, new in (
                ('rt_operate.manage.command.PAUSE_SECONDS', 0),
                ('rt_operate.manage.start.configure', lambda *args: None),
                ('rt_operate.manage.read.kernel.this_host',
                 lambda: Files(self.kernel(self.this_host))),
                ('rt_operate.manage.read.kernel.running_guests',
                 self._running)):
            self.useFixture(fixtures.MonkeyPatch(name, new))

    def _running(self) -> list[tuple[str, int]]:
        connection = (self.computes[self.this_host].driver._host
                      .get_connection())
        return [(domain.UUIDString(), domain.ID())
                for domain in connection.listAllDomains(_ACTIVE)]

    def manage(self, *argv: str) -> tuple[int, str]:
        """Returns the status and the lines of a run."""
        self.flags(host=self.this_host)
        out = io.StringIO()
        with (contextlib.redirect_stdout(out),
              contextlib.redirect_stderr(out)):
            code = manage.main(argv)
        self.assertNotIn('Traceback', out.getvalue())
        return code, out.getvalue()

    def kinds(self, *argv: str) -> list[str]:
        """Returns the kinds of the differences; the status must fit."""
        code, out = self.manage('check', '-f', 'json', *argv)
        found = json.loads(out)
        self.assertEqual([], found['unchecked'])
        self.assertEqual(1 if found['differences'] else 0, code, out)
        return [each['kind'] for each in found['differences']]

    def assert_clean(self) -> None:
        """Checks both hosts, each from its own machine."""
        for name in self.computes:
            self.this_host = name
            code, out = self.manage('check', '--kernel')
            self.assertEqual(0, code, out)
            self.assertIn(f'kernel of {name} compared', out)
        self.this_host = 'host1'

    def settle(self) -> None:
        """Waits: the kernel counts a removed group for a while."""
        self.clock.sleep(1)
        for name in self.computes:
            self.audit(name)

    def reserved(self, host: str = 'host1', **fields: int
                 ) -> dict[str, Any]:
        """A server on *host* whose hint wins over its flavor."""
        body = self.request(self.rt_flavor(100_000, 200_000, **fields),
                            {base.HINT_RUNTIME: 20_000})
        body['server']['host'] = host
        return dict(self._wait_for_state_change(
            self.api.post_server(body), 'ACTIVE'))

    # Damage.

    def client(self) -> Any:
        return report.report_client_singleton()

    def allocation(self, consumer: str) -> dict[str, Any]:
        return dict(self.client().get_allocs_for_consumer(
            nova_context.get_admin_context(), consumer))

    def put(self, consumer: str, payload: dict[str, Any]) -> None:
        self.assertTrue(self.client().put(
            f'/allocations/{consumer}', payload, version='1.28'))

    def change_allocation(self, consumer: str, host: str = 'host1',
                          **amounts: int) -> None:
        """Changes an allocation; 0 takes a class away."""
        found = self.allocation(consumer)
        each = found['allocations'][self.compute_rp_uuids[host]]
        each['resources'] = {
            name: amount for name, amount
            in (each['resources'] | amounts).items() if amount}
        self.put(consumer, found)

    def delete_allocation(self, consumer: str) -> None:
        self.put(consumer, self.allocation(consumer) | {'allocations': {}})

    def change_claim(self, server: dict[str, Any], text: str | None) -> None:
        """Changes a claim in the database; None drops the claim."""
        instance = self.instance(server)
        resources = [objects.Resource(
            provider_uuid=each.provider_uuid,
            resource_class=each.resource_class, identifier=text)
            for each in instance.resources if text is not None]
        instance.resources = objects.ResourceList(objects=resources)
        instance.save()

    def fake_disk(self) -> None:
        def power_off(self: Any, context: Any, instance: Any, *args: Any,
                      **kwargs: Any) -> str:
            self._host.get_guest(instance).poweroff()
            return '{}'

        # There is no disk to move; Nova's own tests leave this out, too.
        self.useFixture(fixtures.MonkeyPatch(
            'nova.virt.libvirt.driver.LibvirtDriver.'
            'migrate_disk_and_power_off', power_off))


class CleanTest(ManageTestCase):
    """Tests that orderly changes by Nova leave no difference at rest."""

    def test_create_and_delete(self) -> None:
        self.assert_clean()
        server = self.reserved(vcpus=2)
        self.boot(self.rt_flavor(None, None))
        self.assert_clean()
        self._stop_server(server)
        self.settle()
        self.assert_clean()
        self._delete_server(server)
        self.assert_clean()

    def test_cold_migration_and_resize(self) -> None:
        self.fake_disk()
        server = self.reserved()
        self._migrate_server(server)
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.assert_clean()
        self._revert_resize(server)
        self.assert_clean()
        self._resize_server(server, self.rt_flavor(50_000, 100_000, vcpus=2))
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.assert_clean()
        self._confirm_resize(server)
        self.assert_clean()
        self._delete_server(server)
        # Nova tracks a server that has moved only from the next audit on.
        self.settle()
        self.assert_clean()

    def test_resize_on_the_same_host(self) -> None:
        self.fake_disk()
        self.flags(allow_resize_to_same_host=True)
        self._disable('host2')
        server = self.reserved()
        self._resize_server(server, self.rt_flavor(30_000, 100_000, vcpus=2))
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.assertEqual([], self.kinds('--host', 'host1'))
        self._confirm_resize(server)
        self.audit()
        self.assertEqual([], self.kinds('--host', 'host1'))

    def _disable(self, host: str) -> None:
        service = self.api.get_services(host=host, binary='nova-compute')[0]
        self.api.put_service(service['id'], {'status': 'disabled'})

    def test_rebuild_and_shelve(self) -> None:
        server = self.reserved()
        self._rebuild_server(server, _IMAGE)
        self.settle()
        self.assert_clean()
        self._shelve_server(server)
        self.settle()
        self.assert_clean()

    def test_evacuation(self) -> None:
        """Both allocations stay until the old host returns."""
        server = self.reserved()
        self.computes['host1'].stop()
        self.api.put_service(
            self.api.get_services(host='host1', binary='nova-compute')[0][
                'id'], {'forced_down': True})
        self._evacuate_server(server, expected_host='host2',
                              expected_migration_status='done')
        self.assertEqual((200_000 // 2, 100_000), self.usage('host1'))
        # Its map is older, until the host returns and audits.
        self.assertEqual(['map.stale'], self.kinds('--host', 'host1')[:1])
        self.assertNotIn('allocation.elsewhere', self.kinds())
        self.this_host = 'host2'
        self.assertEqual([], self.kinds('--host', 'host2', '--kernel'))


class DamageTest(ManageTestCase):

    def heal(self, *argv: str) -> tuple[int, str]:
        return self.manage('heal', '--apply', *argv)

    def test_a_wrong_amount(self) -> None:
        server = self.reserved()
        self.change_allocation(server['id'], CUSTOM_RT_BANDWIDTH=7)
        self.assertEqual(['allocation.amount'], self.kinds())
        code, out = self.manage('check')
        self.assertIn(
            f'host1: server {server["id"]}: Placement holds 7 of '
            f'CUSTOM_RT_BANDWIDTH and 100000 of CUSTOM_RT_SHARE; should be: '
            f'100000 of CUSTOM_RT_BANDWIDTH and 100000 of CUSTOM_RT_SHARE; '
            f'to do: run nova-rt-manage heal --apply\n', out)
        code, out = self.manage('heal')  # A dry run.
        self.assertEqual(1, code, out)
        self.assertIn('would set the allocation', out)
        self.assertEqual((7, 100_000), self.allocated(server))
        code, out = self.heal()
        self.assertEqual((0, (100_000, 100_000)),
                         (code, self.allocated(server)), out)
        self.assert_clean()
        self.assertEqual((0, 'Nothing to heal.\n'), self.heal())

    def test_what_nova_manage_loses(self) -> None:
        """Nova heals by the flavor alone, without our hints."""
        server = self.reserved()
        self.delete_allocation(server['id'])
        code, out = self.heal()
        self.assertEqual(1, code, out)
        self.assertIn(f'nova-manage placement heal_allocations --instance '
                      f'{server["id"]}', out)
        self.assertEqual({}, self.allocation(server['id'])['allocations'])
        with contextlib.redirect_stdout(io.StringIO()):
            nova_manage.PlacementCommands().heal_allocations(
                instance_uuid=server['id'], verbose=False)
        self.assertEqual((0, 0), self.allocated(server))
        self.assertEqual(['allocation.missing'], self.kinds())
        # Other servers are not healed.
        other = self.reserved()
        self.assertEqual(0, self.heal('--instance', other['id'])[0])
        self.assertEqual(0, self.heal('--instance', server['id'])[0])
        self.assertEqual((100_000, 100_000), self.allocated(server))
        self.assert_clean()

    def test_a_leaked_allocation(self) -> None:
        server = self.reserved()
        payload = self.allocation(server['id'])
        self._delete_server(server)
        self.put(server['id'], payload | {'consumer_generation': None})
        self.assertEqual(['allocation.leaked'], self.kinds())
        code, out = self.heal()
        self.assertEqual(0, code, out)
        # nova-manage must remove Nova's own part.
        left = self.allocation(server['id'])['allocations']
        self.assertEqual([{'DISK_GB', 'MEMORY_MB', 'VCPU'}],
                         [set(each['resources']) for each in left.values()])
        self.assert_clean()

    def test_a_leak_of_our_classes_only(self) -> None:
        server = self.reserved()
        payload = self.allocation(server['id'])
        self._delete_server(server)
        for each in payload['allocations'].values():
            each['resources'] = {hostmap.SHARE_CLASS: 5}
        self.put(server['id'], payload | {'consumer_generation': None})
        self.assertEqual((0, {}), (
            self.heal()[0], self.allocation(server['id'])['allocations']))

    def test_the_leak_of_a_migration(self) -> None:
        self.fake_disk()
        server = self.reserved()
        self._migrate_server(server)
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        uuid = self.api.api_get('/os-migrations').body['migrations'][0][
            'uuid']
        # The old claim, on host1, is paid for by the migration.
        self.change_allocation(uuid, CUSTOM_RT_SHARE=3)
        self.assertEqual(['allocation.amount'], self.kinds())
        self.assertEqual(0, self.heal('--instance', server['id'])[0])
        self.assert_clean()
        payload = self.allocation(uuid)
        self._confirm_resize(server)
        self.settle()
        self.put(uuid, payload | {'consumer_generation': None})
        self.assertEqual(['allocation.leaked'], self.kinds())
        self.assertEqual(0, self.heal()[0])
        self.assert_clean()

    def test_a_conflict_is_tried_again(self) -> None:
        server = self.reserved()
        self.change_allocation(server['id'], CUSTOM_RT_SHARE=0)
        real = self.client().put
        spoiled = []

        def put(url: str, payload: Any, **kwargs: Any) -> Any:
            if not spoiled:
                spoiled.append(url)
                other = self.allocation(server['id'])
                self.assertTrue(real(url, other, version='1.28'))
            return real(url, payload, **kwargs)

        self.useFixture(fixtures.MockPatchObject(self.client(), 'put', put))
        self.useFixture(fixtures.MonkeyPatch(
            'rt_operate.manage.read.placement.random.uniform',
            lambda *args: 0))
        code, out = self.heal()
        self.assertEqual((0, (100_000, 100_000)),
                         (code, self.allocated(server)), out)
        self.assertEqual(1, len(spoiled))

    def test_a_dropped_claim(self) -> None:
        server = self.reserved()
        self.change_claim(server, None)
        kinds = self.kinds()
        self.assertEqual(
            {'claim.missing', 'map.stale', 'budget'}, set(kinds))
        code, out = self.heal()
        self.assertEqual(1, code)
        self.assertIn('cannot heal: host1', out)
        self.assertIn('resize or migrate the server', out)
        self.assertEqual((100_000, 100_000), self.allocated(server))

    def test_a_claim_of_rubbish(self) -> None:
        server = self.reserved()
        self.change_claim(server, 'rubbish')
        self.assertIn('claim.unreadable', self.kinds())

    def test_a_server_from_before_the_plugin(self) -> None:
        server = self.boot(self.rt_flavor(None, None))
        instance = self.instance(server)
        instance.flavor.extra_specs = {base.RUNTIME: '100000',
                                       base.PERIOD: '200000'}
        instance.save()
        self.assertEqual(['claim.missing'], self.kinds())
        self.assertIn('asks for a reservation but holds no claim',
                      self.manage('check')[1])

    def test_budgets(self) -> None:
        server = self.reserved()
        kernel = self.kernel()
        group = self.group(server)
        mount = '/sys/fs/cgroup/cpu,cpuacct'
        path = next(each for each in (
            f'{mount}{group}', f'/sys/fs/cgroup/cpu{group}')
            if self._has(kernel, f'{each}/cpu.rt_runtime_us'))
        kernel.write(f'{path}/cpu.rt_runtime_us', '10000')
        self.assertEqual(['budget'], self.kinds())
        self.audit()
        self.assert_clean()
        top = path.removesuffix(group) + '/machine'
        kernel.mkdir('/machine/foreign')
        kernel.write(f'{top}/cpu.rt_runtime_us', '200000')
        kernel.write(f'{top}/foreign/cpu.rt_runtime_us', '10000')
        found = self.kinds()
        self.assertIn('budget.stray', found)
        self.assertIn('/machine/foreign', self.manage('check')[1])

    def test_room_for_nobody(self) -> None:
        self._delete_server(self.reserved())
        self.kernel().write('/sys/fs/cgroup/cpu/machine/'
                            'cpu.rt_runtime_us', '200000')
        self.assertEqual(['budget.room'], self.kinds())
        self.audit()
        self.assert_clean()

    def _has(self, kernel: Any, path: str) -> bool:
        try:
            kernel.read(path)
        except OSError:
            return False
        return True

    def test_another_machine_is_not_looked_at(self) -> None:
        server = self.reserved()
        self.this_host = 'controller'
        code, out = self.manage('check', '--kernel', '--host', 'host1')
        self.assertEqual(2, code)
        self.assertIn('this machine is controller', out)
        self.assertEqual([], self.kinds('--host', 'host1'))
        self._delete_server(server)

    def test_heal_allocations_of_nova(self) -> None:
        """Nova removes amounts unknown to it; the audit reports them once."""
        server = self.reserved()
        self.change_allocation(server['id'], **dict.fromkeys(
            hostmap.CLASSES, 0))
        for _ in range(2):
            self.audit()
            self.assertEqual(1, self.stdlog.logger.output.count(
                f'less than was claimed for {server["id"]}; run '
                f'nova-rt-manage heal'))
        self.assertEqual(0, self.manage('heal', '--apply')[0])
        self.audit()
        self.assert_clean()

    def test_a_guest_that_the_database_lacks(self) -> None:
        domain = strangers.lose(self, self.reserved())
        self.assertIn('budget.stray', self.kinds())
        self.audit()
        self.assertEqual(['guest.unknown'], self.kinds())
        code, out = self.manage('check')
        self.assertIn(f'the guest {domain.name()} runs with 20000 us every '
                      f'200000 us', out)
        self.assertIn('see "Backup and restore"', out)
        # The server counts, whoever asks.
        self.this_host = 'controller'
        self.assertEqual(['guest.unknown'], self.kinds())
        self.guests.vanish(domain)
        self.settle()
        self.assertEqual([], self.kinds())

    def test_a_host_that_is_not_there(self) -> None:
        code, out = self.manage('check', '--host', 'nowhere')
        self.assertEqual(2, code)
        self.assertIn('no compute node of the host nowhere', out)


class StatusTest(ManageTestCase):

    def status(self) -> tuple[int, dict[str, Any]]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = status.main(['upgrade', 'check', '--json'])
        found = json.loads(out.getvalue())
        return code, {each['check']: each['result']
                      for each in found['checks']}

    def test_upgrade_check(self) -> None:
        self.assertEqual((0, {0}), self._codes())
        server = self.boot(self.rt_flavor(None, None))
        instance = self.instance(server)
        instance.flavor.extra_specs = {base.RUNTIME: '100000',
                                       base.PERIOD: '200000'}
        instance.save()
        code, found = self.status()
        self.assertEqual((1, 1), (code, found['Servers without their claim']))
        self.change_claim(self.reserved(), 'rubbish')
        code, found = self.status()
        self.assertEqual((2, 2), (code, found['Readable claims']))

    def test_flavors(self) -> None:
        """Flavors remain when nova-api refuses their properties."""
        self.rt_flavor()
        self._create_flavor(name='flavor_rt1', extra_spec={})
        self.rt_flavor(period=None)
        code, found = self.status()
        self.assertEqual(
            (1, 1), (code, found['Flavors without their reservation']))
        code, out = self.manage('check')
        self.assertEqual(0, code)
        self.assertIn('flavor flavor_rt1: its name suggests', out)
        self.assertIn(f'it has {base.RUNTIME} but not {base.PERIOD}', out)
        self.assertIn('2 flavors to look at', out)
        self.assertNotIn('flavor ', self.manage('check', '--host', 'host1')[1])

    def _codes(self) -> tuple[int, set[int]]:
        code, found = self.status()
        return code, set(found.values())


class TroubleTest(ManageTestCase):

    def test_placement_cannot_be_reached(self) -> None:
        def get(*args: Any, **kwargs: Any) -> Any:
            raise ks_exceptions.ConnectFailure('refused')

        self.useFixture(fixtures.MonkeyPatch(
            'nova.scheduler.client.report.SchedulerReportClient.get', get))
        for argv in (['check'], ['heal']):
            code, out = self.manage(*argv)
            self.assertEqual(2, code)
            self.assertIn('Placement or Keystone cannot be reached: refused',
                          out)


load_tests = seeds.load_of_the_day(__name__, 12, 'NOVA_RT_OPERATIONS')
