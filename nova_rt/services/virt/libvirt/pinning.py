# SPDX-License-Identifier: Apache-2.0

"""Writes the pCPUs of a claim into the XML of a domain.

libvirt then pins the domain before it starts.
"""

from collections.abc import Sequence
from typing import Any

from lxml import etree


def uuid_of(xml: str) -> str:
    """Returns the uuid of a domain, which is that of its server."""
    return str(etree.fromstring(xml).findtext('uuid'))


def pinned(xml: str, cpus: Sequence[int]) -> str:
    """Returns the XML of a domain on *cpus*, one for each vCPU in order."""
    root = etree.fromstring(xml)
    vcpu = root.find('vcpu')
    if vcpu is None:
        return xml
    if root.get('type') == 'lxc':
        vcpu.set('cpuset', ','.join(map(str, sorted(cpus))))
    else:
        _pin(root, vcpu, cpus)
    return str(etree.tostring(root, encoding='unicode'))


def _pin(root: Any, vcpu: Any, cpus: Sequence[int]) -> None:
    """Pins each vCPU to its pCPU, and leaves the emulator as Nova has it.

    On the pCPUs of the claim the emulator would get only the CPU time that
    the guest leaves.
    """
    tune = root.find('cputune')
    if tune is None:
        tune = etree.Element('cputune')
        vcpu.addnext(tune)
    for old in tune.findall('vcpupin'):
        tune.remove(old)
    for number, cpu in enumerate(cpus):
        etree.SubElement(tune, 'vcpupin', vcpu=str(number), cpuset=str(cpu))
