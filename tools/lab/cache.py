# SPDX-License-Identifier: Apache-2.0

"""The directory where kernels and the disk are kept between runs."""

from collections.abc import Iterator
import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile

VARIABLE = 'NOVA_RT_LAB_CACHE'
_PREFIX = 'unfinished-'


def default() -> pathlib.Path:
    """Returns the cache that the environment names, or one of the user."""
    if named := os.environ.get(VARIABLE):
        return pathlib.Path(named)
    base = os.environ.get('XDG_CACHE_HOME') or '~/.cache'
    return pathlib.Path(base).expanduser() / 'nova-rt-lab'


@contextlib.contextmanager
def opened(cache: pathlib.Path) -> Iterator[None]:
    """Lets only one process at a time fill the cache.

    The function first removes unfinished files of an earlier process.
    """
    cache.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(cache, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        for leftover in cache.glob(f'{_PREFIX}*'):
            shutil.rmtree(leftover)
        yield
    finally:
        os.close(descriptor)


def scratch(cache: pathlib.Path) -> 'tempfile.TemporaryDirectory[str]':
    """Makes a directory for files that are not finished yet."""
    return tempfile.TemporaryDirectory(
        dir=cache, prefix=_PREFIX, ignore_cleanup_errors=True)
