# SPDX-License-Identifier: Apache-2.0

"""Tests what an operator does to a host while servers run on it."""

import os
from typing import Any

import fixtures
from nova import exception as nova_exception
from nova import objects
from nova.tests.functional.api import client
import yaml

from nova_rt.rules import hostmap
from tests.functional import operations
from tests import proof
from tests import seeds

RT = 'nova_rt.RTLibvirtDriver'
PLAIN = 'libvirt.LibvirtDriver'


class TestCase(operations.TestCase):

    HOSTS = ('host1',)

    def said(self, text: str) -> int:
        """Returns how many warnings have *text*."""
        return sum(text in line for line
                   in self.stdlog.logger.output.splitlines()
                   if ' WARNING ' in line or ' ERROR ' in line)

    def assert_closed(self, flavor: str) -> None:
        """No new server with this gets onto the host."""
        server = self.boot(flavor, status='ERROR')
        self._delete_server(server)

    def rewrite(self, server: operations.Server, text: str) -> None:
        """Another text in the place of its claim."""
        instance = self.instance(server)
        resource = instance.resources[0].obj_clone()
        resource.identifier = text
        instance.resources = objects.ResourceList(objects=[resource])
        instance.save()

    def restart_with(self, driver: str) -> None:
        self.flags(compute_driver=driver)
        self.restart_compute_service('host1')


