# SPDX-License-Identifier: Apache-2.0

"""The description of a server in libvirt, from Nova's own operations."""

from typing import Any

import fixtures
import libvirt
from lxml import etree
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.fixtures import neutron

from nova_rt.rules import labels
from tests.functional import operations

FLOATING = '203.0.113.7'


class DescriptionTest(operations.TestCase):
    HOSTS = ('host1',)

    def setUp(self) -> None:
        super().setUp()
        self.driver = self.computes['host1'].driver
        self.configs: list[Any] = []
        config = self.driver._get_guest_config
        self.useFixture(fixtures.MockPatchObject(
            self.driver, '_get_guest_config',
            lambda *args, **kwargs: self.noted(config(*args, **kwargs))))
        self.told: list[Any] = []
        self.useFixture(fixtures.MonkeyPatch(
            'nova.tests.fixtures.libvirt.Domain.setMetadata', self.tell))

    def noted(self, config: Any) -> Any:
        self.configs.append(etree.fromstring(config.to_xml()))
        return config

    def tell(self, domain: Any, kind: int, xml: str, prefix: str, uri: str,
             flags: int) -> None:
        self.assertEqual((libvirt.VIR_DOMAIN_METADATA_ELEMENT,
                          labels.NAMESPACE), (kind, uri))
        self.told.append(etree.fromstring(xml))

    def float(self, *addresses: str) -> None:
        """Makes Neutron report these floating addresses for each port."""
        self.useFixture(fixtures.MockPatchObject(
            neutron.NeutronFixture, 'list_floatingips',
            lambda *args, **kwargs: {'floatingips': [
                {'floating_ip_address': each} for each in addresses]}))

    def boot_with(self, **metadata: str) -> Any:
        body = self.request(self.flavor(100))
        body['server']['metadata'] = metadata
        body['server']['networks'] = [
            {'port': neutron.NeutronFixture.port_1['id']}]
        return self._wait_for_state_change(
            self.api.post_server(body), 'ACTIVE')

    def changed(self, server: Any) -> None:
        """Sends the event with which Neutron reports a change."""
        self.api.api_post('/os-server-external-events', {'events': [
            {'name': 'network-changed', 'server_uuid': server['id']}]})

    @staticmethod
    def found(element: Any) -> tuple[str | None, list[str]]:
        name = f'{{{labels.NAMESPACE}}}'
        return (element.findtext(f'{name}vnf'),
                [each.get('address')
                 for each in element.findall(f'{name}floating')])

    def begun(self) -> Any:
        [config] = self.configs
        return config.find(f'metadata/{{{labels.NAMESPACE}}}server')

    def test_from_its_start_to_a_refusal(self) -> None:
        self.float(FLOATING)
        server = self.boot_with(**{labels.VNF_KEY: 'a-uuid', 'other': 'x'})
        self.assertEqual(('a-uuid', [FLOATING]), self.found(self.begun()))
        self.float()
        self.changed(server)
        self.assertEqual(('a-uuid', []), self.found(self.told[-1]))
        self.useFixture(fixtures.MonkeyPatch(
            'nova.tests.fixtures.libvirt.Domain.setMetadata', self.refuse))
        self.changed(server)
        self.assertIn('nova-rt-monitor does not know the new addresses of '
                      f'server {server["id"]}: it is '
                      'busy', self.stdlog.logger.output)
        self.assert_invariants()

    def test_no_guest_to_tell_of(self) -> None:
        """A stopped server is described at its next start; one gone, never."""
        server = self.boot_with()
        self._stop_server(server)
        self.useFixture(fixtures.MonkeyPatch(
            'nova.tests.fixtures.libvirt.Domain.setMetadata', self.refuse))
        self.changed(server)
        connection = self.driver._host.get_connection()
        connection.lookupByUUIDString(server['id']).undefine()
        self.changed(server)
        self.assertNotIn('nova-rt-monitor does not know the new addresses',
                         self.stdlog.logger.output)

    def refuse(self, *args: Any) -> None:
        raise fakelibvirt.make_libvirtError(
            fakelibvirt.libvirtError, 'it is busy')
