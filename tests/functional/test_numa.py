# SPDX-License-Identifier: Apache-2.0

"""Servers with a NUMA topology on hosts of several cells."""

import dataclasses
from typing import Any

import fixtures
from lxml import etree
from nova import objects
from nova.tests.fixtures import libvirt as fakelibvirt
from oslo_serialization import jsonutils

from tests.emulation import kernels
from tests.emulation import tasks as emulated
from tests.functional import base
from tests.functional import operations
from tests.functional import test_deadline
from tests.functional import test_live_migration
from tests import proof
from tests import seeds

Server = dict[str, Any]


class TestCase(test_deadline.Stock, operations.TestCase):
    """Hosts with two cells of two pCPUs, and huge pages of 2 MiB in each."""

    HOSTS: tuple[str, ...] = ('host1',)
    FILTERS: tuple[str, ...] = ('NUMATopologyFilter',)
    #: The pCPUs of each cell.
    CELLS = {0: {0, 1}, 1: {2, 3}}

    def devices(self) -> Any:
        """Returns the PCI devices of a host."""
        return None

    def start_host(self, name: str = 'host1', cell: str | None = None
                   ) -> str:
        if name not in self.guests.hosts:
            self.guests.hosts[name] = emulated.Guests(
                kernels.KERNELS[self.KERNEL](base.PCPUS, self.clock))
        self.start_compute(name, fakelibvirt.HostInfo(
            cpu_nodes=len(self.CELLS), cpu_sockets=1,
            cpu_cores=len(self.CELLS[0]), cpu_threads=1,
            kB_mem=4 * 1024 * 1024, mempages={
                number: fakelibvirt.create_mempages(
                    [(4, 256 * 1024), (2048, 512)])
                for number in self.CELLS}),
            pci_info=self.devices(), cell_name=cell)
        return name

    def bound(self, share: int, vcpus: int = 1, cells: int = 1, **more: Any
              ) -> str:
        """A flavor with *share* thousandths of a pCPU on each vCPU."""
        return self.rt_flavor(share * 100, 100_000, vcpus, **{
            'hw__numa_nodes': str(cells), 'hw__mem_page_size': 'large',
            **more})

    def memory(self, server: Server, host: str = 'host1') -> dict[int, int]:
        """The host cell of each cell of a server, in its domain."""
        root = etree.fromstring(self.domain(server, host).rt_xml)
        return {int(node.get('cellid')): int(node.get('nodeset'))
                for node in root.findall('numatune/memnode')}

    def topology(self, server: Server) -> Any:
        return objects.Instance.get_by_uuid(
            self.cell_context(), server['id'],
            expected_attrs=['numa_topology']).numa_topology

    def assert_in_cells(self, server: Server, host: str = 'host1') -> None:
        """Asserts that each vCPU of the claim is in the cell of its memory."""
        claimed = self.claimed(server).by_vcpu
        memory = self.memory(server, host)
        cells = self.topology(server).cells
        for number, cell in enumerate(cells):
            self.assertEqual(memory[number], cell.id)
            self.assertLessEqual(
                {claimed.pop(vcpu) for vcpu in cell.cpuset
                 if vcpu in claimed}, self.CELLS[cell.id])
        self.assertEqual({}, claimed)


