# SPDX-License-Identifier: Apache-2.0

"""Starts programs of Debian for the lab, and checks their exit status."""

from collections.abc import Sequence
import os
import pathlib
import shutil
import subprocess

#: The Debian package of each program that not every Debian has.
PACKAGES = {
    'busybox': 'busybox-static',
    'depmod': 'kmod',
    'mke2fs': 'e2fsprogs',
    'mmdebstrap': 'mmdebstrap',
    'qemu-system-x86_64': 'qemu-system-x86',
}
_WORDS_OF_FAILURE = 300


class LabError(Exception):
    """The lab cannot continue; one sentence says why and what to do."""


def require(*names: str) -> None:
    """Checks that this machine has the programs.

    :raises LabError: when one or more of them are missing
    """
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        packages = ' '.join(PACKAGES.get(name, name) for name in missing)
        raise LabError(f'{", ".join(missing)} cannot be found: install '
                       f'{packages} (apt-get install {packages})')


def run(words: Sequence[str | pathlib.Path],
        directory: pathlib.Path | None = None,
        scratch: pathlib.Path | None = None) -> str:
    """Runs a program and returns its standard output.

    :param directory: the working directory of the program
    :param scratch: the directory for temporary files of the program
    :raises LabError: when the program fails
    """
    environment = {**os.environ, 'TMPDIR': str(scratch)} if scratch else None
    done = subprocess.run(words, cwd=directory, env=environment, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        end = ' '.join(done.stderr.split())[-_WORDS_OF_FAILURE:]
        raise LabError(f'{words[0]} failed with exit status '
                       f'{done.returncode}: {end}')
    return done.stdout
