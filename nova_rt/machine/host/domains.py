# SPDX-License-Identifier: Apache-2.0

"""The files in which libvirt keeps the guests that run.

They are root's, and a guest cannot write to them.
"""

from collections.abc import Iterator
import posixpath
from xml.etree import ElementTree

from nova_rt.machine.host import files as host_files

_FOLDERS = ('/run/libvirt/lxc', '/run/libvirt/qemu')


def files(host: host_files.Host) -> Iterator[str]:
    """Yields the files of all guests that run."""
    for folder in _FOLDERS:
        try:
            names = host.names(folder)
        except OSError:
            continue  # no such guests, or not ours to see
        yield from (posixpath.join(folder, name) for name in names
                    if name.endswith('.xml'))


def running(host: host_files.Host) -> Iterator[ElementTree.Element]:
    """Yields the status of each guest, with its ``domain`` inside."""
    for path in files(host):
        try:
            yield ElementTree.fromstring(host.read(path))  # noqa: S314
        except (OSError, ElementTree.ParseError):
            continue  # has ended, or is just being written
