# SPDX-License-Identifier: Apache-2.0

"""Files of the kernel that the probe reads again and again."""

import os

_SIZE = 1 << 16


class Counter:
    """A file that is opened once, so that a reading costs one system call.

    :raises OSError: when the file cannot be opened
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes:
        """Returns the present content of the file.

        :raises OSError: when the group or thread that the file describes is
            gone
        """
        return os.pread(self._handle, _SIZE, 0)

    def close(self) -> None:
        """Closes the file."""
        os.close(self._handle)


def number(data: bytes, key: bytes) -> int | None:
    """Returns the number of the line ``key number``, as in cpu.stat.

    :returns: None if there is no line with this key
    """
    _, separator, rest = data.partition(key + b' ')
    return int(rest.split(None, 1)[0]) if separator else None