class OneHostTest(TestCase):
    """Tests where Nova alone would choose another cell, or none at all."""

    @proof.proves(
        'Create with a NUMA topology and huge pages',
        'The pCPUs of the claim are in the NUMA cell of the memory.')
    def test_two_servers_fill_two_cells(self) -> None:
        servers = [self.boot_on('host1', self.bound(600, 2))
                   for _ in self.CELLS]
        for server in servers:
            self.assert_in_cells(server)
        self.assertEqual({0, 1}, {self.memory(server)[0]
                                  for server in servers})
        refused = self.boot_on('host1', self.bound(400, 2), 'ERROR')
        self.assertIn('choose a flavor with a smaller share',
                      self.fault(refused))
        self.assertNotIn('cell', self.fault(refused))
        self.assert_in_cells(self.boot_on('host1', self.bound(300)))
        self.assert_invariants()

    @proof.proves(
        'Hard reboot and rebuild of a server with a NUMA topology',
        'The server keeps its pCPUs and cells.')
    def test_the_cell_that_nova_prefers_has_no_room(self) -> None:
        plain = self.boot_on('host1', self.flavor(600))
        self.assertEqual((0,), self.claimed(plain).cpus)
        server = self.boot_on('host1', self.bound(600, 2))
        self.assertEqual((2, 3), self.claimed(server).cpus)
        self.assert_in_cells(server)
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.act(server, 'rebuild', {'imageRef': operations.IMAGE}, 'ACTIVE')
        self.assertEqual((2, 3), self.claimed(server).cpus)
        self.assert_in_cells(server)

    @proof.proves(
        'Create with several NUMA cells, of equal or different sizes',
        'Each vCPU has its pCPU in the cell of its memory.')
    def test_several_and_uneven_cells(self) -> None:
        self.boot_on('host1', self.flavor(600))
        uneven = {'hw__numa_mem.0': '32', 'hw__numa_mem.1': '32',
                  'hw__numa_cpus.0': '0,2', 'hw__numa_cpus.1': '1'}
        server = self.boot_on('host1', self.bound(600, 3, 2, **uneven))
        # Nova alone takes the cells in their order.
        self.assertEqual((2, 1, 3), self.claimed(server).cpus)
        self.assert_in_cells(server)
        self._delete_server(server)
        even = self.boot_on('host1', self.bound(300, 2, 2))
        self.assert_in_cells(even)
        self.boot_on('host1', self.bound(600, 4, 2), 'ERROR')
        self.assert_invariants()

    @proof.proves(
        'Create of several servers with a NUMA topology at once',
        'nova-compute accepts each server on the host that the scheduler '
        'chose.')
    def test_servers_of_one_request(self) -> None:
        """The scheduler counts each of them in the cell of its claim."""
        self.boot_on('host1', self.flavor(900))
        flavor = self.bound(300, 2)
        self.api.post_server(self.request(flavor, count=3))
        servers = [each for each in self.api.get_servers()
                   if each['flavor']['vcpus'] == 2]
        self.assertEqual(3, len(servers))
        for server in servers:
            self._wait_for_state_change(server, 'ACTIVE')
            self.assert_in_cells(server)
        self.assert_invariants()

    def test_the_filter_asked_before_nova_s_own(self) -> None:
        """RTShareFilter does not rely on the order of the filters."""
        found = self.scheduler.manager.host_manager.enabled_filters
        found.sort(key=lambda each: 'NUMA' in type(each).__name__)
        self.test_the_cell_that_nova_prefers_has_no_room()


class PciTest(TestCase):
    """Two devices, both in cell 1."""

    FILTERS = ('PciPassthroughFilter', 'NUMATopologyFilter')

    def setUp(self) -> None:
        device = {'vendor_id': fakelibvirt.PCI_VEND_ID,
                  'product_id': fakelibvirt.PCI_PROD_ID}
        self.flags(group='pci', device_spec=[jsonutils.dumps(device)],
                   alias=[jsonutils.dumps(device | {
                       'name': policy, 'device_type': 'type-PCI',
                       'numa_policy': policy})
                       for policy in ('required', 'preferred')])
        self.useFixture(fixtures.MockPatch(
            'nova.pci.utils.is_physical_function', return_value=False))
        super().setUp()

    def devices(self) -> Any:
        return fakelibvirt.HostPCIDevicesInfo(num_pci=2, numa_node=1)

    @proof.proves(
        'Create with a PCI device, policies required and preferred',
        'The pCPUs are in the cell of a device that is required. If that '
        'cell has no room, the server is refused.')
    def test_in_the_cell_of_the_device(self) -> None:
        device = {'pci_passthrough__alias': 'required:1'}
        server = self.boot_on('host1', self.bound(600, **device))
        self.assertEqual((2,), self.claimed(server).cpus)
        # Cell 0 is empty, but the device that is left is in cell 1.
        refused = self.boot_on('host1', self.bound(600, 2, **device), 'ERROR')
        self.assertIn('does not fit', self.fault(refused))
        self.assertNotIn('cell', self.fault(refused))
        beside = {'pci_passthrough__alias': 'preferred:1'}
        other = self.boot_on('host1', self.bound(600, 2, **beside))
        self.assertEqual({0, 1}, set(self.claimed(other).cpus))
        for each in (server, other):
            self.assert_in_cells(each)
        self.assert_invariants()


