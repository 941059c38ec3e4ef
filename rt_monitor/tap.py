# SPDX-License-Identifier: Apache-2.0

"""The source that watches network interfaces: counts packets of servers.

The sockets of a virtual machine are in the guest.  Therefore the programs
count the transactions of a virtual machine from the packets at its tap.  The
programs count the datagrams of all servers in the same way.
"""

from collections.abc import Callable, Iterable, Mapping
import contextlib
import dataclasses
import os
import struct

from nova_rt.rules import exception
from rt_monitor import libbpf
from rt_monitor import objects
from rt_monitor import servers as monitor_servers
from rt_monitor import transactions

_TAP = struct.Struct('=II')
_DATAGRAMS = struct.Struct('=4Q')
_WAYS = {'from_guest': libbpf.Way.IN, 'to_guest': libbpf.Way.OUT}
#: The number of the loopback interface, which every network namespace has.
_LOOPBACK = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Datagrams:
    """The UDP traffic of a server; bytes are without headers."""

    sent: int = 0
    received: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0

    def since(self, before: 'Datagrams') -> 'Datagrams':
        """Returns the counts since an earlier snapshot."""
        return Datagrams(*(
            getattr(self, field.name) - getattr(before, field.name)
            for field in dataclasses.fields(self)))


def require_tcx(name: str) -> None:
    """Checks that the kernel can attach programs to network interfaces.

    :param name: the name of the source that attaches programs
    :raises CannotMonitor: when the kernel cannot attach them
    """
    try:
        for way in _WAYS.values():
            libbpf.programs_at(_LOOPBACK, way)
    except PermissionError:
        return  # loading the programs says which rights are missing
    except OSError as error:
        raise exception.CannotMonitor(
            what=name, reason='the kernel cannot attach programs to '
            'network interfaces (tcx); it must be Linux 6.6 or newer '
            f'({error.strerror})') from error


class Owners:
    """A map of the programs from each interface to its server."""

    def __init__(self, owners: libbpf.Map) -> None:
        self._map = owners
        self._present: Mapping[bytes, bytes] = {}

    def set(self, wanted: Mapping[bytes, bytes]) -> None:
        """Makes the map contain exactly these values."""
        for key in self._present.keys() - wanted.keys():
            self._map.remove(key)
        for key, value in wanted.items():
            if self._present.get(key) != value:
                self._map.put(key, value)
        self._present = wanted


class Taps(transactions.Edges):
    """Transactions and datagrams at the network interfaces of servers.

    An :class:`Attacher` attaches the programs to the interfaces.
    """

    name = 'tap'

    def __init__(self) -> None:
        """Loads the programs.

        :raises CannotMonitor: when this host cannot run them
        """
        require_tcx(self.name)
        super().__init__()
        self._taps = Owners(self.object.map('taps'))
        self._datagrams = self.object.map('datagrams')

    def forget(self, change: monitor_servers.Change) -> None:
        super().forget(change)
        for server in change.servers:
            self._datagrams.clear(objects.key(server))

    def point(self, register: monitor_servers.Register) -> None:
        """Tells the programs which server each interface belongs to."""
        self._taps.set({
            objects.key(tap): _TAP.pack(place.index, not server.sockets)
            for uuid, server in register.servers.items()
            if (place := register.places.get(uuid)) for tap in server.taps})

    def concerned(self, register: monitor_servers.Register
                  ) -> Mapping[str, monitor_servers.Place]:
        return {uuid: place for uuid, place in register.places.items()
                if register.servers[uuid].taps}

    def datagrams(self, register: monitor_servers.Register
                  ) -> Mapping[str, Datagrams]:
        """Returns the datagrams of servers with interfaces, by UUID."""
        return {uuid: self._server_datagrams(place.index)
                for uuid, place in self.concerned(register).items()}

    def _server_datagrams(self, server: int) -> Datagrams:
        data = self._datagrams.get(objects.key(server))
        return Datagrams(*_DATAGRAMS.unpack(data)) if data else Datagrams()


class Attacher:
    """Keeps the programs of a source attached to the interfaces of servers.

    The attacher may be used in another process than the source itself.
    """

    def __init__(self, source: objects.ProgramSource, concerned: Callable[
            [monitor_servers.Watched], bool] = lambda _: True) -> None:
        """Attaches nothing yet.

        :param concerned: a function that returns whether the source is for a
            server
        """
        self._object = source.object
        self._concerned = concerned
        self._links: dict[int, list[int]] = {}

    def follow(self, servers: Iterable[monitor_servers.Watched]) -> None:
        """Attaches to the interfaces of these servers, and to no others."""
        wanted = {tap for server in servers if self._concerned(server)
                  for tap in server.taps}
        for tap in self._links.keys() - wanted:
            for link in self._links.pop(tap):
                os.close(link)
        for tap in wanted - self._links.keys():
            # An interface that is gone by now is missing in the next list.
            with contextlib.suppress(OSError):
                self._attach(tap)

    def _attach(self, tap: int) -> None:
        with contextlib.ExitStack() as undo:
            links = []
            for name, way in _WAYS.items():
                link = self._object.attach_to_interface(name, tap, way)
                undo.callback(os.close, link)
                links.append(link)
            # If one direction failed, the other one is detached, and the
            # next call tries both again.
            undo.pop_all()
            self._links[tap] = links
