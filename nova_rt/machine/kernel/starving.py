# SPDX-License-Identifier: Apache-2.0

"""Finds threads that are ready to run but get no CPU time.

A thread with the right policy and affinity may still not run: the kernel may
treat a SCHED_DEADLINE thread as throttled without a timer that ends the
throttling.  Only the CPU time of the thread shows whether it runs.
"""

from collections.abc import Iterable
import contextlib
import dataclasses
import time

from nova_rt.machine.host import thread as threads

#: How many periods a thread may wait.  A thread that overran its runtime waits
#: for the end of its period, and then for others with earlier deadlines.
_PERIODS = 2
#: The time for timers that come late, as on hosts that are virtual machines.
_GRACE_SECONDS = 0.25
_POLL_SECONDS = 0.005


@dataclasses.dataclass(frozen=True, slots=True)
class _Sighting:
    """A thread that was ready to run, and its CPU time at *moment*."""

    ran_ns: int
    moment: float


class Watch:
    """Remembers the CPU times of threads, to compare them later.

    Without a remembered time, each check of a throttled thread waits for the
    end of its period.
    """

    def __init__(self) -> None:
        self._seen: dict[int, _Sighting] = {}

    def forget(self) -> None:
        """Forgets all CPU times, because ids of threads are used again."""
        self._seen = {}

    def note(self, threads_now: Iterable[int]) -> None:
        """Remembers the CPU times that these threads have now."""
        for thread in threads_now:
            self._seen.pop(thread, None)
            with contextlib.suppress(OSError):
                sighting = _sighting(thread)
                if sighting is not None:
                    self._seen[thread] = sighting

    def starves(self, thread: int, period_us: int) -> bool:
        """Checks if a thread is ready but got no CPU time for two periods.

        Waits until the answer is certain.  A thread that sleeps or has ended
        does not starve.
        """
        with contextlib.suppress(OSError):
            return self._starves(thread, period_us)
        return False

    def _starves(self, thread: int, period_us: int) -> bool:
        first = now = _sighting(thread)
        if first is None or now is None:
            return False
        patience = _PERIODS * period_us / 1_000_000 + _GRACE_SECONDS
        earlier = self._seen.get(thread)
        if earlier is not None:
            if earlier.ran_ns == now.ran_ns:
                first = earlier
            elif now.moment - earlier.moment < patience:
                return False
        # On a busy host this process may wake up late.  So the end of the wait
        # alone proves nothing: the last reading is always made after the end.
        while now.moment < first.moment + patience:
            time.sleep(_POLL_SECONDS)
            now = _sighting(thread)
            if now is None or now.ran_ns != first.ran_ns:
                return False
        return True


def _sighting(thread: int) -> _Sighting | None:
    """Returns an observation of a thread; None if the thread sleeps.

    :raises OSError: when the thread has ended
    """
    moment = time.monotonic()
    if not threads.is_runnable(thread):
        return None
    return _Sighting(threads.ran_ns(thread), moment)
