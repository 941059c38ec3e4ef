# SPDX-License-Identifier: Apache-2.0

"""Which types of network function run on a host.

Pure code: the counts, and the text form in which nova-compute publishes them
in ``ComputeNode.stats``.
"""

import collections
from collections.abc import Iterable, Mapping
import dataclasses
import enum
import functools
import json
from typing import Any, NamedTuple, Self

from nova_rt.rules import workload

#: The key of ComputeNode.stats.
KEY = 'rt_neighbours'
#: Readers skip keys that they do not know; what changes the meaning of one
#: takes the next version.
VERSION = 1

#: The column of all stats holds 64 KiB, and ``rt_map`` may have most of it.
_MAX_LENGTH = 4_000
#: More servers than any host runs.
_MAX_COUNT = 100_000


class Kind(enum.StrEnum):
    """How a server has its CPU time."""

    SHARED = 'shared'
    RESERVED = 'reserved'

    # That of Enum is written in Python, and slow.
    __hash__ = str.__hash__


class Typed(NamedTuple):
    """What counts of one server."""

    kind: Kind
    type: str


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbours:
    """How many servers of each sort there are, sorted."""

    counts: tuple[tuple[Typed, int], ...] = ()

    @classmethod
    def of(cls, servers: Iterable[Typed]) -> Self:
        """The counts of *servers*, in any order."""
        return cls(tuple(sorted(collections.Counter(servers).items())))

    def plus(self, server: Typed) -> 'Neighbours':
        """These and one server more."""
        counts = dict(self.counts)
        counts[server] = counts.get(server, 0) + 1
        return Neighbours(tuple(sorted(counts.items())))


NONE = Neighbours()


def to_text(neighbours: Neighbours) -> str:
    """JSON; '' where so many types would not fit the column."""
    data: dict[str, Any] = {'version': VERSION} | {
        str(kind): {} for kind in Kind}
    for server, count in neighbours.counts:
        data[server.kind][server.type] = count
    text = json.dumps(data, separators=(',', ':'))
    return text if len(text) <= _MAX_LENGTH else ''


def from_stats(stats: Mapping[str, Any]) -> Neighbours | None:
    """The inverse of :func:`to_text`.

    :returns: None for a host without the plugin, with garbled text or with
        another version: nothing is known of it
    """
    text = stats.get(KEY)
    return _decode(text) if isinstance(text, str) else None


# Few hosts change between two requests, and many are alike.
@functools.lru_cache(maxsize=4096)
def _decode(text: str) -> Neighbours | None:
    try:
        data = json.loads(text)
        if data['version'] != VERSION:
            return None
        return Neighbours(tuple(sorted(
            (Typed(kind, name), count) for kind in Kind
            for name, count in data[kind].items()
            if _is_count(name, count))))
    except (AttributeError, KeyError, TypeError, ValueError,
            RecursionError):
        return None


def _is_count(name: str, count: Any) -> bool:
    """:raises ValueError: it is none of a type, or of more than a host runs"""
    if (not workload.is_type(name) or not isinstance(count, int)
            or isinstance(count, bool) or not 0 < count <= _MAX_COUNT):
        raise ValueError(f'{name}: {count}')
    return True
