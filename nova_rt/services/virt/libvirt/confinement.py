# SPDX-License-Identifier: Apache-2.0

"""What the root of a container may not do to the host, nor to its neighbours.

Its capabilities are in a domain's XML.  Its user namespace is Nova's own
(``[libvirt] uid_maps`` and ``gid_maps``), but for the form of the maps.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from lxml import etree
from nova.virt.libvirt import config


class UIDMap(config.LibvirtConfigGuestUIDMap, list[int]):
    """A range of user ids that is also its three numbers."""


class GIDMap(config.LibvirtConfigGuestGIDMap, list[int]):
    """A range of group ids that is also its three numbers."""


def sendable(maps: Iterable[config.LibvirtConfigGuestIDMap]
             ) -> list[config.LibvirtConfigGuestIDMap]:
    """The same maps, in a form that Nova can hand to its privsep helper.

    Nova 32 to 34 give ``nova.privsep.idmapshift`` objects that oslo.privsep
    cannot serialise, where it expects (first id inside, first id on the
    host, how many): no container with maps would start.
    """
    return [_sendable(each) for each in maps]


def _sendable(plain: config.LibvirtConfigGuestIDMap) -> UIDMap | GIDMap:
    ids = isinstance(plain, config.LibvirtConfigGuestUIDMap)
    found: UIDMap | GIDMap = UIDMap() if ids else GIDMap()
    for name in ('start', 'target', 'count'):
        number = getattr(plain, name)
        setattr(found, name, number)  # what libvirt gets
        found.append(number)
    return found


def without(xml: str, capabilities: Sequence[str]) -> str:
    """The same domain; a container gives up *capabilities*.

    libvirt takes them from the bounding set before it starts init, so that
    nothing inside can get them back.
    """
    root = etree.fromstring(xml)
    if root.get('type') != 'lxc' or not capabilities:
        return xml
    kept = _child(_child(root, 'features'), 'capabilities')
    kept.set('policy', 'default')
    for name in capabilities:
        _child(kept, name).set('state', 'off')
    return str(etree.tostring(root, encoding='unicode'))


def _child(parent: Any, name: str) -> Any:
    found = parent.find(name)
    return etree.SubElement(parent, name) if found is None else found
