# SPDX-License-Identifier: Apache-2.0

"""Reads the real cgroup files, and writes them through privsep."""

from collections.abc import Iterator
import contextlib
import fcntl
import os
import pathlib
import threading
import time

from nova_rt.machine import privsep

_THREADS = threading.Lock()
_POLL_SECONDS = 0.005
_PAGE = 1 << 16


def _try_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class RealFS:
    """:class:`nova_rt.machine.host.cgroup.CgroupFS` on the running kernel."""

    def read(self, path: str) -> str:
        # The start of a server reads the groups of all other servers, so
        # reads are unbuffered and fast.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = iter(lambda: os.read(handle, _PAGE), b'')
            return b''.join(parts).decode().rstrip()
        finally:
            os.close(handle)

    def write(self, path: str, text: str) -> None:
        privsep.write_cgroup_file(path, text)

    def children(self, path: str) -> list[str]:
        try:
            with os.scandir(path) as entries:
                return sorted(entry.path for entry in entries
                              if entry.is_dir(follow_symlinks=False))
        except FileNotFoundError:
            return []

    def make(self, path: str) -> None:
        with contextlib.suppress(FileExistsError):
            privsep.make_group(path)

    def remove(self, path: str) -> None:
        privsep.remove_group(path)

    def timers(self) -> list[float]:
        due: list[float] = privsep.read_deadline_timers()
        return due

    @contextlib.contextmanager
    def locked(self, path: str) -> Iterator[None]:
        # The lock on the directory itself needs no file, and all processes
        # that write to this hierarchy use it: a host may run two
        # nova-computes.  Threads wait for each other first, because with
        # eventlet a wait in flock would stop the whole process.
        with _THREADS:
            handle = os.open(path,
                             os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                while not _try_lock(handle):
                    time.sleep(_POLL_SECONDS)
                yield
            finally:
                os.close(handle)

    def mounts(self) -> list[tuple[str, str, str]]:
        lines = pathlib.Path('/proc/self/mounts').read_text().splitlines()
        fields = (line.split(' ') for line in lines)
        return [(f[1], f[2], f[3]) for f in fields]
