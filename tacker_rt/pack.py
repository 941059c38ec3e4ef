# SPDX-License-Identifier: Apache-2.0

"""From a directory to a CSAR that Tacker on-boards.

What a package needs and people need not write is added: TOSCA.meta, and the
files of types that its Definitions import.  The same directory gives the
same bytes.
"""

from collections.abc import Iterator
from pathlib import Path
import zipfile

from tacker_rt import csar
from tacker_rt import exception
from tacker_rt import problem
from tacker_rt import typefiles

_META = ('TOSCA-Meta-File-Version: 1.0\n'
         'Created-By: tacker-rt\n'
         'CSAR-Version: 1.1\n'
         'Entry-Definitions: {entry}\n')

#: Content of a package by path.
Members = dict[str, bytes]


def directory(path: Path, etsi: Path | None = None) -> Members:
    """The members of a package, with what is missing.

    :param etsi: the directory of SOL001's types, else Tacker's
    :raises InvalidVnfd: one sentence
    """
    members = {file.relative_to(path).as_posix(): file.read_bytes()
               for file in sorted(path.rglob('*'))
               if file.is_file() and '__pycache__' not in file.parts}
    definitions = sorted(
        file for file in (path / csar.DEFINITIONS).glob('*')
        if file.suffix in ('.yaml', '.yml'))
    if not definitions:
        raise _error(path.name, f'{csar.DEFINITIONS} has no YAML files',
                     'put the VNFD there')
    for vnfd in definitions:
        for name, file in typefiles.collect(vnfd, etsi).items():
            members.setdefault(f'{csar.DEFINITIONS}/{name}',
                               file.read_bytes())
    if csar.META not in members:
        members[csar.META] = _meta(path, definitions)
    return members


def _meta(path: Path, definitions: list[Path]) -> bytes:
    """The entry is the one file that no other imports."""
    imported = {name for file in definitions
                for name in typefiles.imports(typefiles.load(file))}
    entries = [file.name for file in definitions
               if file.name not in imported]
    if len(entries) != 1:
        raise _error(
            path.name, f'{csar.DEFINITIONS} has {len(entries)} files that '
            'no other imports', f'name one in {csar.META}')
    return meta(entries[0])


def meta(entry: str) -> bytes:
    """The content of TOSCA.meta for a file of Definitions."""
    return _META.format(entry=f'{csar.DEFINITIONS}/{entry}').encode()


def write(members: Members, target: Path) -> None:
    """Write a CSAR.

    :raises InvalidVnfd: the file cannot be written
    """
    try:
        with zipfile.ZipFile(target, 'w', zipfile.ZIP_DEFLATED) as archive:
            for name, content in _in_order(members):
                # Of 1980 and not of the file: the same bytes each time.
                info = zipfile.ZipInfo(name)
                info.external_attr = 0o644 << 16
                archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    except OSError as error:
        raise _error(target.name, f'it cannot be written ({error.strerror})',
                     'give another path') from error


def _in_order(members: Members) -> Iterator[tuple[str, bytes]]:
    """TOSCA.meta first, as in the CSAR specification."""
    for name in sorted(members, key=lambda name: (name != csar.META, name)):
        yield name, members[name]


def _error(file: str, rule: str, advice: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(file, rule, advice))
