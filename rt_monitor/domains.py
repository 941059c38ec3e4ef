# SPDX-License-Identifier: Apache-2.0

"""Finds the server of a running guest in libvirt's files.

The monitor reads the files and does not call libvirt, so that the monitor also
works while libvirt is down.  The files belong to root, and a guest cannot
write to them.
"""

from collections.abc import Iterator
import dataclasses
from xml.etree import ElementTree

from nova_rt.machine.host import domains as host_domains
from nova_rt.machine.host import files as host_files
from nova_rt.rules import labels

_NOVA = '{http://openstack.org/xmlns/libvirt/nova/1.1}'
_OURS = f'{{{labels.NAMESPACE}}}'


@dataclasses.dataclass(frozen=True, slots=True)
class Domain:
    """A domain of libvirt; a value that is not known is '' or 0.

    :ivar vnf: the VNF that the server belongs to
    :ivar addresses: the fixed addresses and the floating addresses
    :ivar interfaces: the names of its network interfaces on this host
    """

    uuid: str = ''
    vcpus: int = 0
    name: str = ''
    project: str = ''
    flavor: str = ''
    vnf: str = ''
    addresses: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()


def find(host: host_files.Host, pid: int) -> Domain:
    """Returns the domain whose keeper is this process."""
    for root in host_domains.running(host):
        if root.get('pid') == str(pid):
            return _parse(root)
    return _running(host, pid)


def keepers(host: host_files.Host) -> Iterator[int]:
    """Yields the process IDs of the keepers of all running guests."""
    for root in host_domains.running(host):
        pid = root.get('pid', '')
        if pid.isdecimal():
            yield int(pid)


def _running(host: host_files.Host, pid: int) -> Domain:
    """Returns what QEMU's command line says, without libvirt's files."""
    try:
        words = host.data(f'/proc/{pid}/cmdline').split(b'\0')
        uuid = words[words.index(b'-uuid') + 1]
    except (OSError, ValueError, IndexError):
        return Domain()  # the process keeps a container, or has ended
    return Domain(uuid.decode(errors='replace'))


def _parse(root: ElementTree.Element) -> Domain:
    domain = root.find('domain')
    if domain is None:
        return Domain()
    vcpus = domain.findtext('vcpu', '')
    described = Domain(
        domain.findtext('uuid', ''), int(vcpus) if vcpus.isdecimal() else 0,
        domain.findtext('name', ''), interfaces=tuple(
            target.get('dev', '') for target in domain.iterfind(
                'devices/interface/target')))
    nova = domain.find(f'metadata/{_NOVA}instance')
    if nova is not None:
        described = _with_nova(described, nova)
    ours = domain.find(f'metadata/{_OURS}server')
    return described if ours is None else _with_ours(described, ours)


def _with_nova(described: Domain, nova: ElementTree.Element) -> Domain:
    flavor = nova.find(f'{_NOVA}flavor')
    project = nova.find(f'{_NOVA}owner/{_NOVA}project')
    return dataclasses.replace(
        described, name=nova.findtext(f'{_NOVA}name', ''),
        project='' if project is None else project.get('uuid', ''),
        flavor='' if flavor is None else flavor.get('name', ''),
        addresses=tuple(address.get('address', '') for address in
                        nova.iterfind(f'{_NOVA}ports/{_NOVA}port/{_NOVA}ip')))


def _with_ours(described: Domain, ours: ElementTree.Element) -> Domain:
    """Adds the metadata that our driver wrote (``nova_rt.services.virt``)."""
    return dataclasses.replace(
        described, vnf=ours.findtext(f'{_OURS}vnf', ''),
        addresses=(*described.addresses, *(
            address.get('address', '') for address in ours.iterfind(
                f'{_OURS}floating'))))
