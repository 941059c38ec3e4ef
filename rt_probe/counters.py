# SPDX-License-Identifier: Apache-2.0

"""Files of the kernel that are read again and again."""

import os

_SIZE = 1 << 16


class Counter:
    """A file that is opened once, so that a reading costs one system call.

    :raises OSError: it cannot be opened
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def read(self) -> bytes:
        """What the file has now.

        :raises OSError: what it tells of is gone
        """
        return os.pread(self._handle, _SIZE, 0)

    def close(self) -> None:
        os.close(self._handle)


def number(data: bytes, key: bytes) -> int | None:
    """The one of a line ``key number``, as in cpu.stat; None: no such line."""
    _, found, rest = data.partition(key + b' ')
    return int(rest.split(None, 1)[0]) if found else None
