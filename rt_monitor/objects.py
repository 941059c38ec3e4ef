# SPDX-License-Identifier: Apache-2.0

"""The base of all sources that are programs: object, groups and maps."""

from collections.abc import Mapping
import pathlib
import struct
import types

from rt_monitor import libbpf
from rt_monitor import servers

_PROGRAMS = pathlib.Path(__file__).parent / 'programs'
_INDEX = struct.Struct('=I')


def path(name: str) -> pathlib.Path:
    """Returns the path of the compiled programs of a source."""
    return _PROGRAMS / f'{name}.bpf.o'


def by_number(values: libbpf.Map) -> dict[int, bytes]:
    """Returns the values of an array by their numbers."""
    return {_INDEX.unpack(index)[0]: value for index, value in values.items()}


def key(number: int) -> bytes:
    """Returns the key of the entry of an array with this number."""
    return _INDEX.pack(number)


class ProgramSource:
    """Programs in the kernel that know servers by their control groups."""

    #: The name of the source and of its object file.
    name: str
    #: Programs for kernels that lack an event; see libbpf.Object.
    instead: Mapping[str, str] = types.MappingProxyType({})

    def __init__(self) -> None:
        """Loads and attaches the programs.

        :raises CannotMonitor: when this host cannot run them
        """
        self.object = libbpf.Object(str(path(self.name)), self.instead)
        self.object.attach()
        self._groups = self.object.map('groups')

    def close(self) -> None:
        """Removes the programs from the kernel."""
        self.object.close()

    def missed_runs(self) -> int:
        """Returns how many events the kernel did not give to the programs."""
        return self.object.missed_runs()

    def apply(self, change: servers.Change) -> None:
        """Applies a change of the servers that are watched."""
        for group in change.remove:
            self._groups.remove(group)
        self.forget(change)
        for group, value in change.put.items():
            self._groups.put(group, value)
        if change.put:
            self.begin()

    def forget(self, change: servers.Change) -> None:
        """Sets the counts of new servers to zero."""

    def begin(self) -> None:
        """Reads the present state of new servers."""
