# SPDX-License-Identifier: Apache-2.0

"""Programs of Debian's that the lab starts, and what they end with."""

from collections.abc import Sequence
import os
import pathlib
import shutil
import subprocess

#: Debian package of each program that is not on every Debian.
PACKAGES = {
    'busybox': 'busybox-static',
    'depmod': 'kmod',
    'mke2fs': 'e2fsprogs',
    'mmdebstrap': 'mmdebstrap',
    'qemu-system-x86_64': 'qemu-system-x86',
}
_WORDS_OF_FAILURE = 300


class LabError(Exception):
    """The lab cannot go on; one sentence says why and what to do."""


def require(*names: str) -> None:
    """Raise LabError for the programs that this machine has not got."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        packages = ' '.join(PACKAGES.get(name, name) for name in missing)
        raise LabError(f'{", ".join(missing)} cannot be found: install '
                       f'{packages} (apt-get install {packages})')


def run(words: Sequence[str | pathlib.Path],
        directory: pathlib.Path | None = None,
        scratch: pathlib.Path | None = None) -> str:
    """Standard output of a program; LabError if it fails.

    :param directory: where it works
    :param scratch: where it puts what it needs for a while
    """
    environment = {**os.environ, 'TMPDIR': str(scratch)} if scratch else None
    done = subprocess.run(words, cwd=directory, env=environment, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        end = ' '.join(done.stderr.split())[-_WORDS_OF_FAILURE:]
        raise LabError(f'{words[0]} failed with exit status '
                       f'{done.returncode}: {end}')
    return done.stdout
