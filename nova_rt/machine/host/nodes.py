# SPDX-License-Identifier: Apache-2.0

"""The NUMA cells of this host."""

import pathlib

from nova_rt.rules import cpulist

DIRECTORY = '/sys/devices/system/node'


def cells(directory: str = DIRECTORY) -> list[frozenset[int]]:
    """The CPUs of each cell; none of them on a kernel without NUMA.

    :raises OSError, ValueError: they cannot be told
    """
    return [frozenset(cpulist.parse_ids(path.read_text().strip()))
            for path in sorted(pathlib.Path(directory).glob(
                'node[0-9]*/cpulist'))]
