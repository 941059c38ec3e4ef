# SPDX-License-Identifier: Apache-2.0

"""A virtual function of a device, by VFIO, beside a reservation."""

from collections.abc import Iterator
import contextlib
import json
import os
import pathlib
from typing import Any

from nova import conf as nova_conf
from nova import objects
from nova.objects import fields
from nova.pci import stats as pci_stats
from nova.virt.libvirt import driver as libvirt_driver

from tests.full.kernel.kvm import cases
from tests.full.kernel.kvm import domains
from tests.full.kernel.kvm import guest as guests
from tests.full.kernel.kvm import host as hosts
from tests.full.kernel.kvm import rom
from tests.full.kernel import pinned

_PCI = pathlib.Path('/sys/bus/pci/devices')
#: The driver of a function that a guest uses.
DRIVER = 'vfio-pci'
_GROUPS = '/dev/vfio/'
#: The name, in the host, of an interrupt of a device that is passed through.
_INTERRUPT = 'vfio'
_XML = """<hostdev mode='subsystem' type='pci' managed='yes'><source>
<address domain='0x{0}' bus='0x{1}' slot='0x{2}' function='0x{3}'/></source>
</hostdev>"""


def device(host: hosts.Host) -> None:
    """Gives a guest a virtual function in the cell of its reservation."""
    function = first()
    node = cell(function)
    cells = hosts.cells_of(host.cpus)
    pinned.expect(host.cpu in cells[max(node, 0)],
                  f'{function.name} is in cell {node}, without the pCPU '
                  f'{host.cpu}')
    before = driver(function)
    with _guest(host, function) as guest:
        host.apply(guest, 30_000, 100_000)
        guest.resume()
        with host.noise():
            host.check('beside a virtual function', {guest: 0.3})
        _look(host, guest, function, node)
        host.enforcer.release(guest.pid)
        pinned.expect(not host.enforcer.bandwidth(guest.pid),
                      'released, and it holds something')
    pinned.expect(driver(function) == before,
                  f'{function.name} has the driver {driver(function)} after '
                  f'the end of the guest, and not {before}')


def _look(host: hosts.Host, guest: guests.Guest, function: pathlib.Path,
          node: int) -> None:
    """Checks that memory, threads and device of a guest are in a cell."""
    pages = guest.huge_pages()
    host.found['device'] = {
        'function': function.name, 'cell': node, 'huge pages': pages,
        'driver': driver(function), 'groups': vfio_groups(guest.pid),
        'interrupts': _interrupts()}
    pinned.expect(pages == {node: domains.RAM_MIB * 1024 // guests.PAGE_KIB},
                  f'the huge pages on each cell are {pages}')
    cases.look_at_threads(host, guest)
    pinned.expect(driver(function) == DRIVER,
                  f'{function.name} has the driver {driver(function)}')
    pinned.expect(bool(vfio_groups(guest.pid)),
                  'QEMU has no group of VFIO open')


def tracker(host: hosts.Host) -> None:
    """Checks that Nova finds the virtual functions, and their cells in pools.

    No service of Nova runs: the test calls the functions that nova-compute and
    RTShareFilter call.
    """
    assert isinstance(host.maker, domains.Maker)
    function = first()
    node = cell(function)
    found = _by_nova(host.maker)
    seen = [each for each in found if each['address'] == function.name]
    host.found['as Nova sees it'] = seen
    pinned.expect(bool(seen), f'Nova does not see {function.name} among '
                              f'{[each["address"] for each in found]}')
    pinned.expect((seen[0]['dev_type'], seen[0]['numa_node']) == (
        fields.PciDeviceType.SRIOV_VF, node), f'Nova sees {seen[0]}')
    pools = _pools(seen[0])
    fits = {each: pools.support_requests(
        [_request(seen[0])], None, [objects.InstanceNUMACell(id=each)])
        for each in range(len(hosts.cells_of(host.cpus)))}
    host.found['cells that Nova takes with the function'] = fits
    pinned.expect([each for each, fit in fits.items() if fit] == [node],
                  f'Nova takes the cells {fits}')


class _Driver:
    """The part of Nova's driver that finds devices; Nova caches by it."""

    def __init__(self, host: Any) -> None:
        self._host = host


def _by_nova(maker: domains.Maker) -> list[dict[str, Any]]:
    """Returns the devices that nova-compute would find."""
    # The object is not initialized, because Nova's threads for events would
    # never end.
    host = libvirt_driver.host.Host(maker.uri)
    return list(json.loads(
        libvirt_driver.LibvirtDriver._get_pci_passthrough_devices(
            _Driver(host))))


def _pools(found: dict[str, Any]) -> pci_stats.PciDeviceStats:
    """Nova's pools with one device, as in [pci] device_spec."""
    nova_conf.CONF.set_override('device_spec', [json.dumps({
        name: found[name] for name in ('vendor_id', 'product_id')})],
        group='pci')
    objects.register_all()
    pools = pci_stats.PciDeviceStats(objects.NUMATopology(cells=[]))
    pools.add_device(objects.PciDevice.create(None, {
        **found, 'compute_node_id': 1, 'status':
        fields.PciDeviceStatus.AVAILABLE}))
    return pools


def _request(found: dict[str, Any]) -> Any:
    """Returns the request of an alias with numa_policy=required."""
    return objects.InstancePCIRequest(
        count=1, spec=[{name: found[name] for name in (
            'vendor_id', 'product_id', 'dev_type')}],
        numa_policy=fields.PCINUMAAffinityPolicy.REQUIRED,
        request_id=None, requester_id=None)


def functions() -> list[pathlib.Path]:
    """Returns the virtual functions of this machine, by address."""
    return sorted(path.parent for path in _PCI.glob('*/physfn'))


def first() -> pathlib.Path:
    """Returns the virtual function with the lowest address.

    :raises Wrong: when there are none
    """
    found = functions()
    pinned.expect(bool(found), 'no device has virtual functions: --sriov')
    return found[0]


def cell(function: pathlib.Path) -> int:
    """Returns the NUMA cell of a device; -1 if the kernel knows none."""
    return int((function / 'numa_node').read_text())


def driver(function: pathlib.Path) -> str:
    """Returns the driver of a device; '' if there is none."""
    link = function / 'driver'
    return link.resolve().name if link.exists() else ''


def vfio_groups(pid: int) -> list[str]:
    """Returns the groups of VFIO that a process has open."""
    found = set()
    for path in pathlib.Path(f'/proc/{pid}/fd').iterdir():
        with contextlib.suppress(OSError):
            found.add(os.readlink(path))
    return sorted(name for name in found if name.startswith(_GROUPS)
                  and name.removeprefix(_GROUPS).isdigit())


def _interrupts() -> list[str]:
    """The lines of interrupts that VFIO handles for guests."""
    text = pathlib.Path('/proc/interrupts').read_text()
    return [line.strip() for line in text.splitlines() if _INTERRUPT in line]


@contextlib.contextmanager
def _guest(host: hosts.Host, function: pathlib.Path
           ) -> Iterator[guests.Guest]:
    if not isinstance(host.maker, domains.Maker):
        raise pinned.Wrong('libvirt gives devices: use --guests libvirt')
    domain, bus, place = function.name.split(':')
    slot, _, number = place.partition('.')
    found = host.maker.launch(rom.BUSY, devices=_XML.format(
        domain, bus, slot, number))
    try:
        yield found
    finally:
        found.end()
