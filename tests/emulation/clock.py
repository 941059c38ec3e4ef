# SPDX-License-Identifier: Apache-2.0

"""A clock whose time passes only when somebody sleeps."""

from collections.abc import Iterator
import contextlib
import threading
import time
from unittest import mock

from nova_rt.machine.kernel import tree
from rt_hcbs import fragile


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


@contextlib.contextmanager
def waiting(clock: Clock) -> Iterator[None]:
    """Lets the kernel interfaces wait by *clock*."""
    with (mock.patch.object(tree, 'time', clock),
          mock.patch.object(fragile, 'time', clock)):
        yield
