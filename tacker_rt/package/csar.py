# SPDX-License-Identifier: Apache-2.0

"""The files of a VNF package: a CSAR, or the directory it is made from.

Members are named by their path in the package, with slashes.  A package is
someone else's: nothing is unpacked, and no more is read than a descriptor
can be long.
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

#: Bytes of the list of members.
_MAX_LIST = 5_000_000
#: Where zipfile has their number, and the length of the list.
_TOTAL, _SIZE = 4, 5
#: Of one member that is read for its hash.
MAX_UNPACKED = 100_000_000
_CHUNK = 1 << 16

#: What zipfile raises on archives that are damaged, encrypted or odd.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError,
               RuntimeError, NotImplementedError, ValueError, OSError,
               struct.error, IndexError)


@dataclasses.dataclass(frozen=True, slots=True)
class Package:
    """*path* is its name for messages; *packed* if it is a CSAR.

    *_open* gives the content of a member.
    """

    path: str
    packed: bool
    members: tuple[str, ...]
    _open: Callable[[str], BinaryIO]

    def name(self, member: str) -> str:
        """What a person calls a member."""
        return f'{self.path}/{member}'

    def read(self, member: str, found: list[problem.Problem]) -> bytes | None:
        """Its content; None with the problem left in *found*."""
        parts: list[bytes] = []
        if not self.feed(member, parts.append, found, files.MAX_BYTES):
            return None
        return b''.join(parts)

    def feed(self, member: str, take: Callable[[bytes], None],
             found: list[problem.Problem], limit: int = MAX_UNPACKED) -> bool:
        """Hand its content on in parts.

        :returns: False with the problem left in *found*
        """
        place = problem.Place(found, self.name(member))
        size = 0
        try:
            with self._open(member) as stream:
                while part := stream.read(_CHUNK):
                    size += len(part)
                    if size > limit:
                        place.say(f'it unpacks to more than {limit} bytes',
                                  'a descriptor is shorter; make the package '
                                  'anew')
                        return False
                    take(part)
        except _UNREADABLE as error:
            place.say(f'it cannot be read ({_reason(error)})',
                      'make the package anew')
            return False
        return True

    def in_folder(self, folder: str) -> list[str]:
        """YAML files that stand directly in *folder*, in order."""
        return [member for member in self.members
                if member.rpartition('/')[0] == folder
                and member.endswith(('.yaml', '.yml'))]


@contextlib.contextmanager
def opened(path: str, found: list[problem.Problem]) -> Iterator[Package]:
    """A package; what is wrong with its members is left in *found*.

    :raises InvalidVnfd: it cannot be read at all
    """
    if os.path.isdir(path):
        yield _directory(path, found)
        return
    try:
        _check_size(path)
        archive = zipfile.ZipFile(path)
    except _UNREADABLE as error:
        raise _failed(path, f'it is no CSAR ({_reason(error)})') from error
    with archive:
        yield _archive(path, archive, found)


def _check_size(path: str) -> None:
    """Looks at the count before the list, which may exceed memory, is read.

    :raises InvalidVnfd: there are too many
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise _failed(path, 'it is no CSAR (no regular file)')
    with open(path, 'rb') as stream:
        end = zipfile._EndRecData(stream)  # type: ignore[attr-defined]
    if end and (end[_TOTAL] > MAX_MEMBERS or end[_SIZE] > _MAX_LIST):
        raise _failed(path, f'it has more than {MAX_MEMBERS} members')


def is_package(path: str) -> bool:
    """A directory that a CSAR is made from, rather than one of VNFDs?"""
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
             found: list[problem.Problem]) -> Package:
    place = problem.Place(found, path)
    members: dict[str, zipfile.ZipInfo] = {}
    if len(archive.infolist()) > MAX_MEMBERS:
        # Those of an archive that lies about their number.
        raise _failed(path, f'it has more than {MAX_MEMBERS} members')
    for info in archive.infolist():
        rule = _odd(info, members)
        if rule:
            place.say(rule, 'make the package anew',
                      key=problem.name(info.filename))
        elif not info.is_dir():
            members[info.filename] = info

    def opened(member: str) -> BinaryIO:
        return cast(BinaryIO, archive.open(members[member]))

    return Package(path, True, tuple(sorted(members)), opened)


def _odd(info: zipfile.ZipInfo, before: Mapping[str, zipfile.ZipInfo]
         ) -> str | None:
    """Why a member is not to be unpacked, if so."""
    parts = info.filename.replace('\\', '/').split('/')
    if not parts[0] or '..' in parts or ':' in parts[0]:
        return 'it leaves the package'
    if stat.S_ISLNK(info.external_attr >> 16):
        return 'it is a symbolic link'
    if info.filename in before:
        return 'it is there twice'
    return None


def _directory(path: str, found: list[problem.Problem]) -> Package:
    place = problem.Place(found, path)
    members = []
    root = os.path.realpath(path)
    for folder, _, names in os.walk(path):
        for name in names:
            file = os.path.join(folder, name)
            member = os.path.relpath(file, path).replace(os.sep, '/')
            real = os.path.realpath(file)
            if os.path.commonpath((root, real)) != root:
                place.say('it leads out of the package', 'put a copy there',
                          key=problem.name(member))
            elif os.path.isfile(real):
                members.append(member)
        if len(members) > MAX_MEMBERS:
            raise _failed(path, f'it has more than {MAX_MEMBERS} members')

    def opened(member: str) -> BinaryIO:
        return open(os.path.join(path, member), 'rb')

    return Package(path, False, tuple(sorted(members)), opened)
