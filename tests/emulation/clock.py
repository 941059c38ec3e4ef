# SPDX-License-Identifier: Apache-2.0

"""Time that passes only when somebody sleeps."""

import threading
import time


class Clock:
    """Stands in for the module ``time`` where production code sleeps."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds

    def monotonic(self) -> float:
        return self.now

    @staticmethod
    def clock_getres(clock: int) -> float:
        """Of the real clock: the granularity is not emulated."""
        return time.clock_getres(clock)
