# SPDX-License-Identifier: Apache-2.0

"""Where the control group of a process is, as seen from inside."""

from collections.abc import Iterator
import os

#: Of cgroup v2, which has all controllers in one tree.
UNIFIED = ''


def directories(process: str = 'self', root: str = '') -> dict[str, str]:
    """The directories of a process's groups that can be seen, by controller.

    Each ends below *root*, which stands for ``/``.  A mount in a container
    may show only a part of the tree: its fourth field says which.

    :raises OSError: the process is gone, or /proc is not mounted
    """
    with open(f'{root}/proc/{process}/cgroup', encoding='ascii',
              errors='replace') as file:
        lines = [line.rstrip('\n').split(':', 2) for line in file]
    paths = {controller: fields[2] for fields in lines if len(fields) == 3
             for controller in fields[1].split(',')}
    found: dict[str, str] = {}
    for controller, shown, mount in _mounts(root):
        path = root + mount + _below(shown, paths.get(controller, '/'))
        if controller in paths and os.path.isdir(path):
            found.setdefault(controller, path.rstrip('/'))
    return found


def _mounts(root: str) -> Iterator[tuple[str, str, str]]:
    """Each controller, what part of its tree is mounted, and where."""
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
    """The rest of *path* below the part of the tree that is mounted."""
    if shown == '/':
        return path
    if path == shown or path.startswith(f'{shown}/'):
        return path.removeprefix(shown)
    # The mount was made in another cgroup namespace: it shows our top.
    return '' if path == '/' else path


def upwards(path: str) -> Iterator[str]:
    """A group and those above it, as far as they are groups."""
    while os.path.exists(f'{path}/cgroup.procs'):
        yield path
        path = os.path.dirname(path)


def is_top(path: str) -> bool:
    """Whether it is the host's root group, whose limits bind nobody."""
    return (os.path.exists(f'{path}/release_agent')
            or os.path.exists(f'{path}/cgroup.procs')
            and not os.path.exists(f'{path}/notify_on_release')
            and not os.path.exists(f'{path}/cgroup.type'))
