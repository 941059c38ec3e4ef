# SPDX-License-Identifier: Apache-2.0

"""Requests of HTTP/1 by method, template of the path, and class of status.

The programs cut a path at 64 bytes and at the query, and replace digits with
``:n``.  The rest of the path comes from a tenant and may have any content.
"""

from collections.abc import Iterable, Mapping
import dataclasses
import struct

from rt_monitor import exposition
from rt_monitor import histogram
from rt_monitor import transactions

#: The methods in the order of ``programs/http.h``.
METHODS = ('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH',
           'TRACE')
#: The template for targets that are not paths, and the method, path and status
#: of requests for which the server has no place.
OTHER = 'other'

#: ``struct exchange_key``: server, role, method, class of status, path.
_KEY = struct.Struct('=IBBBx64s')
_SPACE, _LAST = 0x20, 0x7e


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A kind of requests.

    :ivar path: the template of the path in printable ASCII, at most 64
        characters; other bytes are shown as ``%XX``
    :ivar status: the class of the status of the answers, for example ``2xx``
    """

    role: transactions.Role
    method: str
    path: str
    status: str


@dataclasses.dataclass(frozen=True, slots=True)
class HttpStats:
    """The numbers of requests and connections that are not counted in full.

    :ivar beyond: requests for which the server had no place
    :ivar unclear: connections that are no longer counted, because a request
        came before the answer to the previous one
    """

    beyond: int = 0
    unclear: int = 0

    def __add__(self, other: 'HttpStats') -> 'HttpStats':
        return HttpStats(self.beyond + other.beyond,
                         self.unclear + other.unclear)

    def since(self, before: 'HttpStats') -> 'HttpStats':
        """Returns the counts since an earlier snapshot."""
        return HttpStats(self.beyond - before.beyond,
                         self.unclear - before.unclear)


@dataclasses.dataclass(frozen=True)
class ServerRequests:
    """The requests of a server.

    :ivar requests: the times that their answers took
    :ivar begun: a number for each kind, which changes whenever its counts
        start again
    """

    requests: Mapping[Request, histogram.Histogram] = dataclasses.field(
        default_factory=dict)
    stats: HttpStats = HttpStats()
    begun: Mapping[Request, int] = dataclasses.field(
        default_factory=dict, compare=False)

    def __add__(self, other: 'ServerRequests') -> 'ServerRequests':
        return collect([*self.requests.items(), *other.requests.items()],
                       self.stats + other.stats)

    def since(self, before: 'ServerRequests') -> 'ServerRequests':
        """Returns the requests that came after an earlier snapshot."""
        return ServerRequests({
            request: took.since(before.requests[request])
            if request in before.requests
            and self.begun.get(request) == before.begun.get(request)
            else took for request, took in self.requests.items()},
            self.stats.since(before.stats))


def collect(items: Iterable[tuple[Request, histogram.Histogram]],
            stats: HttpStats | None = None,
            begun: Mapping[Request, int] | None = None) -> ServerRequests:
    """Collects requests; the times of equal requests are added."""
    requests: dict[Request, histogram.Histogram] = {}
    for request, took in items:
        before = requests.get(request)
        requests[request] = took if before is None else before + took
    return ServerRequests(requests, stats or HttpStats(), begun or {})


def decode(key: bytes) -> tuple[int, Request]:
    """Returns the number of the server and the request of a map's key."""
    server, role, method, status, path = _KEY.unpack(key)
    return server, Request(
        transactions.Role(role), METHODS[method - 1] if method else OTHER,
        readable(path), f'{status}xx' if status else OTHER)


def readable(path: bytes) -> str:
    """Returns a path in printable characters, without zeros at its end."""
    parts = [chr(byte) if _SPACE < byte <= _LAST else f'%{byte:02X}'
             for byte in path.rstrip(b'\0')]
    while sum(map(len, parts)) > exposition.LONGEST:
        parts.pop()
    return ''.join(parts) or OTHER
