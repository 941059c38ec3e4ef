# SPDX-License-Identifier: Apache-2.0

"""Tests what others bring: tenants, groups, quotas, images, volumes."""

from typing import Any

from nova.tests import fixtures as nova_fixtures
from nova.tests.functional.api import client
from oslo_limit import fixture as limit_fixture

from nova_rt.rules import hostmap
from tests.functional import operations
from tests import proof

FLAVOR_BANDWIDTH = f'resources:{hostmap.RESOURCE_CLASS}'
DEDICATED = 'needs shared pCPUs, not dedicated ones'


class TenantCase(operations.TestCase):
    """Requests of members of projects; the operator makes flavors."""

    VIRT_TYPE = 'qemu'
    KERNEL = 'F2m'

    def setUp(self) -> None:
        super().setUp()
        self.admin = self.api
        self.api = self.member('tenant')

    def member(self, project: str) -> Any:
        found = client.TestOpenStackClient(
            project, self.api_fixture.base_url, project_id=project,
            roles=['reader', 'member'])
        found.microversion = 'latest'
        return found

    def host_of(self, server: operations.Server) -> str:
        # Tenants are not told.
        return str(self.admin.get_server(server['id'])[
            'OS-EXT-SRV-ATTR:host'])

    def assert_refused(self, status: int, words: str, call: Any, *args: Any
                       ) -> None:
        error = self.assertRaises(client.OpenStackApiException, call, *args)
        self.assertEqual(status, error.response.status_code)
        self.assertIn(words, str(error))


class StrangerTest(TenantCase):

    def test_a_resize_of_another_project(self) -> None:
        """No tenant learns the hints of another project's server."""
        server = self.boot(self.flavor(400), {'cpu.rt_runtime_us': 30_000})
        self.flags(hint_override='lower', group='nova_rt')
        body = {'resize': {'flavorRef': self.flavor(100)}}
        self.assert_refused(
            404, 'Item not found',
            self.member('stranger').post_server_action, server['id'], body)
        self.assert_refused(400, 'in this cloud a hint may only lower the '
                                 'share',
                            self.api.post_server_action, server['id'], body)


class NumaTest(TenantCase):

    def image(self, **properties: str) -> str:
        found = self.glance.show(None, operations.IMAGE)
        found.pop('id')
        found['properties'] = properties
        return str(self.glance.create(None, found)['id'])

    def test_flavors_and_images(self) -> None:
        self.assertRaises(client.OpenStackApiException, self.rt_flavor,
                          **{'hw__cpu_policy': 'dedicated'})
        body = self.request(self.flavor(100))
        body['server']['imageRef'] = self.image(hw_cpu_policy='dedicated')
        self.assert_refused(400, DEDICATED, self.api.post_server, body)
        body['server']['imageRef'] = self.image(hw_numa_nodes='1')
        # An ordinary server may have it.
        body['server']['flavorRef'] = self.rt_flavor(None, None)
        self._wait_for_state_change(self.api.post_server(body), 'ACTIVE')

    def test_hints_are_left_behind_by_a_numa_flavor(self) -> None:
        plain = self.rt_flavor(None, None, **{'hw__numa_nodes': '1'})
        server = self.boot(self.flavor(100), {'cpu.rt_period_us': 200_000})
        self.flags(hint_override='any', group='nova_rt')
        self.api.post_server_action(
            server['id'], {'resize': {'flavorRef': plain}})
        self._wait_for_state_change(server, 'VERIFY_RESIZE')
        self.assertIsNone(self.claim(server))
        self.assert_invariants()


