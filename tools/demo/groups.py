# SPDX-License-Identifier: Apache-2.0

"""Reads the control groups of this host, with either version of cgroups.

The module writes nothing, and uses no code of nova_rt.
"""

import contextlib
import os
import pathlib

CGROUPS = pathlib.Path('/sys/fs/cgroup')
#: On cgroup v2 all controllers share one tree.
UNIFIED = (CGROUPS / 'cgroup.controllers').exists()

_RUNTIME = 'cpu.rt_runtime_us'
_PERIOD = 'cpu.rt_period_us'
_MAX = 'cpu.rt.max'
#: The files of budgets, in the order of the search.
_FILES = (_RUNTIME, _MAX)


def tree(controller: str) -> pathlib.Path:
    """Returns the root group of the hierarchy of a controller."""
    return CGROUPS if UNIFIED else CGROUPS / controller


def has_budgets() -> bool:
    """Returns whether groups of this kernel have files for budgets.

    On cgroup v2, only the root group may have these files until it passes the
    controller on. On some branches all groups except the root have the files.
    """
    top = tree('cpu')
    return any((group / name).exists() for name in _FILES
               for group in (top, *top.glob('*/')))


def budget(group: pathlib.Path) -> tuple[int, int]:
    """Returns (runtime, period) in us; (0, 0) for a group without a budget.

    :raises FileNotFoundError: when the group is gone
    """
    if (group / _MAX).exists():
        runtime, period = (group / _MAX).read_text().split()
        return (0, 0) if runtime == 'max' else (int(runtime), int(period))
    return (int((group / _RUNTIME).read_text()),
            int((group / _PERIOD).read_text()))


def runtime(group: pathlib.Path) -> int:
    """Returns the runtime in us; 0 if the group is gone or has no budget."""
    with contextlib.suppress(OSError):
        return budget(group)[0]
    return 0


def tasks(group: pathlib.Path) -> list[int]:
    """Returns the threads in a group; none if the group is gone."""
    name = 'cgroup.threads' if UNIFIED else 'tasks'
    with contextlib.suppress(OSError):
        return [int(task) for task in (group / name).read_text().split()]
    return []


def open_usage(below: pathlib.Path) -> int:
    """Opens a group in the tree of CPU time, for :func:`usage_ns`."""
    name = 'cpu.stat' if UNIFIED else 'cpuacct.usage'
    return os.open(below / name, os.O_RDONLY)


def usage_ns(handle: int) -> int:
    """Returns the CPU time of all tasks that a group ever had."""
    content = os.pread(handle, 4096, 0).split()
    if not UNIFIED:
        return int(content[0])
    return int(content[content.index(b'usage_usec') + 1]) * 1000
