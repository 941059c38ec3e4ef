# SPDX-License-Identifier: Apache-2.0

"""Lists of CPUs as the kernel writes them, ``0-3,8``, and where it does."""

from collections.abc import Sequence

POSSIBLE = '/sys/devices/system/cpu/possible'
ONLINE = '/sys/devices/system/cpu/online'
ISOLATED = '/sys/devices/system/cpu/isolated'

#: No kernel has as many; a slip of the pen must not fill the memory.
_MAX_ID = 65_535


def format_ids(ids: Sequence[int]) -> str:
    """Ascending pCPU ids as the kernel writes them: ``0-3,8``."""
    parts: list[list[int]] = []
    for cpu in ids:
        if parts and cpu == parts[-1][-1] + 1:
            parts[-1][1:] = [cpu]
        else:
            parts.append([cpu])
    return ','.join('-'.join(map(str, part)) for part in parts)


def parse_ids(text: str) -> tuple[int, ...]:
    """The inverse of :func:`format_ids`.

    :raises ValueError: not a list of ids
    """
    ids: list[int] = []
    for part in text.split(',') if text else ():
        first, _, last = part.partition('-')
        found = range(int(first), int(last or first) + 1)
        if not found or found[-1] > _MAX_ID:
            raise ValueError(f'{part} is no range')
        ids.extend(found)
    return tuple(ids)
