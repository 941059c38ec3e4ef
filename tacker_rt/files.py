# SPDX-License-Identifier: Apache-2.0

"""Reads files that people name, and checks names of files in descriptors.

A descriptor may come from an untrusted person.  A name in it must not lead out
of the folder of the descriptor, and only regular files that are not too long
are read.
"""

import os
import posixpath
import stat

from tacker_rt import exception
from tacker_rt import problem

#: The longest file that is read; no descriptor is longer.
MAX_BYTES = 10_000_000


def below(folder: str, name: str) -> str | None:
    """Returns the path of the file *name* in *folder*; None if outside.

    Paths have slashes and are relative to the top folder, which is ''.
    """
    path = posixpath.normpath(posixpath.join(folder, name))
    if (not name.isprintable() or '\\' in name or path.startswith('/')
            or path.split('/')[0] in ('', '.', '..')):
        return None
    return path


def is_address(name: str) -> bool:
    """Tells whether a parser of TOSCA would fetch *name* as an address.

    A name with a colon is never the name of a file.
    """
    return ':' in name


def is_plain(name: str) -> bool:
    """Tells whether *name* is a file name without a folder."""
    return '/' not in name and below('', name) == name


def read(path: str | os.PathLike[str], name: str) -> bytes:
    """Returns the content of a file.

    :param name: the name of the file in messages
    :raises InvalidVnfd: when *path* is not a regular file, is too long, or
        cannot be read
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _refused(name, 'this is not a regular file',
                           'give the path of a file')
        with open(path, 'rb') as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise _refused(name, f'the file cannot be read ({reason})',
                       'give the path of a file') from error
    if len(data) > MAX_BYTES:
        raise _refused(name, f'the file has more than {MAX_BYTES} bytes',
                       'give a shorter file')
    return data


def _refused(name: str, rule: str, advice: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(name, rule, advice))
