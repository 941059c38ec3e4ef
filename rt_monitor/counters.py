# SPDX-License-Identifier: Apache-2.0

"""Cycles, instructions and cache misses of servers, where CPUs count them.

This source was tested only with counters that the kernel keeps in software,
not on hardware whose counters the kernel may use.
"""

from collections.abc import Iterator, Mapping
import contextlib
import ctypes
import dataclasses
import errno
import os
import platform
import struct

from nova_rt.machine.host import files as host_files
from nova_rt.rules import cpulist
from nova_rt.rules import exception
from rt_monitor import objects
from rt_monitor import power
from rt_monitor import servers as monitor_servers

#: Type and number of each counter (``perf_event_attr``), by the name of the
#: map in the programs.
HARDWARE = {'cycles': (0, 0), 'instructions': (0, 1), 'references': (0, 2),
            'misses': (0, 3)}
_CALLS = {'x86_64': 298, 'aarch64': 241}
#: The fields type, size and config; the rest of the first version of
#: ``perf_event_attr`` is zeros.
_ATTRIBUTES = struct.Struct('=IIQ48x')
_CLOSE_ON_EXEC = 8
_FILE = struct.Struct('=i')
_WORK = struct.Struct('=5Q')
#: The indexes of the host's own tasks, and of the time in which nothing runs.
_HOST, _IDLE = 0, 258
_THREADS = '/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list'


@dataclasses.dataclass(frozen=True, slots=True)
class Work:
    """The counts of one CPU.

    :ivar beside: cycles while the other thread of the core was busy
    """

    cycles: int = 0
    instructions: int = 0
    references: int = 0
    misses: int = 0
    beside: int = 0

    @property
    def weighted(self) -> float:
        """The cycles as weighted by Eq. 1."""
        return power.weighted(self.cycles - self.beside, self.beside)

    def __add__(self, other: 'Work') -> 'Work':
        return Work(*map(int.__add__, dataclasses.astuple(self),
                         dataclasses.astuple(other)))


class Counters(objects.ProgramSource):
    """The counters of CPUs, counted for each server from now on."""

    name = 'counters'

    def __init__(self, kinds: Mapping[str, tuple[int, int]] = HARDWARE
                 ) -> None:
        """Opens the counters and loads the programs.

        :param kinds: type and number of each counter, by the name of the map
            in the programs
        :raises CannotMonitor: when this host lacks these counters
        """
        self._files: list[int] = []
        cpus = range(os.cpu_count() or 1)
        try:
            opened = {(name, cpu): self._open(*kind, cpu)
                      for name, kind in kinds.items() for cpu in cpus}
            super().__init__()
        except OSError as error:
            self._close_files()
            raise exception.CannotMonitor(
                what=self.name, reason=_why(error)) from error
        except exception.CannotMonitor:
            self._close_files()
            raise
        self._work = self.object.map('work', per_cpu=True)
        self._pair(cpus)
        for (name, cpu), file in opened.items():
            self.object.map(name).put(objects.key(cpu), _FILE.pack(file))

    def close(self) -> None:
        super().close()
        self._close_files()

    def forget(self, change: monitor_servers.Change) -> None:
        for server in change.servers:
            self._work.clear(objects.key(server))

    def read(self, register: monitor_servers.Register
             ) -> dict[str, dict[int, Work]]:
        """Returns the counts by UUID, power.HOST or power.IDLE, and by CPU."""
        for cpu in range(self._work.width):
            with contextlib.suppress(OSError):  # the CPU is offline
                self.object.run('flush', cpu)
        indexes = {power.HOST: _HOST, power.IDLE: _IDLE, **{
            uuid: place.index for uuid, place in register.shown.items()}}
        return {name: dict(self._cpu_work(index))
                for name, index in indexes.items()}

    def _cpu_work(self, index: int) -> Iterator[tuple[int, Work]]:
        data = self._work.get(objects.key(index)) or b''
        for cpu, values in enumerate(_WORK.iter_unpack(data)):
            yield cpu, Work(*values)

    def _pair(self, cpus: range) -> None:
        """Tells the programs which CPUs are threads of one core."""
        siblings = self.object.map('siblings')
        for cpu in cpus:
            siblings.put(objects.key(cpu), objects.key(_sibling(cpu)))

    def _open(self, kind: int, number: int, cpu: int) -> int:
        """Opens a counter of a CPU.

        :raises OSError: when the CPU has no such counter
        """
        size = _ATTRIBUTES.size
        call = _CALLS.get(platform.machine())
        if call is None:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        library = ctypes.CDLL(None, use_errno=True)
        file = int(library.syscall(
            call, _ATTRIBUTES.pack(kind, size, number), -1, cpu, -1,
            _CLOSE_ON_EXEC))
        if file < 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        self._files.append(file)
        return file

    def _close_files(self) -> None:
        for file in self._files:
            os.close(file)
        self._files = []


def _sibling(cpu: int) -> int:
    """Returns the other thread of the core.

    :returns: the CPU itself, unless its core has exactly two threads
    """
    try:
        threads = cpulist.parse_ids(
            host_files.Host().read(_THREADS.format(cpu)).strip())
    except (OSError, ValueError):
        return cpu
    others = sorted({*threads} - {cpu})
    return others[0] if len(others) == 1 else cpu


def _why(error: OSError) -> str:
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return ('the CPUs have no counters of cycles and cache misses for '
                'the kernel (ENOENT), as is usual in virtual machines')
    return f'the kernel does not open a counter: {error.strerror}'
