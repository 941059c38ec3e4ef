# SPDX-License-Identifier: Apache-2.0

"""Describes a server in the metadata of its libvirt domain, for monitoring.

The description is added to Nova's own metadata, and has the VNF that the
server belongs to, and the floating addresses of the server.  Reservations do
not depend on the description.
"""

from collections.abc import Iterable
import re
from typing import Any

import libvirt
from lxml import etree
from nova.virt.libvirt import config

from nova_rt.rules import labels

_PREFIX = 'nova-rt'
#: The prefix of the namespace when libvirt replaces the element.  libvirt
#: refuses _PREFIX here, because the element has it already.
_KEY = 'server'
#: The names of VNFs that are accepted; Tacker uses UUIDs.
_NAME = re.compile(r'[A-Za-z0-9._-]{1,64}')


class Description(config.LibvirtConfigObject):
    """The element ``server``.

    :ivar vnf: the VNF of the server; '' if it is not known
    :ivar floating: the floating addresses of the server
    """

    def __init__(self, vnf: str, floating: Iterable[str]) -> None:
        super().__init__(root_name='server', ns_prefix=_PREFIX,
                         ns_uri=labels.NAMESPACE)
        self.vnf = vnf
        self.floating = (*floating,)

    def format_dom(self) -> Any:
        root = super().format_dom()
        if self.vnf:
            self._add(root, 'vnf').text = self.vnf
        for address in self.floating:
            self._add(root, 'floating').set('address', address)
        return root

    def _add(self, parent: Any, name: str) -> Any:
        return etree.SubElement(parent, f'{{{labels.NAMESPACE}}}{name}')


def describe(instance: Any, network_info: Any) -> Description:
    """Returns the description of a server from Nova's local data.

    :param instance: Nova's Instance, whose metadata a tenant wrote
    :param network_info: Nova's cache of the ports of the server, or None
    """
    metadata = instance.metadata or {}
    vnf = metadata.get(labels.VNF_KEY, '')
    return Description(
        vnf if _NAME.fullmatch(vnf) else '',
        [str(floating['address']) for vif in network_info or ()
         for fixed in vif.fixed_ips()
         for floating in fixed.get('floating_ips', ())])


def tell(domain: Any, description: Description) -> None:
    """Replaces the description of a running domain.

    :raises libvirtError: when libvirt refuses, or the domain does not run
    """
    domain.setMetadata(
        libvirt.VIR_DOMAIN_METADATA_ELEMENT, description.to_xml(),
        _KEY, labels.NAMESPACE, libvirt.VIR_DOMAIN_AFFECT_LIVE)
