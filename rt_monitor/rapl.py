# SPDX-License-Identifier: Apache-2.0

"""Reads the energy meters of a host (RAPL) and attributes the energy.

The meters measure the RAPL domain *package*: cores, shared cache and memory
controller.  Brondolin and Santambrogio (Eq. 2) use the domain *core*.
"""

from collections.abc import Iterable, Mapping
import os
import posixpath
import re

from nova_rt.machine.host import files as host_files
from nova_rt.rules import exception
from rt_monitor import power

_ZONES = '/sys/class/powercap'
#: A meter of a socket.  The meters below it measure parts of its energy.
_ZONE = re.compile(r'intel-rapl:\d+')
_PACKAGE = re.compile(r'package-(\d+)')
_SOCKET = '/sys/devices/system/cpu/cpu{}/topology/physical_package_id'
_LONGEST = 32


class Meters:
    """The meters of the sockets, kept open because only root may open them.

    :ivar most_uj: the value after which a meter starts again from 0, by
        socket
    """

    def __init__(self, host: host_files.Host) -> None:
        """Opens the meters.

        :raises OSError: when a meter cannot be opened
        :raises ValueError: when a file of a meter has an unknown form
        """
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
        """Returns the present readings, by socket."""
        return {socket: int(os.pread(file, _LONGEST, 0))
                for socket, file in self._files.items()}

    def close(self) -> None:
        """Closes the meters."""
        for file in self._files.values():
            os.close(file)
        self._files = {}


class Power:
    """The energy of servers, counted from now on."""

    name = 'power'

    def __init__(self, host: host_files.Host) -> None:
        """Opens the meters and the account.

        :raises CannotMonitor: when the host has no meters that can be read
        """
        try:
            self._meters = Meters(host)
        except (OSError, ValueError) as error:
            reason = (host_files.why(error) if isinstance(error, OSError)
                      else str(error))
            raise _without(f'{_ZONES}: {reason}') from error
        if not self._meters.most_uj:
            raise _without(f'{_ZONES} has no meter of a socket')
        self._sockets = _sockets(host, range(os.cpu_count() or 1))
        self._account = power.Account(
            self._meters.read_uj(), self._meters.most_uj, self._sockets)

    def read(self, span_s: float, work: Mapping[str, Mapping[int, float]]
             ) -> Mapping[str, int]:
        """Returns the energy of each server, HOST and IDLE, in uJ.

        :param span_s: the time since the account was opened
        :param work: the work by name, with HOST, on each CPU since then: CPU
            time in s without IDLE, or weighted cycles with IDLE
        """
        if power.IDLE not in work:
            work = {**work, power.IDLE: power.idle(span_s, self._sockets,
                                                   work.values())}
        self._account.update(self._meters.read_uj(), work)
        return self._account.parts

    def close(self) -> None:
        """Closes the meters."""
        self._meters.close()


def _without(reason: str) -> exception.CannotMonitor:
    return exception.CannotMonitor(
        what=Power.name, reason=f'the host has no energy meter (RAPL) that '
        f'can be read: {reason}')


def _sockets(host: host_files.Host, cpus: Iterable[int]) -> dict[int, int]:
    """Returns the socket of each CPU that is online."""
    socket_of = {}
    for cpu in cpus:
        try:
            socket_of[cpu] = int(host.read(_SOCKET.format(cpu)))
        except (OSError, ValueError):
            continue  # the CPU is offline
    return socket_of
