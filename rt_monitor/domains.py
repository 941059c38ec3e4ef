# SPDX-License-Identifier: Apache-2.0

"""Whose a guest is, as libvirt keeps it for those that run.

libvirt is not asked: it may be what is broken.  Its files are root's, and a
guest cannot write to them.
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
    """A domain; '' and 0 for what is not known.

    :ivar vnf: that it belongs to
    :ivar addresses: fixed ones, and floating ones of its own
    :ivar interfaces: names of its network interfaces on this host
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
    """The domain that a process of libvirt or QEMU keeps."""
    for root in host_domains.running(host):
        if root.get('pid') == str(pid):
            return _parse(root)
    return _running(host, pid)


def keepers(host: host_files.Host) -> Iterator[int]:
    """Yields the processes that keep the guests that run."""
    for root in host_domains.running(host):
        pid = root.get('pid', '')
        if pid.isdecimal():
            yield int(pid)


def _running(host: host_files.Host, pid: int) -> Domain:
    """What the command line of QEMU says; libvirt's files are elsewhere."""
    try:
        words = host.data(f'/proc/{pid}/cmdline').split(b'\0')
        uuid = words[words.index(b'-uuid') + 1]
    except (OSError, ValueError, IndexError):
        return Domain()  # a container, or has ended
    return Domain(uuid.decode(errors='replace'))


def _parse(root: ElementTree.Element) -> Domain:
    domain = root.find('domain')
    if domain is None:
        return Domain()
    vcpus = domain.findtext('vcpu', '')
    known = Domain(
        domain.findtext('uuid', ''), int(vcpus) if vcpus.isdecimal() else 0,
        domain.findtext('name', ''), interfaces=tuple(
            target.get('dev', '') for target in domain.iterfind(
                'devices/interface/target')))
    nova = domain.find(f'metadata/{_NOVA}instance')
    if nova is not None:
        known = _with_nova(known, nova)
    ours = domain.find(f'metadata/{_OURS}server')
    return known if ours is None else _with_ours(known, ours)


def _with_nova(known: Domain, nova: ElementTree.Element) -> Domain:
    flavor = nova.find(f'{_NOVA}flavor')
    project = nova.find(f'{_NOVA}owner/{_NOVA}project')
    return dataclasses.replace(
        known, name=nova.findtext(f'{_NOVA}name', ''),
        project='' if project is None else project.get('uuid', ''),
        flavor='' if flavor is None else flavor.get('name', ''),
        addresses=tuple(address.get('address', '') for address in
                        nova.iterfind(f'{_NOVA}ports/{_NOVA}port/{_NOVA}ip')))


def _with_ours(known: Domain, ours: ElementTree.Element) -> Domain:
    """With what our driver tells libvirt (``nova_rt.services.virt``)."""
    return dataclasses.replace(
        known, vnf=ours.findtext(f'{_OURS}vnf', ''),
        addresses=(*known.addresses, *(
            address.get('address', '') for address in ours.iterfind(
                f'{_OURS}floating'))))
