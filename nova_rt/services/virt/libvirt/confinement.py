# SPDX-License-Identifier: Apache-2.0

"""Limits what root in a container may do to the host and its neighbours.

This module takes capabilities, and the network of the host, from a container
in the XML of its domain.  The user namespace of a container is Nova's own
(``[libvirt] uid_maps`` and ``gid_maps``); this module only changes the form of
the maps.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from lxml import etree
from nova.virt.libvirt import config


class UIDMap(config.LibvirtConfigGuestUIDMap, list[int]):
    """A range of user ids that is also a list of its three numbers."""


class GIDMap(config.LibvirtConfigGuestGIDMap, list[int]):
    """A range of group ids that is also a list of its three numbers."""


def sendable(maps: Iterable[config.LibvirtConfigGuestIDMap]
             ) -> list[config.LibvirtConfigGuestIDMap]:
    """Returns the maps in a form that Nova can pass to its privsep helper.

    Nova 32 to 34 pass objects to ``nova.privsep.idmapshift`` that
    oslo.privsep cannot serialise; the helper expects (first id inside, first
    id on the host, count).  Without the change no container with maps starts.
    """
    return [_sendable(plain) for plain in maps]


def _sendable(plain: config.LibvirtConfigGuestIDMap) -> UIDMap | GIDMap:
    ids = isinstance(plain, config.LibvirtConfigGuestUIDMap)
    result: UIDMap | GIDMap = UIDMap() if ids else GIDMap()
    for name in ('start', 'target', 'count'):
        number = getattr(plain, name)
        setattr(result, name, number)  # for libvirt
        result.append(number)  # for Nova's privsep helper
    return result


def without(xml: str, capabilities: Sequence[str]) -> str:
    """Returns the XML of a container that loses these capabilities.

    libvirt removes the capabilities from the bounding set before it starts
    init, so that no process in the container can regain them.
    """
    root = etree.fromstring(xml)
    if root.get('type') != 'lxc' or not capabilities:
        return xml
    kept = _child(_child(root, 'features'), 'capabilities')
    kept.set('policy', 'default')
    for name in capabilities:
        _child(kept, name).set('state', 'off')
    return str(etree.tostring(root, encoding='unicode'))


def apart(xml: str) -> str:
    """Returns the XML of a container that gets a network of its own.

    libvirt gives a container without interfaces the network of the host, so
    that the container reaches all services that listen on the loopback address
    of the host.
    """
    root = etree.fromstring(xml)
    if root.get('type') != 'lxc':
        return xml
    _child(_child(root, 'features'), 'privnet')
    return str(etree.tostring(root, encoding='unicode'))


def _child(parent: Any, name: str) -> Any:
    child = parent.find(name)
    return etree.SubElement(parent, name) if child is None else child
