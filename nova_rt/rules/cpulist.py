# SPDX-License-Identifier: Apache-2.0

"""Converts lists of CPUs as the kernel writes them, for example ``0-3,8``."""

from collections.abc import Sequence

POSSIBLE = '/sys/devices/system/cpu/possible'
ONLINE = '/sys/devices/system/cpu/online'
ISOLATED = '/sys/devices/system/cpu/isolated'

#: No kernel has this many CPUs.  The limit keeps a mistyped list from filling
#: the memory.
_MAX_ID = 65_535


def format_ids(ids: Sequence[int]) -> str:
    """Returns ascending pCPU ids as the kernel writes them: ``0-3,8``."""
    parts: list[list[int]] = []
    for cpu in ids:
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ','.join('-'.join(map(str, part)) for part in parts)


def parse_ids(text: str) -> tuple[int, ...]:
    """Returns the pCPU ids of a list; the inverse of :func:`format_ids`.

    :raises ValueError: when *text* is not a list of ids
    """
    ids: list[int] = []
    for part in text.split(',') if text else ():
        first, _, last = part.partition('-')
        part_ids = range(int(first), int(last or first) + 1)
        if not part_ids or part_ids[-1] > _MAX_ID:
            raise ValueError(f'{part} is not a range of CPUs')
        ids.extend(part_ids)
    return tuple(ids)
