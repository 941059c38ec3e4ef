# SPDX-License-Identifier: Apache-2.0

"""The meters of energy that a host has, and whose work they are for."""

from collections.abc import Iterable, Mapping
import os
import posixpath
import re

from nova_rt.machine.host import files as host_files
from nova_rt.rules import exception
from rt_monitor import power

_ZONES = '/sys/class/powercap'
#: One of a socket; those below it are parts of its energy.
_ZONE = re.compile(r'intel-rapl:\d+')
_PACKAGE = re.compile(r'package-(\d+)')
_SOCKET = '/sys/devices/system/cpu/cpu{}/topology/physical_package_id'
_LONGEST = 32


class Meters:
    """Those of the sockets, open: only root may open them.

    :ivar most_uj: by socket, after so much a meter begins anew
    """

    def __init__(self, host: host_files.Host) -> None:
        """:raises OSError, ValueError: they are not as the kernel has them"""
        self.most_uj: dict[int, int] = {}
        self._files: dict[int, int] = {}
        for name in sorted(filter(_ZONE.fullmatch, host.names(_ZONES))):
            path = posixpath.join(_ZONES, name)
            package = _PACKAGE.fullmatch(
                host.read(posixpath.join(path, 'name')).strip())
            if package:
                socket = int(package[1])
                self.most_uj[socket] = int(host.read(
                    posixpath.join(path, 'max_energy_range_uj')))
                self._files[socket] = host.open(
                    posixpath.join(path, 'energy_uj'))

    def read_uj(self) -> dict[int, int]:
        """Readings, by socket."""
        return {socket: int(os.pread(file, _LONGEST, 0))
                for socket, file in self._files.items()}

    def close(self) -> None:
        for file in self._files.values():
            os.close(file)
        self._files = {}


class Power:
    """The energy of servers, from now on."""

    name = 'power'

    def __init__(self, host: host_files.Host) -> None:
        """Begin.

        :raises CannotMonitor: the host has no meters
        """
        try:
            self._meters = Meters(host)
        except (OSError, ValueError) as error:
            reason = (host_files.why(error) if isinstance(error, OSError)
                      else str(error))
            raise _without(f'{_ZONES}: {reason}') from error
        if not self._meters.most_uj:
            raise _without(f'no socket has one in {_ZONES}')
        self._sockets = _sockets(host, range(os.cpu_count() or 1))
        self._account = power.Account(
            self._meters.read_uj(), self._meters.most_uj, self._sockets)

    def read(self, span_s: float, work: Mapping[str, Mapping[int, float]]
             ) -> Mapping[str, int]:
        """The energy of each server, HOST and IDLE, in uJ.

        :param span_s: since the beginning
        :param work: by name, on each CPU since then: CPU time in s, or
            weighted cycles with IDLE's; HOST's, too
        """
        if power.IDLE not in work:
            work = {**work, power.IDLE: power.idle(span_s, self._sockets,
                                                   work.values())}
        self._account.update(self._meters.read_uj(), work)
        return self._account.parts

    def close(self) -> None:
        self._meters.close()


def _without(reason: str) -> exception.CannotMonitor:
    return exception.CannotMonitor(
        what=Power.name, reason=f'the host has no meter of energy (RAPL) '
        f'that can be read: {reason}')


def _sockets(host: host_files.Host, cpus: Iterable[int]) -> dict[int, int]:
    """The socket of each CPU that is online."""
    found = {}
    for cpu in cpus:
        try:
            found[cpu] = int(host.read(_SOCKET.format(cpu)))
        except (OSError, ValueError):
            continue  # offline
    return found
