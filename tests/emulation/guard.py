# SPDX-License-Identifier: Apache-2.0

"""Mutual exclusion on a kernel that may die."""

import threading
from typing import NoReturn


class HostDied(BaseException):
    """What was done killed the real kernel, or harmed it for good.

    No Exception: code under test must not take it for a refusal.
    """


class Guard:
    """A lock that nobody gets any more once the kernel is dead.

    :ivar reason: what it died of, None while it lives
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
        self.reason = reason
        raise HostDied(reason)