class TightenedTest(TestCase):
    """Less may be reserved than is."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'

    def tighten(self, text: str, **options: Any) -> operations.Server:
        """A server, then the options; what is said of it, once."""
        server = self.reserved(share=600)
        before = self.claimed(server), self.kernel().granted()
        self.flags(group='nova_rt', **options)
        for _ in range(2):
            self.audit()
            self.assertEqual(1, self.said(text), text)
        self.assertEqual(1, self.said(server['id']))
        self.assertEqual(before, (self.claimed(server),
                                  self.kernel().granted()))
        self.assertEqual((600_000, 600_000), self.allocated(server))
        return server

    @proof.proves(
        'cpu_cap is lowered below the sum of the claims',
        'Claims are kept. The log says once which servers have to move. The '
        'pCPU takes no new reservation.')
    def test_cap(self) -> None:
        server = self.tighten('migrate or resize one of', cpu_cap=0.5)
        self.assert_closed(self.flavor(550))
        other = self.boot(self.flavor(400))
        self.assertNotEqual(self.claimed(server).cpus,
                            self.claimed(other).cpus)

    @proof.proves(
        'rt_cpus loses a pCPU with claims',
        'Claims are kept. The log says once which servers have to move. The '
        'pCPU takes no new reservation.')
    def test_cpus(self) -> None:
        self.tighten('use pCPUs other than 2-3', rt_cpus='2-3')
        other = self.boot(self.flavor(600))
        self.assertEqual((2,), self.claimed(other).cpus)
        self.assert_kernel('host1')

    @proof.proves(
        'hcbs_scheduler_available is set to false',
        'Claims are kept. The log says once which servers have to move. The '
        'host takes no new reservation.')
    def test_off(self) -> None:
        server = self.tighten('hcbs_scheduler_available is false; migrate',
                              hcbs_scheduler_available=False)
        self.assertNotIn(hostmap.TRAIT, self.traits())
        for found in self.inventories().values():
            self.assertEqual(found['total'], found['reserved'])
        self.assert_closed(self.flavor(100))
        self.act_plainly(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.assert_kernel('host1')
        self.flags(hcbs_scheduler_available=True, group='nova_rt')
        self.assert_invariants()

    def act_plainly(self, server: operations.Server, action: str,
                    body: Any, status: str) -> None:
        self.api.post_server_action(server['id'], {action: body})
        self._wait_for_state_change(server, status)


class TenantLimitsTest(TestCase):
    """Limits for tenants that are tightened while servers run."""

    HOSTS = ('host1', 'host2')

    @proof.proves(
        'max_share is lowered',
        'Running servers keep their reservations, and can be migrated. New '
        'servers and resizes are refused.')
    def test_max_share(self) -> None:
        server = self.reserved(share=600)
        same, more = self.flavor(600), self.flavor(700)
        self.flags(max_share=0.5, group='nova_rt')
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_runs(server, 'host2', 600)
        self.assertRaises(client.OpenStackApiException, self.post, same)
        self.refused(server, 'resize', {'flavorRef': more})
        self._wait_for_state_change(server, 'ACTIVE')
        self.assert_invariants()
        self.assert_runs(server, 'host2', 600)

    @proof.proves(
        'hint_override becomes stricter',
        'Running servers keep their reservations, and can be migrated.')
    def test_hint_override(self) -> None:
        server = self.boot(self.flavor(300),
                           {'cpu.rt_runtime_us': 60_000})
        source = self.host_of(server)
        self.flags(hint_override='none', group='nova_rt')
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assertNotEqual(source, self.host_of(server))
        self.assertEqual(600, self.share(server))


class DamagedTest(TestCase):

    @proof.proves(
        'A damaged claim',
        'The guest runs on unchanged. The host takes no more reservations '
        'until the server is gone. The log has one warning.')
    def test_damaged(self) -> None:
        server, other = self.reserved(share=300), self.reserved(share=300)
        instance = self.instance(server)
        good = instance.resources[0].identifier
        granted = self.kernel().granted()
        self.rewrite(server, good.replace(';r=', ';runtime='))
        for _ in range(2):
            self.audit()
        self.assertEqual(1, self.said('takes no more reservations'))
        self.assertEqual(granted, self.kernel().granted())
        self.assert_closed(self.flavor(100))
        plain = self.boot(self.rt_flavor(None, None))
        self._delete_server(plain)
        self.rewrite(server, good)
        self.audit()
        self.assert_invariants()
        self.assert_runs(other, 'host1', 300)
        self.rewrite(server, good.replace(';r=', ';runtime='))
        self.audit()
        self._delete_server(server)
        self.assert_invariants()


class WithoutPluginTest(TestCase):
    """Servers from before the plugin, and from after its removal."""

    @proof.proves(
        'nova-rt is installed: servers without a reservation',
        'The servers run on, and all operations work as before.')
    def test_before_the_plugin(self) -> None:
        server = self.boot_on('host1', self.rt_flavor(None, None))
        self.restart_with(PLAIN)
        other = self.boot_on('host1', self.rt_flavor(None, None))
        self.restart_with(RT)
        self.assert_invariants()
        for each in (server, other):
            self.act(each, 'reboot', {'type': 'HARD'}, 'ACTIVE')
            self.act(each, 'os-stop', None, 'SHUTOFF')
            self.act(each, 'os-start', None, 'ACTIVE')
        self.assert_runs_plainly(other)

    def assert_runs_plainly(self, server: operations.Server) -> None:
        self.assertIsNone(self.claim(server))
        self.assertEqual({}, self.kernel().granted())
        self.assertIn(server['id'], [domain.UUIDString()
                                     for domain in self.alive('host1')])

    @proof.proves(
        'nova-rt is removed while servers have reservations',
        'nova-compute does not start, because Placement holds allocations. '
        'Guests run on. nova-compute starts when nova-rt is back.')
    def test_removal_unprepared(self) -> None:
        server = self.reserved()
        granted = self.kernel().granted()
        compute = self.computes['host1']
        self.assertRaises(nova_exception.PlacementPciException,
                          self.restart_with, PLAIN)
        self.assertEqual(granted, self.kernel().granted())
        self.computes['host1'] = compute
        self.compute_rp_uuids['host1'] = ''
        self.restart_with(RT)
        self.assert_invariants()
        self.assert_runs(server, 'host1', 600)

    def prepare(self) -> None:
        """Keep the inventories by a file of [compute]."""
        kept = [{name: found | {'reserved': found['total']}}
                for name, found in self.inventories().items()]
        folder = self.useFixture(fixtures.TempDir()).path
        with open(os.path.join(folder, 'nova-rt.yaml'), 'w') as target:
            yaml.safe_dump({
                'meta': {'schema_version': '1.0'},
                'providers': [{
                    'identification': {'uuid': '$COMPUTE_NODE'},
                    'inventories': {'additional': kept}}]}, target)
        self.flags(provider_config_location=folder, group='compute')

    @proof.proves(
        'nova-rt is removed, and its inventories are kept in '
        'provider_config_location',
        'Guests keep their budgets until they are started again, and have '
        'no budgets from then on. Claims are kept.')
    def test_removal(self) -> None:
        server = self.reserved()
        before = self.claimed(server)
        granted = self.kernel().granted()
        self.prepare()
        self.restart_with(PLAIN)
        self.assertEqual(granted, self.kernel().granted())
        self.boot_on('host1', self.rt_flavor(None, None))
        self.api.post_server_action(server['id'],
                                    {'reboot': {'type': 'HARD'}})
        self._wait_for_state_change(server, 'ACTIVE')
        self.assertEqual([], [group for group in self.kernel().granted()
                              if '.libvirt-' in group])
        self.audit()
        self.assertEqual(before, self.claimed(server))
        self.flags(provider_config_location=self.useFixture(
            fixtures.TempDir()).path, group='compute')
        self.restart_with(RT)
        self.assert_invariants()
        self.assert_runs(server, 'host1', 600)

    @proof.proves(
        'nova-rt is removed: delete',
        'The server is deleted, and nothing is left.')
    def test_delete_after_removal(self) -> None:
        server = self.reserved()
        self.prepare()
        self.restart_with(PLAIN)
        self._delete_server(server)
        self.assertEqual((0, 0), self.usage())
        self.flags(provider_config_location=self.useFixture(
            fixtures.TempDir()).path, group='compute')
        self.restart_with(RT)


class FromBeforeTest(TestCase):
    """The flavor has the keys, but the server holds no claim."""

    SCHEDULING = False

    @proof.proves(
        'nova-rt is installed: a server whose flavor has the keys',
        'The server runs on. The log of nova-compute names the server, and '
        'nova-compute does not start the server again until it is resized.')
    def test_flavor_with_the_keys(self) -> None:
        self.restart_with(PLAIN)
        server = self.boot_on('host1', self.flavor(300))
        self.assertIsNone(self.claim(server))
        self.restart_with(RT)
        self.assertTrue(self.alive('host1'))
        self.audit()
        self.assertEqual(1, self.said(server['id']))
        self.refused(server, 'reboot', {'type': 'HARD'})
        self.assertEqual([], self.alive('host1'))
        self.assertIn('holds no claim', self.stdlog.logger.output)


load_tests = seeds.load_of_the_day(__name__, 6, 'NOVA_RT_OPERATIONS')
