# SPDX-License-Identifier: Apache-2.0

"""Sees each file, process and connection that the code under test opens."""

import contextlib
import os
import pathlib
import sys

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
#: Events that change a file: the place of each path among the arguments, and
#: the place of the folder to which the path is relative.
_CHANGES = {
    'os.mkdir': ((0, 2),), 'os.rename': ((0, 2), (1, 3)),
    'os.link': ((0, 2), (1, 3)), 'os.symlink': ((1, 2),),
    'os.remove': ((0, 1),), 'os.rmdir': ((0, 1),),
    'os.truncate': ((0, None),), 'os.chmod': ((0, 2),),
    'os.chown': ((0, 3),)}
_NEVER = ('socket.connect', 'socket.getaddrinfo', 'urllib.Request',
          'subprocess.Popen', 'os.system', 'os.exec', 'os.fork',
          'os.posix_spawn', 'os.spawn')


class Watch:
    """Notes each access to a file that is not allowed; there is one watch.

    :ivar seen: what was noted, in words
    """

    def __init__(self, readable):
        """:param readable: folders of code and of types"""
        self.seen = []
        self._readable = [os.path.realpath(one) for one in readable]
        self._own = None
        sys.addaudithook(self._heed)

    @contextlib.contextmanager
    def over(self, *own):
        """In the block, code may touch only the paths below *own*."""
        self._own = tuple(map(os.path.realpath, own))
        try:
            yield
        finally:
            self._own = None

    def _heed(self, event, arguments):
        if self._own is None:
            return
        if event in _NEVER:
            self.seen.append(f'{event} {arguments[:2]}')
        elif event == 'open':
            path, _, flags = arguments
            self._look(event, path, -1, (flags or 0) & _WRITES)
        for place, folder in _CHANGES.get(event, ()):
            self._look(event, arguments[place],
                       -1 if folder is None else arguments[folder], True)

    def _look(self, event, path, folder, writes):
        if isinstance(path, int):
            return
        beside = os.getcwd() if folder == -1 else f'/proc/self/fd/{folder}'
        real = os.path.realpath(os.path.join(beside, os.fsdecode(path)))
        if not writes and not os.path.lexists(real):
            return  # Nothing is read, or it is below an open folder.
        allowed = self._own if writes else (*self._own, *self._readable)
        if not any(_below(real, one) for one in allowed):
            self.seen.append(f'{event} {real}, to write: {bool(writes)}')


def _below(path, folder):
    # A draft of a file is beside it: ".name.number".
    draft = pathlib.PurePath(folder)
    return (path == folder or path.startswith(folder + os.sep)
            or path.startswith(str(draft.with_name(f'.{draft.name}.'))))
