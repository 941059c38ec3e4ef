# SPDX-License-Identifier: Apache-2.0

"""Reads the files of the host; writes none."""

from collections.abc import Iterator
import contextlib
import errno
import gzip
import os
import posixpath

from nova_rt.machine.host import timers
from nova_rt.rules import cpulist

MOUNTS = '/proc/self/mounts'
DEBUG = '/sys/kernel/debug'

_CHUNK = 1 << 20


def why(error: OSError) -> str:
    """Returns a clause that says why a file of the kernel cannot be read."""
    return {
        errno.EPERM: 'the kernel refuses to show this file (EPERM), as a '
                     'locked-down kernel does',
        errno.EACCES: 'only root may read this file (EACCES)',
        errno.ENOENT: 'this file does not exist',
    }.get(error.errno or 0, error.strerror or str(error))


class Host:
    """Reads all files of the host by their path.

    A Host is also a CgroupFS for kernel interfaces that only read.

    :param root: the directory to use as ``/``, for tests
    """

    def __init__(self, root: str = '') -> None:
        self._root = root.rstrip('/')

    def data(self, path: str) -> bytes:
        """Returns the content of a file.

        :raises OSError: when the file cannot be read, with *path* as its
            filename
        """
        # pathlib would be slow: thousands of files of /proc are read here.
        parts = []
        handle = self.open(path)
        try:
            while part := os.read(handle, _CHUNK):
                parts.append(part)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error
        finally:
            os.close(handle)
        return b''.join(parts)

    def open(self, path: str) -> int:
        """Returns a descriptor with which a file can be read repeatedly.

        :raises OSError: when the file cannot be opened, with *path* as its
            filename
        """
        try:
            return os.open(self._root + path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error

    def names(self, path: str) -> list[str]:
        """Returns the names in a directory, sorted.

        :raises OSError: when the directory cannot be read, with *path* as
            its filename
        """
        try:
            return sorted(os.listdir(self._root + path))
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error

    def inode(self, path: str) -> int:
        """Returns the inode number of a file or directory.

        :raises OSError: when there is no such file, with *path* as its
            filename
        """
        try:
            return os.stat(self._root + path).st_ino
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error

    def read(self, path: str) -> str:
        return self.data(path).decode(errors='replace').rstrip()

    def optional(self, path: str) -> str | None:
        """Returns the text of a file; None if the file does not exist."""
        try:
            return self.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def unzipped(self, path: str) -> str:
        """Returns the text of a file that may be compressed by gzip.

        :raises OSError: when the file cannot be read
        :raises EOFError: when the compressed file is cut short
        """
        data = self.data(path)
        if path.endswith('.gz'):
            data = gzip.decompress(data)
        return data.decode(errors='replace')

    def number(self, path: str) -> int:
        """Returns the number in a file.

        :raises OSError: when the file cannot be read
        :raises ValueError: when the file has no number; the message names
            the file
        """
        text = self.read(path)
        try:
            return int(text)
        except ValueError as error:
            raise ValueError(
                f'{path} reads {text[:40]!r}, which is not a number'
            ) from error

    def ids(self, path: str) -> tuple[int, ...]:
        """Returns the CPUs of a list in a file.

        :raises OSError: when the file cannot be read
        :raises ValueError: when the file has no list of CPUs; the message
            names the file
        """
        text = self.read(path)
        try:
            return cpulist.parse_ids(text)
        except ValueError as error:
            raise ValueError(f'{path} reads {text[:40]!r}, which is not a '
                             f'list of CPUs') from error

    @property
    def possible(self) -> tuple[int, ...]:
        """The CPUs that this kernel could ever have."""
        return self.ids(cpulist.POSSIBLE)

    @property
    def online(self) -> tuple[int, ...]:
        """The CPUs that are online."""
        return self.ids(cpulist.ONLINE)

    @property
    def release(self) -> str:
        """The release of the kernel, as ``uname -r`` prints it."""
        return self.read('/proc/sys/kernel/osrelease')

    # The following methods complete nova_rt.machine.host.cgroup.CgroupFS.

    def children(self, path: str) -> list[str]:
        try:
            with os.scandir(self._root + path) as entries:
                return sorted(posixpath.join(path, entry.name)
                              for entry in entries
                              if entry.is_dir(follow_symlinks=False))
        except FileNotFoundError:
            return []

    def mounts(self) -> list[tuple[str, str, str]]:
        fields = (line.split(' ') for line in self.read(MOUNTS).splitlines())
        return [(f[1], f[2], f[3]) for f in fields if len(f) > 3]

    def timers(self) -> list[float]:
        return timers.replenishments(self.read(timers.PATH))

    def write(self, path: str, text: str) -> None:
        raise _untouched(path)

    def make(self, path: str) -> None:
        raise _untouched(path)

    def remove(self, path: str) -> None:
        raise _untouched(path)

    @contextlib.contextmanager
    def locked(self, path: str) -> Iterator[None]:
        # A lock would make nova-compute wait.
        yield


def _untouched(path: str) -> OSError:
    return OSError(errno.EROFS, 'this command only reads files of the '
                                'host', path)
