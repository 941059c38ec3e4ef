# SPDX-License-Identifier: Apache-2.0

"""What the sources share: an object, its groups, and maps by number."""

import pathlib
import struct

from rt_monitor import libbpf
from rt_monitor import servers

_PROGRAMS = pathlib.Path(__file__).parent / 'programs'
_INDEX = struct.Struct('=I')


def path(name: str) -> pathlib.Path:
    """Where the compiled programs of a source are."""
    return _PROGRAMS / f'{name}.bpf.o'


def by_number(values: libbpf.Map) -> dict[int, bytes]:
    """What an array has, by key."""
    return {_INDEX.unpack(each)[0]: value for each, value in values.items()}


def key(number: int) -> bytes:
    """The key of an array."""
    return _INDEX.pack(number)


class Source:
    """Programs in the kernel that know servers by their groups."""

    #: of the object
    name: str

    def __init__(self) -> None:
        """Load and attach the programs.

        :raises CannotMonitor: this host cannot
        """
        self.object = libbpf.Object(str(path(self.name)))
        self.object.attach()
        self._groups = self.object.map('groups')

    def close(self) -> None:
        """Take the programs out of the kernel."""
        self.object.close()

    def apply(self, change: servers.Change) -> None:
        """Watch other servers from now on."""
        for each in change.remove:
            self._groups.remove(each)
        self.forget(change)
        for each, value in change.put.items():
            self._groups.put(each, value)
        if change.put:
            self.begin()

    def forget(self, change: servers.Change) -> None:
        """Set what servers that are new will count to zero."""

    def begin(self) -> None:
        """Look at what servers that are new have already."""
