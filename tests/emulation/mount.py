# SPDX-License-Identifier: Apache-2.0

"""An emulated kernel behind real system calls, mounted by FUSE.

When code under test opens, reads and writes these files, the calls go through
the kernel of this machine, with a real errno and really short writes.
"""

from collections.abc import Iterator
import contextlib
import ctypes
import errno
import itertools
import os
import pathlib
import stat
import tempfile
import threading
import time
from typing import Any
from unittest import mock

from nova_rt.machine.kernel import fs
from nova_rt.machine import privsep
from tests.emulation import groups
from tests.emulation import guard
from tests.emulation import kernel as emulation
from tests.emulation import paths

try:
    import mfusepy  # type: ignore[import-untyped]
except (ImportError, OSError):  # The module or libfuse3 is missing.
    mfusepy = None

_SECONDS = 10.0
_MNT_DETACH = 2
#: Nothing is cached, because the emulated kernel changes by other ways, too.
_OPTIONS = {'foreground': True, 'nothreads': True, 'direct_io': True,
            'attr_timeout': 0, 'entry_timeout': 0, 'negative_timeout': 0}
_TOP = paths.UNIFIED_MOUNT
_FILE = {'st_mode': stat.S_IFREG | 0o644, 'st_nlink': 1}
_DIRECTORY = {'st_mode': stat.S_IFDIR | 0o755, 'st_nlink': 2}


def why_not() -> str:
    """Returns why this machine cannot mount, '' if it can."""
    if mfusepy is None:
        return 'needs mfusepy and libfuse3'
    if not os.path.exists('/dev/fuse'):
        return 'needs /dev/fuse'
    return '' if os.geteuid() == 0 else 'needs root'


class Files:
    """The operations of FUSE on an emulated kernel."""

    use_ns = True

    def __init__(self, kernel: emulation.Kernel) -> None:
        self._kernel = kernel
        self._handles: dict[int, groups.Group | None] = {}
        self._numbers = itertools.count(1)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        if self._is_directory(path):
            return dict(_DIRECTORY)
        where, name = os.path.split(path)
        if name in self._files(where):
            return dict(_FILE)
        raise OSError(errno.ENOENT, path)

    def readdir(self, path: str, fh: int) -> list[Any]:
        # The types save os.scandir an lstat under the GIL.
        below = [os.path.basename(child) for child
                 in self._kernel.children(_TOP + path.rstrip('/'))]
        if path == '/' and self._kernel.version == 1:
            below = ['cpu', 'cpuset']
        return [*((name, _DIRECTORY, 0) for name in ('.', '..', *below)),
                *((name, _FILE, 0) for name in self._files(path))]

    def open(self, path: str, flags: int) -> int:
        number = next(self._numbers)
        self._handles[number] = self._group(os.path.dirname(path))
        return number

    def release(self, path: str, fh: int) -> int:
        self._handles.pop(fh, None)
        return 0

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        return 0  # Like files of cgroups.

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        self._check(path, fh)
        with self._surviving():
            content = self._kernel.show(_TOP + path).encode()
        return content[offset:offset + size]

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        self._check(path, fh)
        with self._surviving():
            return self._kernel.write_data(
                _TOP + path, data.decode('ascii', 'replace'))

    def mkdir(self, path: str, mode: int) -> int:
        with self._surviving():
            self._kernel.create(_TOP + path)
        return 0

    def rmdir(self, path: str) -> int:
        with self._surviving():
            self._kernel.remove(_TOP + path)
        return 0

    def _group(self, path: str) -> groups.Group | None:
        return self._kernel.group_at(_TOP + path.rstrip('/'))

    def _is_directory(self, path: str) -> bool:
        return path == '/' or self._group(path) is not None

    def _files(self, path: str) -> list[str]:
        if self._group(path) is None:
            return []
        return self._kernel.files(_TOP + path.rstrip('/'))

    def _check(self, path: str, fh: int) -> None:
        """Raises ENODEV if the group was removed since the file was opened."""
        if self._handles.get(fh) is not self._group(os.path.dirname(path)):
            raise OSError(errno.ENODEV, path)

    @contextlib.contextmanager
    def _surviving(self) -> Iterator[None]:
        """Turns the death of the host, which has no errno, into EIO."""
        try:
            yield
        except guard.HostDied as error:
            raise OSError(errno.EIO, str(error)) from error


class MountedFS(fs.RealFS):
    """A RealFS that finds the hierarchies where they are mounted.

    Everything that is not below the mount comes from the emulated kernel: its
    sysctls and its CPUs.
    """

    def __init__(self, kernel: emulation.Kernel, point: str) -> None:
        super().__init__()
        self._kernel = kernel
        self._point = point

    def mounts(self) -> list[tuple[str, str, str]]:
        return [(where.replace(_TOP, self._point, 1), kind, options)
                for where, kind, options in self._kernel.mounts()]

    def read(self, path: str) -> str:
        if path.startswith(self._point):
            return super().read(path)
        return self._kernel.read(path)


@contextlib.contextmanager
def mounted(kernel: emulation.Kernel) -> Iterator[MountedFS]:
    """Mounts *kernel* for the block, and lets privsep write there.

    privsep does its work in this process meanwhile.
    """
    with tempfile.TemporaryDirectory(prefix='nova-rt-') as top:
        point = os.path.realpath(top)
        server = threading.Thread(target=_serve, args=(kernel, point),
                                  daemon=True)
        server.start()
        try:
            _wait_for(point)
            # Here the hierarchies are directories of one mount.
            names = {where.removeprefix(_TOP).strip('/')
                     for where, _kind, _options in kernel.mounts()}
            with (mock.patch.object(privsep, 'CGROUP_ROOT', point),
                  mock.patch.object(privsep, '_is_hierarchy',
                                    names.__contains__),
                  mock.patch.object(privsep.cgroup_pctxt,
                                    'client_mode', False)):
                yield MountedFS(kernel, point)
        finally:
            _unmount(point)
            server.join(_SECONDS)


def _serve(kernel: emulation.Kernel, point: str) -> None:
    mfusepy.FUSE(Files(kernel), point, fsname='nova-rt-emulation',
                 **_OPTIONS)


def _is_mounted(point: str) -> bool:
    lines = pathlib.Path('/proc/self/mounts').read_text().splitlines()
    return any(line.split(' ')[1] == point for line in lines)


def _wait_for(point: str) -> None:
    end = time.monotonic() + _SECONDS
    while not _is_mounted(point):
        if time.monotonic() > end:
            raise TimeoutError(f'nothing is mounted at {point}')
        time.sleep(0.01)


def _unmount(point: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    while _is_mounted(point):
        if libc.umount2(point.encode(), _MNT_DETACH):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), point)
