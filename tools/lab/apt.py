# SPDX-License-Identifier: Apache-2.0

"""Downloads packages of a Debian release from this machine's mirror.

apt gets
a separate configuration in the cache, so that the sources and lists of the
machine do not change.
"""

import os
import pathlib
import re

from lab import programs

KEYRING = pathlib.Path('/usr/share/keyrings/debian-archive-keyring.gpg')
_FORMAT = '$(CREATED_BY)|$(ORIGIN)|$(SUITE)|$(REPO_URI)'
#: The packages of a kernel; newer releases divide it into several packages.
_PART = re.compile(r'linux-(?:base|binary|image|modules)-[0-9]\S*')


def mirror() -> str:
    """Returns the address of Debian's archive in this machine's sources."""
    programs.require('apt-get')
    return find_mirror(programs.run(
        ['apt-get', 'indextargets', '--format', _FORMAT]))


def find_mirror(targets: str) -> str:
    """Returns the first archive of *targets* with a whole release of Debian.

    :param targets: lines of CREATED_BY|ORIGIN|SUITE|REPO_URI
    :raises LabError: when there is no such archive
    """
    for line in targets.splitlines():
        kind, origin, suite, address = line.split('|')
        if (kind, origin) == ('Packages', 'Debian') and '-' not in suite:
            return address
    raise programs.LabError(
        "apt's sources on this machine name no archive of a Debian release: "
        'add one (see sources.list(5)) and run apt-get update')


def kernel_parts(depends: str) -> list[str]:
    """Returns the packages of a kernel in the output of apt-cache depends."""
    return sorted(set(_PART.findall(depends)))


class Archive:
    """One suite of Debian, used by apt in a directory of the cache."""

    def __init__(self, suite: str, directory: pathlib.Path) -> None:
        self._directory = directory
        self._sources = directory / 'sources.list'
        for name in ('lists/partial', 'cache/archives/partial'):
            (directory / name).mkdir(parents=True, exist_ok=True)
        (directory / 'status').touch()
        self._sources.write_text(
            f'deb [signed-by={KEYRING}] {mirror()} {suite} main\n')

    def _options(self) -> list[str]:
        settings = {
            'Dir::Etc::SourceList': self._sources,
            'Dir::Etc::SourceParts': '/dev/null',
            'Dir::State::Lists': self._directory / 'lists',
            'Dir::State::Status': self._directory / 'status',
            'Dir::Cache': self._directory / 'cache'}
        # apt's own user may not be allowed to write into the cache.
        if os.geteuid() == 0:
            settings['APT::Sandbox::User'] = 'root'
        return [word for name, value in settings.items()
                for word in ('-o', f'{name}={value}')]

    def update(self) -> None:
        """Downloads the lists of packages of the suite."""
        programs.run(['apt-get', *self._options(), '-q', 'update'])

    def download_kernel(self, package: str, target: pathlib.Path) -> None:
        """Downloads the packages of the kernel *package* into *target*."""
        depends = programs.run([
            'apt-cache', *self._options(), 'depends', '--recurse',
            '--important', package])
        programs.run(['apt-get', *self._options(), '-q', 'download',
                      *kernel_parts(depends)], target)
