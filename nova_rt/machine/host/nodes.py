# SPDX-License-Identifier: Apache-2.0

"""Reads the NUMA cells of this host."""

import pathlib

from nova_rt.rules import cpulist

DIRECTORY = '/sys/devices/system/node'


def cells(directory: str = DIRECTORY) -> list[frozenset[int]]:
    """Returns the CPUs of each cell; [] on a kernel without NUMA.

    :raises OSError: when a file cannot be read
    :raises ValueError: when a file has no list of CPUs
    """
    return [frozenset(cpulist.parse_ids(path.read_text().strip()))
            for path in sorted(pathlib.Path(directory).glob(
                'node[0-9]*/cpulist'))]
