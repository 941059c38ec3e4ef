# SPDX-License-Identifier: Apache-2.0

"""The packing policies, which choose among the pCPUs with room.

Each function is a :data:`nova_rt.rules.cpus.Policy`.  Among equal pCPUs, the
pCPU with the lowest id is taken, so that the choice is reproducible.
"""

from collections.abc import Iterable, Sequence

Room = Sequence[tuple[int, int]]


def _first(room: Iterable[tuple[int, int]], count: int) -> tuple[int, ...]:
    return tuple(cpu for cpu, _ in room)[:count]


def worst_fit(room: Room, count: int) -> tuple[int, ...]:
    """Chooses the emptiest pCPUs (the paper's policy, section 5.2)."""
    return _first(sorted(room, key=lambda pair: pair[1]), count)


def best_fit(room: Room, count: int) -> tuple[int, ...]:
    """Chooses the fullest pCPUs with room, which keeps large gaps whole."""
    return _first(sorted(room, key=lambda pair: -pair[1]), count)


def first_fit(room: Room, count: int) -> tuple[int, ...]:
    """Chooses the pCPUs with the lowest ids."""
    return _first(room, count)