class GroupTest(TenantCase):

    FILTERS = ('ServerGroupAntiAffinityFilter', 'ServerGroupAffinityFilter')

    def boot_in(self, group: dict[str, Any], flavor: str,
                status: str = 'ACTIVE') -> operations.Server:
        return self.boot(flavor, {'group': group['id']}, status)

    def group(self, policy: str) -> dict[str, Any]:
        return dict(self.api.post_server_groups(
            {'name': policy, 'policy': policy}))

    @proof.proves(
        'Server groups together with reservations',
        'Affinity or anti-affinity holds, and servers are placed only where '
        'their reservations fit.')
    def test_apart_and_together(self) -> None:
        apart = self.group('anti-affinity')
        flavor = self.flavor(500)
        servers = [self.boot_in(apart, flavor) for _ in range(2)]
        self.assertEqual(set(self.HOSTS), set(map(self.host_of, servers)))
        self.boot_in(apart, flavor, 'ERROR')
        together = self.group('affinity')
        # Three pCPUs of each host are left.
        servers = [self.boot_in(together, flavor) for _ in range(3)]
        self.assertEqual(1, len(set(map(self.host_of, servers))))
        refused = self.boot_in(together, flavor, 'ERROR')
        for host in self.HOSTS:
            self.assertNotIn(host, self.fault(refused))
        self.assert_invariants()


class LimitsTest(TenantCase):
    """The recipe for unified limits: the flavor names its bandwidth."""

    def setUp(self) -> None:
        super().setUp()
        self.flags(driver='nova.quota.UnifiedLimitsDriver', group='quota')
        self.useFixture(limit_fixture.LimitFixture({
            'servers': 9, 'class:VCPU': 9, 'class:MEMORY_MB': 9999,
            'class:DISK_GB': 99, 'server_groups': 9,
            'server_metadata_items': 9, 'server_injected_files': 9,
            'server_injected_file_content_bytes': 9999,
            'server_injected_file_path_bytes': 255,
            f'class:{hostmap.RESOURCE_CLASS}': 900_000,
            f'class:{hostmap.CLASSES[1]}': 900_000}, {}))

    @proof.proves(
        'Unified limits on the bandwidth that flavors name',
        'The limits hold for servers with a reservation.')
    def test_bandwidth(self) -> None:
        flavor = self.rt_flavor(50_000, 100_000, **{
            FLAVOR_BANDWIDTH.replace(':', '__'): '500000'})
        server = self.boot(flavor)
        self.assert_refused(403, hostmap.RESOURCE_CLASS, self.post, flavor)
        self._delete_server(server)
        self.boot(flavor)
        self.assert_invariants()


class Volumes(nova_fixtures.CinderFixture):  # type: ignore[misc]
    """Made of images with these properties."""

    def __init__(self, test: Any) -> None:
        super().__init__(test)
        self.properties: dict[str, str] = {}

    def fake_get(self, *args: Any, **kwargs: Any) -> Any:
        found = super().fake_get(*args, **kwargs)
        if 'volume_image_metadata' in found:
            found['volume_image_metadata'] |= self.properties
        return found


class VolumeTest(TenantCase):

    def setUp(self) -> None:
        super().setUp()
        self.cinder = self.useFixture(Volumes(self))

    def request(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        body = super().request(*args, **kwargs)
        body['server'].pop('imageRef')
        body['server']['block_device_mapping_v2'] = [{
            'boot_index': 0, 'source_type': 'volume',
            'destination_type': 'volume',
            'uuid': Volumes.IMAGE_BACKED_VOL}]
        return body

    @proof.proves(
        'Boot from volume, resize, confirm',
        'The reservation is treated as with boot from an image.')
    def test_life(self) -> None:
        server = self.boot(self.flavor(400))
        self.assert_invariants()
        self.act(server, 'resize', {'flavorRef': self.flavor(600)},
                 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assertEqual(600, self.share(server))

    def test_the_image_that_a_volume_was_made_of(self) -> None:
        """nova-api looks at images, the scheduler at volumes too."""
        self.cinder.properties['hw_cpu_policy'] = 'dedicated'
        server = self.boot(self.flavor(400), status='ERROR')
        self.assertIn("image property hw_cpu_policy='dedicated'",
                      self.fault(server))
