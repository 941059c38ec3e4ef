# SPDX-License-Identifier: Apache-2.0

"""The source of HTTP/1 requests: loads its programs and reads their counts.

The programs read data of tenants.  Therefore the programs are loaded only if
the operator enables them, and read only the packets of servers with a
reservation.
"""

import struct

from rt_monitor import histogram
from rt_monitor import http
from rt_monitor import objects
from rt_monitor import servers as monitor_servers
from rt_monitor import tap

_TAP = struct.Struct('=I')
_SERVER = struct.Struct('=I')
#: ``struct stats``: beyond, unclear.
_STATS = struct.Struct('=QQ')
#: ``struct exchange`` before its times: begun, place.
_EXCHANGE = struct.Struct('=QQ')


def is_read(server: monitor_servers.Watched) -> bool:
    """Returns whether the requests of a server are read."""
    return server.reservation is not None


class Paths(objects.ProgramSource):
    """The HTTP requests that servers answer and send."""

    name = 'http'

    def __init__(self) -> None:
        """Loads the programs.

        :raises CannotMonitor: when this host cannot run them
        """
        tap.require_tcx(self.name)
        super().__init__()
        self._taps = tap.Owners(self.object.map('taps'))
        self._exchanges = self.object.map('exchanges')
        self._kinds = self.object.map('kinds')
        self._stats = self.object.map('stats')

    def forget(self, change: monitor_servers.Change) -> None:
        started = {*change.servers}
        for key in [*self._exchanges.keys()] if started else ():
            if _SERVER.unpack_from(key)[0] in started:
                self._exchanges.remove(key)
        for server in started:
            self._kinds.clear(objects.key(server))
            self._stats.clear(objects.key(server))

    def point(self, register: monitor_servers.Register) -> None:
        """Tells the programs which server each interface belongs to."""
        self._taps.set({
            objects.key(index): _TAP.pack(place.index)
            for uuid, server in register.servers.items() if is_read(server)
            and (place := register.places.get(uuid))
            for index in server.taps})

    def read(self, register: monitor_servers.Register
             ) -> dict[str, http.ServerRequests]:
        """Returns the requests of all servers that are read, by UUID."""
        by_index: dict[
            int, list[tuple[http.Request, histogram.Histogram]]] = {}
        begun: dict[int, dict[http.Request, int]] = {}
        for key, data in self._exchanges.items():
            server, request = http.decode(key)
            by_index.setdefault(server, []).append((
                request, histogram.Histogram.decode(data[_EXCHANGE.size:])))
            started = begun.setdefault(server, {})
            # Different keys may look the same.
            started[request] = (started.get(request, 0)
                                + _EXCHANGE.unpack_from(data)[0])
        return {uuid: http.collect(
            by_index.get(place.index, ()), self._stats_of(place.index),
            begun.get(place.index))
            for uuid, place in register.places.items()
            if is_read(register.servers[uuid])}

    def _stats_of(self, server: int) -> http.HttpStats:
        data = self._stats.get(objects.key(server))
        return http.HttpStats(*(_STATS.unpack(data) if data else ()))
