# SPDX-License-Identifier: Apache-2.0

"""Reads the files in which libvirt keeps the running guests.

The files belong to root, and a guest cannot write to them.
"""

from collections.abc import Iterator
import posixpath
from xml.etree import ElementTree

from nova_rt.machine.host import files as host_files

_FOLDERS = ('/run/libvirt/lxc', '/run/libvirt/qemu')


def files(host: host_files.Host) -> Iterator[str]:
    """Yields the paths of the files of all running guests."""
    for folder in _FOLDERS:
        try:
            names = host.names(folder)
        except OSError:
            continue  # There are no such guests, or only root may see them.
        yield from (posixpath.join(folder, name) for name in names
                    if name.endswith('.xml'))


def running(host: host_files.Host) -> Iterator[ElementTree.Element]:
    """Yields the file of each running guest as XML, with its ``domain``."""
    for path in files(host):
        try:
            yield ElementTree.fromstring(host.read(path))  # noqa: S314
        except (OSError, ElementTree.ParseError):
            continue  # The guest has ended, or the file is being written.
