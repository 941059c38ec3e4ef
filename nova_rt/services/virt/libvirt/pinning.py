# SPDX-License-Identifier: Apache-2.0

"""Writes pCPUs and limits of a claim into the XML of a domain.

libvirt then pins and limits the domain before it starts.
"""

from collections.abc import Mapping
from typing import Any

from lxml import etree


def uuid_of(xml: str) -> str:
    """Returns the uuid of a domain, which is the uuid of its server."""
    return str(etree.fromstring(xml).findtext('uuid'))


def pinned(xml: str, cpus: Mapping[int, int]) -> str:
    """Returns the XML of a domain with its vCPUs pinned.

    :param cpus: the pCPU of each vCPU with a reservation; the other vCPUs
        stay as Nova has them
    """
    root = etree.fromstring(xml)
    vcpu = root.find('vcpu')
    if vcpu is None:
        return xml
    if root.get('type') == 'lxc':
        vcpu.set('cpuset', ','.join(map(str, sorted(
            cpus.values()))))
    else:
        _pin(root, vcpu, cpus)
    return str(etree.tostring(root, encoding='unicode'))


def limited(xml: str, quota: tuple[int, int] | None) -> str:
    """Returns the XML of a domain whose emulator threads have a limit.

    :param quota: the quota and the period of the emulator and vhost threads
        together, and of each I/O thread, in us; None for no limit
    """
    root = etree.fromstring(xml)
    vcpu = root.find('vcpu')
    if quota is None or vcpu is None or root.get('type') == 'lxc':
        return xml
    tune = _tune(root, vcpu)
    for threads in ('emulator', 'iothread'):
        for name, value in zip(('quota', 'period'), quota, strict=True):
            for old in tune.findall(f'{threads}_{name}'):
                tune.remove(old)
            etree.SubElement(tune, f'{threads}_{name}').text = str(value)
    return str(etree.tostring(root, encoding='unicode'))


def _tune(root: Any, vcpu: Any) -> Any:
    tune = root.find('cputune')
    if tune is None:
        tune = etree.Element('cputune')
        vcpu.addnext(tune)
    return tune


def _pin(root: Any, vcpu: Any, cpus: Mapping[int, int]) -> None:
    """Pins vCPUs to their pCPUs, and leaves the emulator as Nova has it.

    On the pCPUs of the claim the emulator would get only the CPU time that
    the guest leaves.
    """
    tune = _tune(root, vcpu)
    for old in tune.findall('vcpupin'):
        if int(old.get('vcpu')) in cpus:
            tune.remove(old)
    for number, cpu in cpus.items():
        etree.SubElement(tune, 'vcpupin', vcpu=str(number), cpuset=str(cpu))
