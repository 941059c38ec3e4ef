# SPDX-License-Identifier: Apache-2.0

"""The files of the host, read and never written."""

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
    """Why a file of the kernel cannot be read, in words."""
    return {
        errno.EPERM: 'the kernel refuses it (EPERM), as locked-down ones do',
        errno.EACCES: 'only root may (EACCES)',
        errno.ENOENT: 'it is not there',
    }.get(error.errno or 0, error.strerror or str(error))


class Host:
    """All files by their path, through one method.

    Also the CgroupFS of the kernel interfaces, as far as that reads.

    :param root: directory to take for ``/``, for tests
    """

    def __init__(self, root: str = '') -> None:
        self._root = root.rstrip('/')

    def data(self, path: str) -> bytes:
        """:raises OSError: with *path* as its filename"""
        # Not pathlib: thousands of files of /proc come this way.
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
        """A descriptor, to read a file again and again.

        :raises OSError: with *path* as its filename
        """
        try:
            return os.open(self._root + path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error

    def names(self, path: str) -> list[str]:
        """What is in a directory.

        :raises OSError: with *path* as its filename
        """
        try:
            return sorted(os.listdir(self._root + path))
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error

    def inode(self, path: str) -> int:
        """The number of a file or directory.

        :raises OSError: with *path* as its filename
        """
        try:
            return os.stat(self._root + path).st_ino
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from error

    def read(self, path: str) -> str:
        return self.data(path).decode(errors='replace').rstrip()

    def optional(self, path: str) -> str | None:
        """None for a file that is not there."""
        try:
            return self.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def unzipped(self, path: str) -> str:
        """A file that may be compressed.

        :raises OSError, EOFError: it cannot be read
        """
        data = self.data(path)
        if path.endswith('.gz'):
            data = gzip.decompress(data)
        return data.decode(errors='replace')

    def number(self, path: str) -> int:
        """:raises ValueError: a sentence that names the file"""
        text = self.read(path)
        try:
            return int(text)
        except ValueError as error:
            raise ValueError(
                f'{path} reads {text[:40]!r}, which is no number') from error

    def ids(self, path: str) -> tuple[int, ...]:
        """A list of CPUs.

        :raises ValueError: a sentence that names the file
        """
        text = self.read(path)
        try:
            return cpulist.parse_ids(text)
        except ValueError as error:
            raise ValueError(f'{path} reads {text[:40]!r}, which is no list '
                             f'of CPUs') from error

    @property
    def possible(self) -> tuple[int, ...]:
        """The CPUs that the kernel counts."""
        return self.ids(cpulist.POSSIBLE)

    @property
    def online(self) -> tuple[int, ...]:
        return self.ids(cpulist.ONLINE)

    @property
    def release(self) -> str:
        """The release of the kernel, as ``uname -r`` has it."""
        return self.read('/proc/sys/kernel/osrelease')

    # The rest of nova_rt.machine.host.cgroup.CgroupFS.

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
        # nova-compute would have to wait for us.
        yield


def _untouched(path: str) -> OSError:
    return OSError(errno.EROFS, 'files of the host are only read here', path)
