# SPDX-License-Identifier: Apache-2.0

"""Reads which CPUs of this host are threads of one core."""

from collections.abc import Iterable
import pathlib

from nova_rt.rules import cpulist

DIRECTORY = '/sys/devices/system/cpu'


def cores(cpus: Iterable[int], directory: str = DIRECTORY) -> tuple[int, ...]:
    """Returns the core of each CPU: the lowest id of its threads.

    If the kernel does not show the siblings of a CPU, the CPU counts as a core
    of its own.
    """
    return tuple(_core(cpu, directory) for cpu in cpus)


def _core(cpu: int, directory: str) -> int:
    path = pathlib.Path(directory, f'cpu{cpu}',
                        'topology/thread_siblings_list')
    try:
        return min(cpulist.parse_ids(path.read_text().strip()), default=cpu)
    except (OSError, ValueError):
        return cpu
