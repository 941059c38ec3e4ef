# SPDX-License-Identifier: Apache-2.0

"""The packages of Tacker's own samples and tests, as CSARs.

They are not part of an installed Tacker: TACKER_SOURCE names a copy of its
source, and this project keeps nothing of that source.  Tacker's tests complete
these packages before they upload them.  This module does the same: it adds the
type files of ETSI that Definitions import, and images of a few bytes.
"""

from collections.abc import Iterator
import os
import pathlib
import re
import zipfile

#: A copy of the source of Tacker, with samples/ and doc/.
VARIABLE = 'TACKER_SOURCE'
_META = 'TOSCA-Metadata/TOSCA.meta'
_COMMON = 'samples/tests/etc/samples/etsi/nfv/common'
#: Files that artifacts name, from the folder of the VNFD.
_ARTIFACT = re.compile(r'(?:file:|^\s+[\w.-]+:)\s*\.\./(Files/\S+)', re.M)
#: The same of artifacts and interfaces.
_NAMED = re.compile(r':\s*["\']?\.\./([^\s"\']+)')


def source() -> pathlib.Path | None:
    path = os.environ.get(VARIABLE)
    return pathlib.Path(path) if path else None


def packages(top: pathlib.Path) -> dict[str, pathlib.Path]:
    """Directories of packages by their path in the source."""
    return {str(meta.parents[1].relative_to(top)): meta.parents[1]
            for meta in sorted(top.rglob(_META))}


def named(package: pathlib.Path) -> set[str]:
    """Returns the files that Definitions name and the package has."""
    members = _files(package)
    texts = [file.read_text() for name, file in members.items()
             if name.startswith('Definitions/')]
    return {name for text in texts for name in _NAMED.findall(text)
            if name in members} | set(_artifacts(members))


def pack(top: pathlib.Path, package: pathlib.Path, target: pathlib.Path,
         without: str | None = None) -> None:
    """:param without: the file that is taken out"""
    members = _files(package)
    folders = [top / _COMMON]
    if package.name.startswith('user_data_sample'):
        folders.append(package.parent / 'user_data_common')
    for folder in folders:
        for name, file in _files(folder).items():
            members.setdefault(name, file)
    with zipfile.ZipFile(target, 'w') as archive:
        for name, file in sorted(members.items()):
            if name != without:
                archive.write(file, name)
        for name in sorted(set(_artifacts(members)) - members.keys()):
            if name != without:
                archive.writestr(name, b'image')


def _files(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    return {
        os.path.relpath(file, folder): pathlib.Path(file)
        for parent, _, names in os.walk(folder, followlinks=True)
        for file in (os.path.join(parent, name) for name in names)
        if os.path.isfile(file)}


def _artifacts(members: dict[str, pathlib.Path]) -> Iterator[str]:
    for name, file in members.items():
        if name.startswith('Definitions/'):
            for found in _ARTIFACT.findall(file.read_text()):
                yield found.strip('"\'')
