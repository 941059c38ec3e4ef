# SPDX-License-Identifier: Apache-2.0

"""What passes the network interfaces of servers, packet by packet.

The sockets of a virtual machine are in the guest, so its transactions are
told from the packets at its tap; datagrams of all servers are, too.
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
#: Of the loopback interface, which every network namespace has.
_LOOPBACK = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Datagrams:
    """What a server sent and got over UDP; bytes without headers."""

    sent: int = 0
    received: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0

    def since(self, before: 'Datagrams') -> 'Datagrams':
        """What came after an earlier look."""
        return Datagrams(*(
            getattr(self, field.name) - getattr(before, field.name)
            for field in dataclasses.fields(self)))


def probe(source: objects.Source) -> None:
    """Attach its programs to the loopback interface and take them off again.

    :raises CannotMonitor: the kernel attaches nothing; the source is closed
    """
    try:
        for name, way in _WAYS.items():
            os.close(source.object.attach_to_interface(name, _LOOPBACK, way))
    except OSError as error:
        source.close()
        raise exception.CannotMonitor(
            what=source.name, reason='the kernel attaches nothing to '
            'network interfaces by tcx; it must be Linux 6.6 or newer '
            f'({error.strerror})') from error


class Owners:
    """A map of the programs that says whose each interface is."""

    def __init__(self, of: libbpf.Map) -> None:
        self._map = of
        self._known: Mapping[bytes, bytes] = {}

    def set(self, wanted: Mapping[bytes, bytes]) -> None:
        """Have these values by interface, and no others."""
        for key in self._known.keys() - wanted.keys():
            self._map.remove(key)
        for key, value in wanted.items():
            if self._known.get(key) != value:
                self._map.put(key, value)
        self._known = wanted


class Taps(transactions.Edges):
    """What passes the interfaces of servers, once they are followed."""

    name = 'tap'

    def __init__(self) -> None:
        """Load the programs.

        :raises CannotMonitor: this host cannot
        """
        super().__init__()
        self._taps = Owners(self.object.map('taps'))
        self._datagrams = self.object.map('datagrams')
        probe(self)

    def forget(self, change: monitor_servers.Change) -> None:
        super().forget(change)
        for server in change.servers:
            self._datagrams.clear(objects.key(server))

    def point(self, register: monitor_servers.Register) -> None:
        """Say whose each interface is."""
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
        """All servers with interfaces, by their UUID."""
        return {uuid: self._of(place.index)
                for uuid, place in self.concerned(register).items()}

    def _of(self, server: int) -> Datagrams:
        data = self._datagrams.get(objects.key(server))
        return Datagrams(*_DATAGRAMS.unpack(data)) if data else Datagrams()


class Attacher:
    """Keeps the programs at the interfaces of servers.

    It may be in another process than what reads: it alone needs
    CAP_NET_ADMIN after the beginning.
    """

    def __init__(self, source: objects.Source, concerned: Callable[
            [monitor_servers.Server], bool] = lambda _: True) -> None:
        """Attach nothing yet.

        :param concerned: whether a server is one for this source
        """
        self._object = source.object
        self._concerned = concerned
        self._links: dict[int, list[int]] = {}

    def follow(self, servers: Iterable[monitor_servers.Server]) -> None:
        """Attach to the interfaces of these servers, and to no others."""
        wanted = {tap for server in servers if self._concerned(server)
                  for tap in server.taps}
        for tap in self._links.keys() - wanted:
            for link in self._links.pop(tap):
                os.close(link)
        for tap in wanted - self._links.keys():
            # One that is gone by now goes from the next list, too.
            with contextlib.suppress(OSError):
                self._attach(tap)

    def _attach(self, tap: int) -> None:
        with contextlib.ExitStack() as undo:
            links = []
            for name, way in _WAYS.items():
                link = self._object.attach_to_interface(name, tap, way)
                undo.callback(os.close, link)
                links.append(link)
            # Both ways or none, which is tried again.
            undo.pop_all()
            self._links[tap] = links
