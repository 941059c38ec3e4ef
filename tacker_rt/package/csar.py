# SPDX-License-Identifier: Apache-2.0

"""The files of a VNF package: a CSAR, or the directory of one.

Members are named by their path in the package, with slashes.  A package may
come from an untrusted person.  Therefore a package is never unpacked to the
disk, and a member is read only up to the largest size of a descriptor.
"""

from collections.abc import Callable, Iterator, Mapping
import contextlib
import dataclasses
import lzma
import os
import stat
import struct
from typing import BinaryIO, cast
import zipfile
import zlib

from tacker_rt import exception
from tacker_rt import files
from tacker_rt import problem

MAX_MEMBERS = 10_000
META = 'TOSCA-Metadata/TOSCA.meta'
DEFINITIONS = 'Definitions'
BASE_HOT = 'BaseHOT'

#: The longest list of members in bytes.
_MAX_LIST = 5_000_000
#: Where zipfile has the number of members, and the length of the list.
_TOTAL, _SIZE = 4, 5
#: The most bytes of a member that are read for its hash.
MAX_UNPACKED = 100_000_000
_CHUNK = 1 << 16

#: The errors that zipfile raises for damaged, encrypted or odd archives.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError,
               RuntimeError, NotImplementedError, ValueError, OSError,
               struct.error, IndexError)


@dataclasses.dataclass(frozen=True, slots=True)
class Package:
    """A package.

    :ivar path: the name of the package for messages
    :ivar packed: whether it is a CSAR, not a directory
    :ivar _open: opens a member for reading
    """

    path: str
    packed: bool
    members: tuple[str, ...]
    _open: Callable[[str], BinaryIO]

    def name(self, member: str) -> str:
        """Returns the name of a member for messages."""
        return f'{self.path}/{member}'

    def read(self, member: str, problems: list[problem.Problem]
             ) -> bytes | None:
        """Returns the content of a member.

        :returns: None if it cannot be read, with the problem in *problems*
        """
        parts: list[bytes] = []
        if not self.feed(member, parts.append, problems, files.MAX_BYTES):
            return None
        return b''.join(parts)

    def feed(self, member: str, take: Callable[[bytes], None],
             problems: list[problem.Problem], limit: int = MAX_UNPACKED
             ) -> bool:
        """Passes the content of a member to *take*, in parts.

        :returns: False if it cannot be read, with the problem in *problems*
        """
        place = problem.Place(problems, self.name(member))
        size = 0
        try:
            with self._open(member) as stream:
                while part := stream.read(_CHUNK):
                    size += len(part)
                    if size > limit:
                        place.say(f'the file unpacks to more than {limit} '
                                  'bytes', 'make the package again with a '
                                  'shorter file')
                        return False
                    take(part)
        except _UNREADABLE as error:
            place.say(f'the file cannot be read ({_reason(error)})',
                      'make the package again')
            return False
        return True

    def in_folder(self, folder: str) -> list[str]:
        """Returns the YAML files directly in *folder*, in order."""
        return [member for member in self.members
                if member.rpartition('/')[0] == folder
                and member.endswith(('.yaml', '.yml'))]


@contextlib.contextmanager
def opened(path: str, problems: list[problem.Problem]) -> Iterator[Package]:
    """Opens a package; problems of its members are added to *problems*.

    :raises InvalidVnfd: when the package cannot be read at all
    """
    if os.path.isdir(path):
        yield _directory(path, problems)
        return
    try:
        _check_size(path)
        archive = zipfile.ZipFile(path)
    except _UNREADABLE as error:
        raise _failed(path, f'this is not a CSAR ({_reason(error)})'
                      ) from error
    with archive:
        yield _archive(path, archive, problems)


def _check_size(path: str) -> None:
    """Checks the number of members before their list is read.

    The list of a hostile package may be larger than the memory.

    :raises InvalidVnfd: when there are too many members
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _failed(path, 'this is not a CSAR (not a regular file)')
    with open(path, 'rb') as stream:
        end = zipfile._EndRecData(stream)  # type: ignore[attr-defined]
    if end and (end[_TOTAL] > MAX_MEMBERS or end[_SIZE] > _MAX_LIST):
        raise _failed(path, f'the package has more than {MAX_MEMBERS} files')


def is_package(path: str) -> bool:
    """Tells whether a directory is a package, not a folder of VNFDs."""
    return (os.path.isdir(os.path.join(path, DEFINITIONS))
            or os.path.isdir(os.path.join(path, os.path.dirname(META))))


def _failed(path: str, rule: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(
        path, rule, 'give a VNFD, the directory of a package, or a CSAR'))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return problem.name(str(error)) if str(error) else type(error).__name__


def _archive(path: str, archive: zipfile.ZipFile,
             problems: list[problem.Problem]) -> Package:
    place = problem.Place(problems, path)
    members: dict[str, zipfile.ZipInfo] = {}
    if len(archive.infolist()) > MAX_MEMBERS:
        # An archive can lie about the number of its members.
        raise _failed(path, f'the package has more than {MAX_MEMBERS} files')
    for info in archive.infolist():
        rule = _odd(info, members)
        if rule:
            place.say(rule, 'make the package again',
                      key=problem.name(info.filename))
        elif not info.is_dir():
            members[info.filename] = info

    def opened(member: str) -> BinaryIO:
        return cast(BinaryIO, archive.open(members[member]))

    return Package(path, True, tuple(sorted(members)), opened)


def _odd(info: zipfile.ZipInfo, before: Mapping[str, zipfile.ZipInfo]
         ) -> str | None:
    """Returns why a member must not be unpacked; None if it may be."""
    parts = info.filename.replace('\\', '/').split('/')
    if not parts[0] or '..' in parts or ':' in parts[0]:
        return 'the name leads out of the package'
    if stat.S_ISLNK(info.external_attr >> 16):
        return 'the file is a symbolic link'
    if info.filename in before:
        return 'the package has this file twice'
    return None


def _directory(path: str, problems: list[problem.Problem]) -> Package:
    place = problem.Place(problems, path)
    members = []
    root = os.path.realpath(path)
    for folder, _, names in os.walk(path):
        for name in names:
            file = os.path.join(folder, name)
            member = os.path.relpath(file, path).replace(os.sep, '/')
            real = os.path.realpath(file)
            if os.path.commonpath((root, real)) != root:
                place.say('the link leads out of the package',
                          'replace the link by a copy of the file',
                          key=problem.name(member))
            elif os.path.isfile(real):
                members.append(member)
        if len(members) > MAX_MEMBERS:
            raise _failed(path, f'the package has more than {MAX_MEMBERS} '
                          f'files')

    def opened(member: str) -> BinaryIO:
        return open(os.path.join(path, member), 'rb')

    return Package(path, False, tuple(sorted(members)), opened)
