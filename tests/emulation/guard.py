# SPDX-License-Identifier: Apache-2.0

"""A lock of a kernel that may die."""

import threading
from typing import NoReturn


class HostDied(BaseException):
    """An action that would kill the real kernel, or damage it for good.

    This is not an Exception, so that code under test cannot take it for a
    refusal.
    """


class Guard:
    """A lock that nobody gets any more once the kernel is dead.

    :ivar reason: why the kernel died, None while it lives
    """

    def __init__(self) -> None:
        self._mutex = threading.RLock()
        self.reason: str | None = None

    def __enter__(self) -> None:
        self._mutex.acquire()
        if self.reason is not None:
            self._mutex.release()
            raise HostDied(self.reason)

    def __exit__(self, *exc: object) -> None:
        self._mutex.release()

    def die(self, reason: str) -> NoReturn:
        """Makes the kernel dead, and raises HostDied."""
        self.reason = reason
        raise HostDied(reason)
