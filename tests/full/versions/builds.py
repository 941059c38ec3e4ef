# SPDX-License-Identifier: Apache-2.0

"""Builds the wheel of a commit and unpacks it into a folder of its own."""

import os
import pathlib
import subprocess
import sys

_ROOT = pathlib.Path(__file__).parents[3]
#: The last commit before 0.1.0 with the names of that time.
FIRST = '17c51cb'


def install(place: pathlib.Path, commit: str, version: str) -> pathlib.Path:
    """Builds the wheel of a commit and unpacks it, without dependencies.

    :returns: the folder to put first in PYTHONPATH
    """
    source = place / 'source'
    # This is not an archive: before 0.1.0, archives had no data files.
    for command in (['clone', '-q', _ROOT, source],
                    ['-C', source, 'checkout', '-q', '--detach', commit]):
        subprocess.run(['git', *command], check=True)
    subprocess.run(
        [sys.executable, '-m', 'pip', 'install', '-q', '--no-deps',
         '--disable-pip-version-check', '--target', place / 'site', source],
        check=True, env={**os.environ, 'PBR_VERSION': version})
    return place / 'site'
