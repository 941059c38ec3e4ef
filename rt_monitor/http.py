# SPDX-License-Identifier: Apache-2.0

"""Requests of HTTP/1 by method, template of the path, and class of status.

The programs cut a path at 64 bytes and at the query, and replace digits with
``:n``.  The rest comes from a tenant and may be anything.
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
#: The template for paths beyond the bounds, and for targets that are not
#: paths.
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


@dataclasses.dataclass(frozen=True)
class ServerRequests:
    """The requests of a server, with the times that their answers took."""

    requests: Mapping[Request, histogram.Histogram] = dataclasses.field(
        default_factory=dict)

    def __add__(self, other: 'ServerRequests') -> 'ServerRequests':
        return collect([*self.requests.items(), *other.requests.items()])

    def since(self, before: 'ServerRequests') -> 'ServerRequests':
        """Returns the requests that came after an earlier look."""
        none = histogram.Histogram()
        return ServerRequests({
            request: took.since(before.requests.get(request, none))
            for request, took in self.requests.items()})


@dataclasses.dataclass(frozen=True, slots=True)
class HttpStats:
    """How many requests are missing or not told apart.

    :ivar beyond: requests whose path is beyond the bounds
    :ivar full: requests that are missing, because the map is full
    :ivar unclear: connections that are no longer counted, because a request
        came before the answer to the previous one
    """

    beyond: int = 0
    full: int = 0
    unclear: int = 0


def collect(items: Iterable[tuple[Request, histogram.Histogram]]
            ) -> ServerRequests:
    """Collects requests; the times of equal requests are added."""
    requests: dict[Request, histogram.Histogram] = {}
    for request, took in items:
        before = requests.get(request)
        requests[request] = took if before is None else before + took
    return ServerRequests(requests)


def decode(key: bytes) -> tuple[int, Request]:
    """Returns the number of the server and the request of a map's key."""
    server, role, method, status, path = _KEY.unpack(key)
    return server, Request(transactions.Role(role), METHODS[method - 1],
                           readable(path), f'{status}xx')


def readable(path: bytes) -> str:
    """Returns a path in printable characters, without zeros at its end."""
    parts = [chr(byte) if _SPACE < byte <= _LAST else f'%{byte:02X}'
             for byte in path.rstrip(b'\0')]
    while sum(map(len, parts)) > exposition.LONGEST:
        parts.pop()
    return ''.join(parts) or OTHER
