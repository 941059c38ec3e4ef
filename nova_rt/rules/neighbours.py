# SPDX-License-Identifier: Apache-2.0

"""Counts the types of network function that run on a host.

The module is pure code. It has the counts, and the text form in which
nova-compute publishes the counts in ``ComputeNode.stats``.
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
#: Readers skip unknown keys. If the meaning of a key changes, the text gets
#: the next version.
VERSION = 1

#: The column of all stats holds 64 KiB, and ``rt_map`` may have most of it.
_MAX_LENGTH = 4_000
#: More servers than any host runs.
_MAX_COUNT = 100_000


class Kind(enum.StrEnum):
    """The way in which a server gets its CPU time."""

    SHARED = 'shared'
    RESERVED = 'reserved'

    # The method of Enum is written in Python, and slow.
    __hash__ = str.__hash__


class Typed(NamedTuple):
    """The properties of one server that are counted."""

    kind: Kind
    type: str


@dataclasses.dataclass(frozen=True, slots=True)
class Neighbours:
    """The number of servers of each sort, sorted."""

    counts: tuple[tuple[Typed, int], ...] = ()

    @classmethod
    def count(cls, servers: Iterable[Typed]) -> Self:
        """Returns the counts of *servers*, which may be in any order."""
        return cls(tuple(sorted(collections.Counter(servers).items())))

    def plus(self, server: Typed) -> 'Neighbours':
        """Returns these counts with one more server."""
        counts = dict(self.counts)
        counts[server] = counts.get(server, 0) + 1
        return Neighbours(tuple(sorted(counts.items())))


NONE = Neighbours()


def to_text(neighbours: Neighbours) -> str:
    """Returns the counts as JSON; '' if they do not fit the column."""
    data: dict[str, Any] = {'version': VERSION} | {
        str(kind): {} for kind in Kind}
    for server, count in neighbours.counts:
        data[server.kind][server.type] = count
    text = json.dumps(data, separators=(',', ':'))
    return text if len(text) <= _MAX_LENGTH else ''


def from_stats(stats: Mapping[str, Any]) -> Neighbours | None:
    """Returns the counts in *stats*; the inverse of :func:`to_text`.

    :returns: None if the neighbours are not known: the host does not publish
        them, or publishes a damaged text or a text of another version
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
    """Checks that *count* is a number of servers of a type on one host.

    :raises ValueError: when the name is not a type, or the number is too large
    """
    if (not workload.is_type(name) or not isinstance(count, int)
            or isinstance(count, bool) or not 0 < count <= _MAX_COUNT):
        raise ValueError(f'{name}: {count}')
    return True
