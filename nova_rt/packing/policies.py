# SPDX-License-Identifier: Apache-2.0

"""The packing policies: which of the pCPUs with room are taken.

Each is a :data:`nova_rt.cpus.Policy`.  Ties go to the lowest pCPU id, so
that a choice is reproducible.
"""

from collections.abc import Mapping, Sequence


def worst_fit(eligible: Sequence[int], used: Mapping[int, int], count: int
              ) -> tuple[int, ...]:
    """The emptiest pCPUs (the paper's policy, section 5.2)."""
    return tuple(sorted(eligible, key=lambda cpu: used.get(cpu, 0))[:count])


def best_fit(eligible: Sequence[int], used: Mapping[int, int], count: int
             ) -> tuple[int, ...]:
    """The fullest pCPUs that still have room: keeps large gaps whole."""
    return tuple(sorted(eligible, key=lambda cpu: -used.get(cpu, 0))[:count])


def first_fit(eligible: Sequence[int], used: Mapping[int, int], count: int
              ) -> tuple[int, ...]:
    """The pCPUs with the lowest ids."""
    return tuple(eligible[:count])
