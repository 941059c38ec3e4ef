# SPDX-License-Identifier: Apache-2.0

"""The packing policies: which of the pCPUs with room are taken.

Each is a :data:`nova_rt.rules.cpus.Policy`.  Ties go to the lowest pCPU id, so
that a choice is reproducible.
"""

from collections.abc import Iterable, Sequence

Room = Sequence[tuple[int, int]]


def _first(room: Iterable[tuple[int, int]], count: int) -> tuple[int, ...]:
    return tuple(cpu for cpu, _ in room)[:count]


def worst_fit(room: Room, count: int) -> tuple[int, ...]:
    """The emptiest pCPUs (the paper's policy, section 5.2)."""
    return _first(sorted(room, key=lambda pair: pair[1]), count)


def best_fit(room: Room, count: int) -> tuple[int, ...]:
    """The fullest pCPUs that still have room: keeps large gaps whole."""
    return _first(sorted(room, key=lambda pair: -pair[1]), count)


def first_fit(room: Room, count: int) -> tuple[int, ...]:
    """The pCPUs with the lowest ids."""
    return _first(room, count)