class MovesTest(TestCase):
    """Servers move to a host whose cell preferred by Nova has no room."""

    HOSTS = ('host1', 'host2')

    def setUp(self) -> None:
        super().setUp()
        self.boot_on('host2', self.flavor(600))

    def assert_there(self, server: Server, host: str, *cpus: int) -> None:
        self.assertEqual(host, self.host_of(server))
        self.assertEqual(cpus, self.claimed(server).cpus)
        self.assert_in_cells(server, host)

    @proof.proves(
        'Cold migration of a server with a NUMA topology',
        'On the new host, the pCPUs are in the cell of the memory.')
    def test_cold(self) -> None:
        server = self.boot_on('host1', self.bound(600, 2))
        self.act(server, 'migrate', None, 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_there(server, 'host2', 2, 3)

    @proof.proves(
        'Resize to and from a flavor with a NUMA topology, revert',
        'The pCPUs are in the cell of the memory; a revert gives the old '
        'claim back.')
    def test_resize(self) -> None:
        """Resizes to a flavor with a topology, and back to one without it."""
        server = self.boot_on('host1', self.flavor(600, 2))
        self.disable('host1')
        self.act(server, 'resize', {'flavorRef': self.bound(700, 2)},
                 'VERIFY_RESIZE')
        self.assert_there(server, 'host2', 2, 3)
        self.act(server, 'revertResize', None, 'ACTIVE')
        self.assertEqual((0, 1), self.claimed(server).cpus)
        self.act(server, 'resize', {'flavorRef': self.bound(200, 1)},
                 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assert_in_cells(server, 'host2')
        self.flags(allow_resize_to_same_host=True)
        self.act(server, 'resize', {'flavorRef': self.flavor(100, 3)},
                 'VERIFY_RESIZE')
        self.act(server, 'confirmResize', None, 'ACTIVE')
        self.assertIsNone(self.topology(server))

    @proof.proves(
        'Evacuation and unshelving of a server with a NUMA topology',
        'On the new host, the pCPUs are in the cell of the memory.')
    def test_evacuation_and_unshelving(self) -> None:
        self.flags(shelved_offload_time=0)
        server = self.boot_on('host1', self.bound(600, 2))
        shelved = self.boot_on('host1', self.bound(300, 2))
        self.act(shelved, 'shelve', None, 'SHELVED_OFFLOADED')
        lost = self.lose('host1')
        self.act(server, 'evacuate', {}, 'SHUTOFF')
        self.act(server, 'os-start', None, 'ACTIVE')
        self.assert_there(server, 'host2', 2, 3)
        self.act(shelved, 'unshelve', None, 'ACTIVE')
        self.assertEqual('host2', self.host_of(shelved))
        self.assert_in_cells(shelved, 'host2')
        self.come_back('host1', lost)
        self.assert_invariants()


class LiveMigrationTest(TestCase, test_live_migration.TestCase):

    VIRT_TYPE = 'qemu'
    KERNEL = 'stock'
    HOSTS = ('host1', 'host2')

    @proof.proves(
        'Live migration of a server with a NUMA topology',
        'On the new host, the pCPUs are in the cell of the memory.')
    def test_to_another_cell(self) -> None:
        self.boot_on('host2', self.flavor(600, 1))
        server = self.boot_on('host1', self.bound(600, 2))
        self.assertEqual((0, 1), self.claimed(server).cpus)
        self.migrate(server, 'completed')
        self.assertEqual('host2', self.host_of(server))
        self.assertEqual((2, 3), self.claimed(server).cpus)
        self.assertEqual(['2', '3'], self.pins())
        self.assert_in_cells(server, 'host2')


class MixedTest(TestCase):
    """The second pCPU of each cell is dedicated by Nova."""

    def setUp(self) -> None:
        self.flags(cpu_shared_set='0,2', cpu_dedicated_set='1,3',
                   group='compute')
        super().setUp()

    def mixed(self, share: int, **more: str) -> str:
        return self.bound(share, 2, **{
            'hw__cpu_policy': 'mixed', 'hw__cpu_dedicated_mask': '0', **more})

    @proof.proves(
        'Create with hw:cpu_policy=mixed, and hard reboot',
        'The vCPUs on shared pCPUs have the reservation. These pCPUs are in '
        'the cell of the dedicated pCPUs.')
    def test_life(self) -> None:
        plain = self.boot_on('host1', self.flavor(600))
        self.assertEqual((0,), self.claimed(plain).cpus)
        server = self.boot_on('host1', self.mixed(600))
        claim = self.claimed(server)
        self.assertEqual({1: 2}, claim.by_vcpu)
        self.assertEqual((600_000, 600_000), self.allocated(server))
        cell, = self.topology(server).cells
        self.assertEqual((1, {0: 3}, {1}),
                         (cell.id, cell.cpu_pinning, cell.cpuset))
        root = etree.fromstring(self.domain(server).rt_xml)
        self.assertEqual({'0': '3', '1': '2'}, {
            pin.get('vcpu'): pin.get('cpuset')
            for pin in root.findall('cputune/vcpupin')})
        self.act(server, 'reboot', {'type': 'HARD'}, 'ACTIVE')
        self.assertEqual(claim, self.claimed(server))
        # Cell 0 has a dedicated pCPU, and too little of its shared one.
        refused = self.boot_on('host1', self.mixed(400), 'ERROR')
        self.assertIn('does not fit', self.fault(refused))
        other = self.boot_on('host1', self.mixed(300))
        self.assertEqual({1: 0}, self.claimed(other).by_vcpu)
        self.assert_invariants()


class OlderTest(TestCase):
    """An older host, which claims pCPUs of any cell, next to a new host."""

    HOSTS = ('host1', 'host2')

    def setUp(self) -> None:
        super().setUp()
        driver = self.computes['host1'].driver
        driver.rt_capacity = dataclasses.replace(
            driver.rt_capacity, takes=frozenset())
        self.useFixture(fixtures.MockPatchObject(driver, '_rt_measure'))
        self.audit('host1')

    def test_no_server_lands_there(self) -> None:
        servers = [self.boot(self.bound(400, 2)) for _ in range(4)]
        self.assertEqual({'host2'}, set(map(self.host_of, servers)))
        full = self.boot(self.bound(400, 2), status='ERROR')
        self.assertIn('does not fit', self.fault(full))
        self.refused(servers[0], 'migrate')
        self.assertEqual('host2', self.host_of(servers[0]))
        self.assert_invariants()


class ContainerTest(base.TestCase):
    """Nova gives a container no topology."""

    FILTERS = ('NUMATopologyFilter',)

    def test_refused(self) -> None:
        self.start_host()
        flavor = self.rt_flavor(60_000, 100_000, hw__numa_nodes='1')
        server = self.boot(flavor, status='ERROR')
        self.assertIn('does not fit', self.fault(server))
        self.assertNotIn('cell', self.fault(server))
        self.assert_nothing_left()


load_tests = seeds.load_of_the_day(__name__, 4, 'NOVA_RT_OPERATIONS')
