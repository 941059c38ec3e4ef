# SPDX-License-Identifier: Apache-2.0

"""Tells threads that are ready to run and get no CPU time.

A policy and an affinity that read back right do not say that a thread runs:
the kernel may take a SCHED_DEADLINE thread for throttled with no timer that
ends it.  Only the CPU time of the thread tells.
"""

from collections.abc import Iterable
import contextlib
import dataclasses
import time

from nova_rt.machine.host import thread as threads

#: A thread that overran its runtime waits for the end of its period, and then
#: for others with earlier deadlines.
_PERIODS = 2
#: For timers that come late, as on hosts that are guests themselves.
_GRACE_SECONDS = 0.25
_POLL_SECONDS = 0.005


@dataclasses.dataclass(frozen=True, slots=True)
class _Sighting:
    """A thread that was ready to run, and its CPU time at *moment*."""

    ran_ns: int
    moment: float


class Watch:
    """Remembers how far threads had come, to compare with later.

    Without a memory each question about a throttled thread takes until the
    end of its period.
    """

    def __init__(self) -> None:
        self._seen: dict[int, _Sighting] = {}

    def forget(self) -> None:
        """Begin anew: ids of threads are used again."""
        self._seen = {}

    def note(self, threads_now: Iterable[int]) -> None:
        """Remember how far these threads are now."""
        for thread in threads_now:
            self._seen.pop(thread, None)
            with contextlib.suppress(OSError):
                found = _sighting(thread)
                if found is not None:
                    self._seen[thread] = found

    def starves(self, thread: int, period_us: int) -> bool:
        """Whether a thread is ready to run and got nothing for two periods.

        Waits as long as that is open.  A thread that sleeps, or has ended,
        does not starve.
        """
        with contextlib.suppress(OSError):
            return self._starves(thread, period_us)
        return False

    def _starves(self, thread: int, period_us: int) -> bool:
        first = _sighting(thread)
        if first is None:
            return False
        patience = _PERIODS * period_us / 1_000_000 + _GRACE_SECONDS
        earlier = self._seen.get(thread)
        if earlier is not None:
            if earlier.ran_ns == first.ran_ns:
                first = earlier
            elif first.moment - earlier.moment < patience:
                return False
        end = first.moment + patience
        while time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
            now = _sighting(thread)
            if now is None or now.ran_ns != first.ran_ns:
                return False
        return True


def _sighting(thread: int) -> _Sighting | None:
    """None for a thread that sleeps.

    :raises OSError: it has ended
    """
    moment = time.monotonic()
    if not threads.is_runnable(thread):
        return None
    return _Sighting(threads.ran_ns(thread), moment)
