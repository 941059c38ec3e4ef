# SPDX-License-Identifier: Apache-2.0

"""Runs the flavors of the page on high-performance flavors."""

import pathlib
from typing import Any
import unittest

import fixtures
from lxml import etree
from nova.tests.fixtures import libvirt as fakelibvirt
from nova.tests.functional.libvirt import base as libvirt_base
from oslo_serialization import jsonutils
import yaml

from tests import flavors
from tests.functional import test_numa

_HEAT = (pathlib.Path(__file__).parents[2]
         / 'tosca-samples/sol001-high-performance/heat.yaml')
FLAVORS = flavors.read()


class TestCase(test_numa.TestCase):
    """Hosts with two cells of four pCPUs; the devices are in cell 1."""

    CELLS = {0: {0, 1, 2, 3}, 1: {4, 5, 6, 7}}
    FILTERS = ('PciPassthroughFilter', 'NUMATopologyFilter')

    def setUp(self) -> None:
        self.useFixture(fixtures.MonkeyPatch('tests.functional.base.PCPUS',
                                             8))
        self.flags(group='pci', device_spec=[jsonutils.dumps({
            'vendor_id': fakelibvirt.PCI_VEND_ID, 'product_id': product,
            'physical_network': 'physnet4'}) for product in (
                fakelibvirt.PF_PROD_ID, fakelibvirt.VF_PROD_ID)])
        super().setUp()
        self.neutron = self.useFixture(
            libvirt_base.LibvirtNeutronFixture(self))

    def devices(self) -> Any:
        return fakelibvirt.HostPCIDevicesInfo(num_pfs=1, num_vfs=4,
                                              numa_node=1)

    def create(self, name: str, *ports: str, status: str = 'ACTIVE'
               ) -> dict[str, Any]:
        """Creates a server with a flavor of the page."""
        flavor = FLAVORS[name]
        body = self.request(str(self._create_flavor(
            vcpu=flavor.vcpus, memory_mb=flavor.ram, disk=flavor.disk,
            ephemeral=0, extra_spec=flavor.specs)))
        if ports:
            body['server']['networks'] = [{'port': port} for port in ports]
        return dict(self._wait_for_state_change(
            self.api.post_server(body), status))

    def pages(self, server: dict[str, Any]) -> list[tuple[str, str]]:
        """Returns sizes and units of the huge pages of a server's domain."""
        return [(page.get('size'), page.get('unit'))
                for page in etree.fromstring(self.domain(server).rt_xml).
                findall('memoryBacking/hugepages/page')]


class SampleTest(unittest.TestCase):

    def test_heat(self) -> None:
        template = yaml.safe_load(_HEAT.read_text())
        found = template['resources']['flavor']['properties']
        self.assertEqual(FLAVORS['hv.rt'], flavors.Flavor(
            found['vcpus'], found['ram'], found['disk'],
            found['extra_specs']))

    def test_the_page_has_each_profile(self) -> None:
        self.assertEqual({'hv.rt', 'hd.rt', 'hs.rt', 'mixed.rt'},
                         FLAVORS.keys())


class PageTest(TestCase):

    def test_virtio(self) -> None:
        self.boot_on('host1', self.flavor(600, 3))  # in cell 0
        server = self.create('hv.rt')
        self.assertEqual({4, 5}, set(self.claimed(server).cpus))
        self.assert_in_cells(server)
        self.assertEqual([('2048', 'KiB')], self.pages(server))
        self.assert_invariants()

    def test_data_plane(self) -> None:
        server = self.create('hd.rt')
        claim = self.claimed(server)
        self.assertEqual({1, 2}, claim.by_vcpu.keys())
        self.assertEqual((1_800_000, 900_000), self.allocated(server))
        self.assert_in_cells(server)
        self.assertEqual([('2048', 'KiB')], self.pages(server))

    def test_sriov(self) -> None:
        port = self.neutron.network_4_port_1
        other = self.neutron.network_4_port_2
        for each in (port, other):
            self.neutron.create_port({'port': each})
        server = self.create('hs.rt', port['id'])
        self.assertEqual({4, 5}, set(self.claimed(server).cpus))
        self.assert_in_cells(server)
        # Fills cell 1: cell 0 is empty, but it does not have the device.
        beside = self.create('hs.rt', other['id'])
        self.assertEqual({6, 7}, set(self.claimed(beside).cpus))
        third = self.neutron.network_4_port_3
        self.neutron.create_port({'port': third})
        refused = self.create('hs.rt', third['id'], status='ERROR')
        self.assertIn('does not fit', self.fault(refused))
        self.assertNotIn('cell', self.fault(refused))
        self.assert_invariants()


class MixedPageTest(TestCase):

    def setUp(self) -> None:
        self.flags(cpu_shared_set='0-1,4-5', cpu_dedicated_set='2-3,6-7',
                   group='compute')
        super().setUp()

    def test_mixed(self) -> None:
        server = self.create('mixed.rt')
        self.assertEqual({1}, self.claimed(server).by_vcpu.keys())
        self.assert_in_cells(server)
        self.assert_invariants()
