# SPDX-License-Identifier: Apache-2.0

"""What libvirt keeps of a server for those who look at it from outside.

It is metadata of the domain beside Nova's own: the VNF that the server
belongs to, and its floating addresses.  Nothing that reserves reads it.
"""

from collections.abc import Iterable
import re
from typing import Any

import libvirt
from lxml import etree
from nova.virt.libvirt import config

from nova_rt.rules import labels

_PREFIX = 'nova-rt'
#: What libvirt calls the namespace when it replaces the element; it refuses
#: the prefix that this has already.
_KEY = 'server'
#: What a tenant may call a VNF; Tacker's is a UUID.
_NAME = re.compile(r'[A-Za-z0-9._-]{1,64}')


class Description(config.LibvirtConfigObject):
    """The element ``server``.

    :ivar vnf: '' where nobody tells
    :ivar floating: floating addresses
    """

    def __init__(self, vnf: str, floating: Iterable[str]) -> None:
        super().__init__(root_name='server', ns_prefix=_PREFIX,
                         ns_uri=labels.NAMESPACE)
        self.vnf = vnf
        self.floating = (*floating,)

    def format_dom(self) -> Any:
        found = super().format_dom()
        if self.vnf:
            self._add(found, 'vnf').text = self.vnf
        for address in self.floating:
            self._add(found, 'floating').set('address', address)
        return found

    def _add(self, parent: Any, name: str) -> Any:
        return etree.SubElement(parent, f'{{{labels.NAMESPACE}}}{name}')


def describe(instance: Any, network_info: Any) -> Description:
    """The description of a server, by what Nova has of it here.

    :param instance: Nova's; its metadata is a tenant's
    :param network_info: Nova's cache of its ports, or None
    """
    metadata = instance.metadata or {}
    vnf = metadata.get(labels.VNF_KEY, '')
    return Description(
        vnf if _NAME.fullmatch(vnf) else '',
        [str(floating['address']) for vif in network_info or ()
         for fixed in vif.fixed_ips()
         for floating in fixed.get('floating_ips', ())])


def tell(domain: Any, description: Description) -> None:
    """Have libvirt keep another description of a domain that runs.

    :raises libvirtError: it does not, or the domain does not run
    """
    domain.setMetadata(
        libvirt.VIR_DOMAIN_METADATA_ELEMENT, description.to_xml(),
        _KEY, labels.NAMESPACE, libvirt.VIR_DOMAIN_AFFECT_LIVE)
