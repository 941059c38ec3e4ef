# SPDX-License-Identifier: Apache-2.0

"""A clock whose time passes only when somebody sleeps."""

import threading
import time


class Clock:
    """Takes the place of the module ``time`` where production code sleeps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        """Lets time pass."""
        with self._lock:
            self.now += seconds

    def monotonic(self) -> float:
        """Returns the time."""
        return self.now

    @staticmethod
    def clock_getres(clock: int) -> float:
        """Returns that of the real clock: granularity is not emulated."""
        return time.clock_getres(clock)
