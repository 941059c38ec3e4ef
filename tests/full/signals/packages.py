# SPDX-License-Identifier: Apache-2.0

"""Debian packages in a directory: the system stays as it is."""

import glob
import os
import pathlib
import shutil
import subprocess


class Packages:
    """Programs of packages that are unpacked, and not installed."""

    def __init__(self, folder: pathlib.Path, names: list[str]) -> None:
        """Downloads packages, with all that they need, and unpacks them.

        :raises CalledProcessError: when apt does not find a package
        """
        self._root = folder / 'root'
        if not names:
            return
        archives = folder / 'archives'
        archives.mkdir()
        would = subprocess.run(
            ['apt-get', 'install', '-s', '--no-install-recommends', *names],
            check=True, capture_output=True, text=True).stdout
        needed = {line.split()[1] for line in would.splitlines()
                  if line.startswith('Inst ')} | set(names)
        subprocess.run(
            ['apt-get', 'download', '-q', '-o', 'APT::Sandbox::User=root',
             *sorted(needed)], cwd=archives, check=True, capture_output=True)
        for archive in archives.iterdir():
            subprocess.run(['dpkg', '-x', archive, self._root], check=True)

    def path(self, name: str) -> str:
        """Returns the path of a file or program, by the end of its path.

        Packages that are installed are not unpacked again.

        :raises LookupError: when no package has it
        """
        for folder in ('usr/sbin', 'usr/bin', 'usr/lib/*', '*/*/*/*/*',
                       '*/*/*/*'):
            for found in glob.glob(f'{self._root}/{folder}/{name}'):
                return found
        if installed := shutil.which(name):
            return installed
        raise LookupError(name)

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which the programs find their libraries."""
        libraries = glob.glob(f'{self._root}/usr/lib/*-linux-gnu')
        return {**os.environ, 'LD_LIBRARY_PATH': ':'.join(libraries)}
