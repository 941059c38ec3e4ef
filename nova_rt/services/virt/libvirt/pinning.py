# SPDX-License-Identifier: Apache-2.0

"""A domain's XML with the pCPUs of its claim: libvirt pins before it starts.
"""

from collections.abc import Sequence
from typing import Any

from lxml import etree


def uuid_of(xml: str) -> str:
    """The server that a domain is."""
    return str(etree.fromstring(xml).findtext('uuid'))


def pinned(xml: str, cpus: Sequence[int]) -> str:
    """The same domain on *cpus*: one for each vCPU, in their order."""
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
    """Each vCPU on its pCPU, and the emulator where Nova lets it run.

    On the pCPUs of the claim it would get what the guest leaves.
    """
    tune = root.find('cputune')
    if tune is None:
        tune = etree.Element('cputune')
        vcpu.addnext(tune)
    for old in tune.findall('vcpupin'):
        tune.remove(old)
    for number, cpu in enumerate(cpus):
        etree.SubElement(tune, 'vcpupin', vcpu=str(number), cpuset=str(cpu))
