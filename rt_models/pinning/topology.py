# SPDX-License-Identifier: Apache-2.0

"""The CPUs of a host: how they share cores, caches and sockets.

This module is pure.  A pCPU is what the kernel calls a CPU: a hardware thread.
"""

import collections
from collections.abc import Callable, Hashable, Sequence
import dataclasses

from nova_rt.rules import exception

#: The most pCPUs of a host.
MOST = 100_000


@dataclasses.dataclass(frozen=True, slots=True)
class CPU:
    """One pCPU.

    :ivar socket: its package
    :ivar core: its core; not unique between packages
    :ivar cache: the identity of its last-level cache
    :ivar kind: how fast its kind of core is, relative to other kinds
    """

    number: int
    socket: int
    core: int
    cache: Hashable
    kind: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Host:
    """The pCPUs of a host.

    :ivar name: the name that the user gave for the host
    :ivar known: whether more than the number of pCPUs is known
    """

    name: str
    cpus: Sequence[CPU]
    known: bool = True

    @property
    def pcpus(self) -> int:
        """The number of pCPUs."""
        return len(self.cpus)

    @property
    def cores(self) -> int:
        """The number of cores."""
        return len(self._groups(lambda cpu: (cpu.socket, cpu.core)))

    @property
    def sockets(self) -> int:
        """The number of sockets."""
        return len(self._groups(lambda cpu: cpu.socket))

    @property
    def caches(self) -> int:
        """The number of last-level caches."""
        return len(self._groups(lambda cpu: cpu.cache))

    @property
    def has_smt(self) -> bool:
        """True if a core has several pCPUs."""
        return self.pcpus > self.cores

    @property
    def kinds(self) -> tuple[int, ...]:
        """The number of pCPUs of each kind of core, the fastest first."""
        groups = collections.Counter(cpu.kind for cpu in self.cpus)
        return tuple(groups[kind] for kind in sorted(groups, reverse=True))

    @property
    def in_socket(self) -> int:
        """The largest number of pCPUs in one socket."""
        return max(self._groups(lambda cpu: cpu.socket).values())

    @property
    def in_cache(self) -> int:
        """The most pCPUs that share a last-level cache."""
        return max(self._groups(lambda cpu: cpu.cache).values())

    def __str__(self) -> str:
        if not self.known:
            return self.name
        parts = [_count(self.sockets, 'socket'),
                 _count(self.caches, 'last-level cache'),
                 _count(self.cores, 'core'), _count(self.pcpus, 'pCPU')]
        if len(self.kinds) > 1:
            parts.append('kinds of '
                         + ' and '.join(map(str, self.kinds)) + ' pCPUs')
        return f'{self.name}: {", ".join(parts)}'

    def _groups(self, key: Callable[[CPU], Hashable]
                ) -> collections.Counter[Hashable]:
        return collections.Counter(map(key, self.cpus))


def plain(pcpus: int) -> Host:
    """Returns a host of which only the number of pCPUs is known.

    :raises InvalidPinning: when no host has such a number
    """
    if not 1 <= pcpus <= MOST:
        raise exception.InvalidPinning(
            name='--host-cores', value=pcpus, rule=f'it must be 1 to {MOST}')
    return Host(f'{pcpus} cores', tuple(
        CPU(number, 0, number, 0) for number in range(pcpus)), known=False)


def _count(number: int, unit: str) -> str:
    return f'{number} {unit}{"s" if number != 1 else ""}'
