# SPDX-License-Identifier: Apache-2.0

"""The machine's state that a container of systemd changes, put back later.

The container shares the kernel: systemd sets what is in ``sysctl.d``, and
makes control groups, as libvirt does.
"""

import contextlib
import pathlib

SETTINGS = pathlib.Path('/proc/sys')
GROUPS = pathlib.Path('/sys/fs/cgroup')

#: Those of the network belong to a namespace of the container.
_FOLDERS = ('fs', 'kernel', 'vm')
#: What the kernel changes by itself.
_LIVE = ('ns_last_pid', 'random')
#: What the container leaves, empty, if all goes well.
_MADE = ('machine', 'payload', 'supervisor')
_READ_AND_WRITE = 0o600


class Shared:
    """The present state."""

    def __init__(self, settings: pathlib.Path = SETTINGS,
                 groups: pathlib.Path = GROUPS) -> None:
        self._settings = settings
        self._groups = groups
        self._values = self._found()
        self._there = self._made()

    def _found(self) -> dict[pathlib.Path, str]:
        found = {}
        for folder in _FOLDERS:
            for path in (self._settings / folder).rglob('*'):
                if (path.is_file() and _is_writable(path)
                        and not set(path.parts) & set(_LIVE)):
                    with contextlib.suppress(OSError, UnicodeError):
                        found[path] = path.read_text()
        return found

    def _made(self) -> set[pathlib.Path]:
        return {path for name in _MADE for pattern in (name, f'*/{name}')
                for path in self._groups.glob(pattern)}

    def give_back(self) -> None:
        """Write what has changed, remove the empty groups that are new."""
        for path, value in self._values.items():
            with contextlib.suppress(OSError, UnicodeError):
                if path.read_text() != value:
                    path.write_text(value)
        for top in self._made() - self._there:
            for group in sorted(top.rglob('*/'), reverse=True) + [top]:
                with contextlib.suppress(OSError):
                    group.rmdir()


def _is_writable(path: pathlib.Path) -> bool:
    return path.stat().st_mode & _READ_AND_WRITE == _READ_AND_WRITE
