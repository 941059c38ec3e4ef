# SPDX-License-Identifier: Apache-2.0

"""The programs that read requests of HTTP/1, from their object to servers.

They read what tenants send, so they are loaded only where the operator asks
for it, and only look at servers with a reservation.
"""

import struct

from rt_monitor import histogram
from rt_monitor import http
from rt_monitor import objects
from rt_monitor import servers as monitor_servers
from rt_monitor import tap

_TAP = struct.Struct('=I')
_SERVER = struct.Struct('=I')
_STATS = struct.Struct('=QQQ')


def is_read(server: monitor_servers.Server) -> bool:
    """Whether a server's requests are read."""
    return server.reservation is not None


class Paths(objects.Source):
    """What servers are asked over HTTP, and ask for."""

    name = 'http'

    def __init__(self) -> None:
        """Load the programs.

        :raises CannotMonitor: this host cannot
        """
        super().__init__()
        tap.probe(self)
        self._taps = tap.Owners(self.object.map('taps'))
        self._exchanges = self.object.map('exchanges')
        self._paths = self.object.map('paths')
        self._known = self.object.map('known')
        self._stats = self.object.map('stats')

    def forget(self, change: monitor_servers.Change) -> None:
        started = {*change.servers}
        for each in (self._exchanges, self._paths) if started else ():
            for key in [*each.keys()]:
                if _SERVER.unpack_from(key)[0] in started:
                    each.remove(key)
        for server in started:
            self._known.clear(objects.key(server))

    def point(self, register: monitor_servers.Register) -> None:
        """Say whose each interface is that is read."""
        self._taps.set({
            objects.key(index): _TAP.pack(place.index)
            for uuid, server in register.servers.items() if is_read(server)
            and (place := register.places.get(uuid))
            for index in server.taps})

    def read(self, register: monitor_servers.Register
             ) -> dict[str, http.Seen]:
        """All servers that are read, by their UUID."""
        found: dict[int, list[tuple[http.Request, histogram.Histogram]]] = {}
        for key, data in self._exchanges.items():
            server, request = http.decode(key)
            found.setdefault(server, []).append(
                (request, histogram.Histogram.decode(data)))
        return {uuid: http.collect(found.get(place.index, ()))
                for uuid, place in register.places.items()
                if is_read(register.servers[uuid])}

    def stats(self) -> http.Stats:
        data = self._stats.get(objects.key(0))
        return http.Stats(*_STATS.unpack(data)) if data else http.Stats()
