# SPDX-License-Identifier: Apache-2.0

"""Makes a CSAR that Tacker can on-board from a directory.

The module adds TOSCA.meta and the type files that Definitions imports, so that
people need not write these files.  The same directory always gives the same
bytes.
"""

from collections.abc import Iterator
import io
import os
from pathlib import Path
import shutil
import stat
from typing import BinaryIO
import zipfile

from tacker_rt import exception
from tacker_rt.package import csar
from tacker_rt.package import metadata
from tacker_rt import problem
from tacker_rt.vnfd import typefiles

_META = ('TOSCA-Meta-File-Version: 1.0\n'
         'Created-By: tacker-rt\n'
         'CSAR-Version: 1.1\n'
         'Entry-Definitions: {entry}\n')

_LEFT_OUT = '__pycache__'
_MODE, _MODE_OF_SCRIPTS = 0o644, 0o755

#: Images often have gigabytes, so files are copied in parts.
_CHUNK = 1 << 20
_HUGE = 1 << 31

#: The content of a package by path: bytes, or the file that has them.
Members = dict[str, bytes | Path]


def directory(path: Path, etsi: Path | None = None,
              warnings: list[problem.Problem] | None = None) -> Members:
    """Returns the members of a package, with the files that are missing.

    :param etsi: the directory of the types of SOL001, by default of Tacker
    :param warnings: gets a problem for each file that is left out, or that a
        manifest does not list
    :raises InvalidVnfd: when the directory cannot be packed
    """
    problems: list[problem.Problem] = []
    with csar.opened(str(path), problems) as package:
        definitions = package.in_folder(csar.DEFINITIONS)
        members: Members = {
            name: path / name for name in package.members
            if _LEFT_OUT not in name.split('/')}
        manifest = metadata.manifest(package)
    if problems:
        raise exception.InvalidVnfd(problem=problems[0])
    if not definitions:
        raise _error(path.name, f'{csar.DEFINITIONS} has no YAML files',
                     'put the VNFD into this folder')
    for vnfd in definitions:
        for name, file in typefiles.collect(path, vnfd, etsi).items():
            members.setdefault(name, file)
    if csar.META not in members:
        members[csar.META] = _meta(path, definitions)
    if warnings is not None:
        _warn(warnings, path, members, manifest)
    return members


def _warn(warnings: list[problem.Problem], path: Path, members: Members,
          manifest: str | None) -> None:
    """Warns about files that only the directory or only the package has."""
    place = problem.Place(warnings, path.name)
    for folder, folders, files in sorted(os.walk(path)):
        name = os.path.relpath(folder, path).replace(os.sep, '/')
        if name.split('/')[-1] == _LEFT_OUT:
            place.say('this folder is left out', 'rename the folder if the '
                      'VNF needs it', key=problem.name(name))
        elif not (folders or files):
            place.say('an empty folder is left out', 'put a file into the '
                      'folder if the VNF needs it', key=problem.name(name))
    added = sorted(name for name in members
                   if not (path / name).is_file())
    for name in added if manifest else ():
        place.say(f'{manifest} does not list this file', 'put the file into '
                  'the package and list it in the manifest, before the '
                  'manifest is signed', key=problem.name(name))


def _meta(path: Path, definitions: list[str]) -> bytes:
    """Returns TOSCA.meta; the entry is the file that no other file imports.

    :raises InvalidVnfd: when there is no such file, or several
    """
    imported = {typefiles.below(file, name) for file in definitions
                for name in typefiles.imports(typefiles.load(path / file))}
    entries = [file for file in definitions if file not in imported]
    if len(entries) != 1:
        raise _error(
            path.name, f'{csar.DEFINITIONS} has {len(entries)} files that '
            'no other file imports, instead of one',
            f'name the VNFD in {csar.META}')
    return meta(entries[0])


def meta(entry: str) -> bytes:
    """Returns the content of TOSCA.meta for a VNFD.

    :param entry: the path of the VNFD in the package
    """
    return _META.format(entry=entry).encode()


def write(members: Members, target: Path) -> None:
    """Writes a CSAR; on an error, an older file at *target* stays.

    :raises InvalidVnfd: when the file cannot be written, or is one of
        *members*
    """
    _check(members, target)
    draft = target.with_name(f'.{target.name}.{os.getpid()}')
    try:
        try:
            _write(members, draft)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise _error(target.name, f'the file cannot be written '
                     f'({error.strerror})', 'give another path') from error


def _check(members: Members, target: Path) -> None:
    for name, content in members.items():
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise _error(problem.name(name), 'the name of the file is not '
                         'UTF-8 text', 'rename the file') from error
        if (isinstance(content, Path) and target.exists()
                and content.samefile(target)):
            raise _error(target.name, 'this path is one of the files to '
                         'pack', 'give a path outside of the package')


def _write(members: Members, target: Path) -> None:
    with zipfile.ZipFile(target, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in _in_order(members):
            # ZipInfo dates from 1980, not from the file, so that the same
            # directory gives the same bytes.
            info = zipfile.ZipInfo(name)
            info.external_attr = _mode(content) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            with (archive.open(info, 'w', force_zip64=_is_huge(content))
                  as stream, _opened(content) as source):
                shutil.copyfileobj(source, stream, _CHUNK)


def _mode(content: bytes | Path) -> int:
    """Returns the rights with which Tacker unpacks a file.

    Scripts stay executable.
    """
    runs = (isinstance(content, Path)
            and content.stat().st_mode & stat.S_IXUSR)
    return _MODE_OF_SCRIPTS if runs else _MODE


def _is_huge(content: bytes | Path) -> bool:
    return isinstance(content, Path) and content.stat().st_size > _HUGE


def _opened(content: bytes | Path) -> BinaryIO:
    return (io.BytesIO(content) if isinstance(content, bytes)
            else content.open('rb'))


def _in_order(members: Members) -> Iterator[tuple[str, bytes | Path]]:
    """Yields the members with TOSCA.meta first, as the standard requires."""
    for name in sorted(members, key=lambda name: (name != csar.META, name)):
        yield name, members[name]


def _error(file: str, rule: str, advice: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(file, rule, advice))
