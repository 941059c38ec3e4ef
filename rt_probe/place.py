# SPDX-License-Identifier: Apache-2.0

"""Finds the directories of a process's control groups, from inside."""

from collections.abc import Iterator
import os

#: The name for cgroup v2, which has all controllers in one tree.
UNIFIED = ''


def directories(process: str = 'self', root: str = '') -> dict[str, str]:
    """Returns the visible directories of a process's groups, by controller.

    All of them are below *root*, which stands for ``/``.  A mount in a
    container may show only a part of the tree: the fourth field of its line
    in mountinfo tells which part.

    :raises OSError: when the process is gone, or /proc is not mounted
    """
    own = paths(process, root)
    directories_by_controller: dict[str, str] = {}
    for controller, shown, mount in _mounts(root):
        path = root + mount + _below(shown, own.get(controller, '/'))
        if controller in own and os.path.isdir(path):
            directories_by_controller.setdefault(controller, path.rstrip('/'))
    return directories_by_controller


def paths(process: str = 'self', root: str = '') -> dict[str, str]:
    """Returns the paths of a process's groups, by controller.

    :raises OSError: when the process is gone, or /proc is not mounted
    """
    with open(f'{root}/proc/{process}/cgroup', encoding='ascii',
              errors='replace') as file:
        lines = [line.rstrip('\n').split(':', 2) for line in file]
    return {controller: fields[2] for fields in lines if len(fields) == 3
            for controller in fields[1].split(',')}


def _mounts(root: str) -> Iterator[tuple[str, str, str]]:
    """Yields each controller, the mounted part of its tree, the directory."""
    with open(f'{root}/proc/self/mountinfo', encoding='utf-8',
              errors='replace') as file:
        for line in file:
            before, _, after = line.partition(' - ')
            fields, kind = before.split(), after.split()
            if len(fields) < 5 or len(kind) < 3:
                continue
            if kind[0] == 'cgroup2':
                yield UNIFIED, fields[3], fields[4]
            elif kind[0] == 'cgroup':
                for controller in kind[2].split(','):
                    yield controller, fields[3], fields[4]


def _below(shown: str, path: str) -> str:
    """Returns *path* relative to the mounted part *shown* of the tree."""
    if shown == '/':
        return path
    if path == shown or path.startswith(f'{shown}/'):
        return path.removeprefix(shown)
    # The mount was made in another cgroup namespace, and shows the top of
    # ours.
    return '' if path == '/' else path


def upwards(path: str) -> Iterator[str]:
    """Yields the directory of a group and those of the groups above it."""
    while os.path.exists(f'{path}/cgroup.procs'):
        yield path
        path = os.path.dirname(path)


def is_top(path: str) -> bool:
    """Returns whether this is the host's root group, which has no limit."""
    return (os.path.exists(f'{path}/release_agent')
            or os.path.exists(f'{path}/cgroup.procs')
            and not os.path.exists(f'{path}/notify_on_release')
            and not os.path.exists(f'{path}/cgroup.type'))
