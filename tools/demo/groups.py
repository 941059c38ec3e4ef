# SPDX-License-Identifier: Apache-2.0

"""Control groups of this host as they are, with either version of cgroups.

Reads only, and past all of nova_rt's own code.
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
#: Of budgets, in the order in which they are looked for.
_FILES = (_RUNTIME, _MAX)


def tree(controller: str) -> pathlib.Path:
    """The root group of the hierarchy of a controller."""
    return CGROUPS if UNIFIED else CGROUPS / controller


def has_budgets() -> bool:
    """Whether groups of this kernel have files for budgets.

    On cgroup v2 the root group may have them alone until it hands on the
    controller; some branches have them in all groups but the root.
    """
    top = tree('cpu')
    return any((group / name).exists() for name in _FILES
               for group in (top, *top.glob('*/')))


def budget(group: pathlib.Path) -> tuple[int, int]:
    """(runtime, period) in us; (0, 0) where the group has none of its own.

    :raises FileNotFoundError: the group is gone
    """
    if (group / _MAX).exists():
        runtime, period = (group / _MAX).read_text().split()
        return (0, 0) if runtime == 'max' else (int(runtime), int(period))
    return (int((group / _RUNTIME).read_text()),
            int((group / _PERIOD).read_text()))


def runtime(group: pathlib.Path) -> int:
    """us of runtime; 0 for a group that is gone or has none."""
    with contextlib.suppress(OSError):
        return budget(group)[0]
    return 0


def tasks(group: pathlib.Path) -> list[int]:
    """The threads in a group; none in one that is gone."""
    name = 'cgroup.threads' if UNIFIED else 'tasks'
    with contextlib.suppress(OSError):
        return [int(task) for task in (group / name).read_text().split()]
    return []


def open_usage(below: pathlib.Path) -> int:
    """A handle for :func:`usage_ns` of a group in the tree of CPU time."""
    name = 'cpu.stat' if UNIFIED else 'cpuacct.usage'
    return os.open(below / name, os.O_RDONLY)


def usage_ns(handle: int) -> int:
    """CPU time of all tasks that a group ever had."""
    content = os.pread(handle, 4096, 0).split()
    if not UNIFIED:
        return int(content[0])
    return int(content[content.index(b'usage_usec') + 1]) * 1000
