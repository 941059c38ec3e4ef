# SPDX-License-Identifier: Apache-2.0

"""Names of files that a descriptor gives, and files that people give.

A descriptor is someone else's: a name in it must not lead out of the folder
that it came in, and what a name leads to is read only if it is a regular
file of a descriptor's length.
"""

import os
import posixpath
import stat

from tacker_rt import exception
from tacker_rt import problem

#: No descriptor is longer.
MAX_BYTES = 10_000_000


def below(folder: str, name: str) -> str | None:
    """The path that *name* means in *folder*, or None where it leads out.

    Paths have slashes and begin at the top folder, which itself is ''.
    """
    path = posixpath.normpath(posixpath.join(folder, name))
    if (not name.isprintable() or '\\' in name or path.startswith('/')
            or path.split('/')[0] in ('', '.', '..')):
        return None
    return path


def is_address(name: str) -> bool:
    """Would a parser of TOSCA fetch it?  No file has a colon in its name."""
    return ':' in name


def is_plain(name: str) -> bool:
    """The name of a file in the folder itself, rather than a path?"""
    return '/' not in name and below('', name) == name


def read(path: str | os.PathLike[str], name: str) -> bytes:
    """The content of a file, *name* in messages.

    :raises InvalidVnfd: it is no regular file, too long, or not readable
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _refused(name, 'it is no regular file', 'give a file')
        with open(path, 'rb') as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise _refused(name, f'it cannot be read ({reason})',
                       'give a file') from error
    if len(data) > MAX_BYTES:
        raise _refused(name, f'it has more than {MAX_BYTES} bytes',
                       'a descriptor is shorter')
    return data


def _refused(name: str, rule: str, advice: str) -> exception.InvalidVnfd:
    return exception.InvalidVnfd(problem=problem.Problem(name, rule, advice))
