# SPDX-License-Identifier: Apache-2.0

"""Requests of HTTP/1 by method, template of the path, and class of status.

The programs cut paths at 64 bytes and at what is asked for after them, and
put ``:n`` for digits; what is left is a tenant's, and may be anything.
"""

from collections.abc import Iterable, Mapping
import dataclasses
import struct

from rt_monitor import exposition
from rt_monitor import histogram
from rt_monitor import transactions

#: As ``programs/http.h`` has them.
METHODS = ('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH',
           'TRACE')
#: Paths beyond the bounds, and targets that are no paths.
OTHER = 'other'

#: ``struct exchange_key``: server, role, method, class of status, path.
_KEY = struct.Struct('=IBBBx64s')
_SPACE, _LAST = 0x20, 0x7e


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """A kind of requests.

    :ivar path: printable ASCII, 64 characters at most; other bytes as ``%XX``
    :ivar status: of the answers, as ``2xx``
    """

    role: transactions.Role
    method: str
    path: str
    status: str


@dataclasses.dataclass(frozen=True)
class Seen:
    """The requests of a server: how long their answers took."""

    requests: Mapping[Request, histogram.Histogram] = dataclasses.field(
        default_factory=dict)

    def __add__(self, other: 'Seen') -> 'Seen':
        return collect([*self.requests.items(), *other.requests.items()])

    def since(self, before: 'Seen') -> 'Seen':
        """What came after an earlier look."""
        none = histogram.Histogram()
        return Seen({request: took.since(before.requests.get(request, none))
                     for request, took in self.requests.items()})


@dataclasses.dataclass(frozen=True, slots=True)
class Stats:
    """What is not exact.

    :ivar beyond: requests with paths beyond the bounds
    :ivar full: requests that are missing
    :ivar unclear: connections that are not counted any more, since requests
        came before the answers to those before
    """

    beyond: int = 0
    full: int = 0
    unclear: int = 0


def collect(found: Iterable[tuple[Request, histogram.Histogram]]) -> Seen:
    """All together; what looks the same is the same."""
    requests: dict[Request, histogram.Histogram] = {}
    for request, took in found:
        before = requests.get(request)
        requests[request] = took if before is None else before + took
    return Seen(requests)


def decode(key: bytes) -> tuple[int, Request]:
    """The number of the server, and the request, as the programs keep it."""
    server, role, method, status, path = _KEY.unpack(key)
    return server, Request(transactions.Role(role), METHODS[method - 1],
                           readable(path), f'{status}xx')


def readable(path: bytes) -> str:
    """A path as people read it; zeros at its end are not part of it."""
    parts = [chr(each) if _SPACE < each <= _LAST else f'%{each:02X}'
             for each in path.rstrip(b'\0')]
    while sum(map(len, parts)) > exposition.LONGEST:
        parts.pop()
    return ''.join(parts) or OTHER
