# SPDX-License-Identifier: Apache-2.0

"""Finds threads that are always ready to run but get less than their share.

:mod:`nova_rt.machine.kernel.starving` finds threads that get no CPU time at
all.
"""

from collections.abc import Collection, Iterable, Mapping
import contextlib
import dataclasses
import time

from nova_rt.machine.host import sched
from nova_rt.machine.host import thread as threads
from nova_rt.rules import reservation

#: How many periods at the ends of an observation do not count: a thread may
#: wait for almost two periods between two runtimes.
_PERIODS = 2
#: The time for timers that come late, as on hosts that are virtual machines.
_GRACE_SECONDS = 0.25
#: How much of its share a thread has to get, in per cent.
_LEAST_PER_CENT = 90


@dataclasses.dataclass(frozen=True, slots=True)
class Sighting:
    """A thread that has a reservation and is ready to run.

    :ivar ran_ns: its CPU time, read after *begin* and before *end*; other
        threads may have run for long between the two times
    :ivar pauses: how often the thread gave up its CPU by itself
    """

    wanted: reservation.Reservation
    ran_ns: int
    pauses: int
    begin: float
    end: float


def is_short(first: Sighting, last: Sighting) -> bool:
    """Checks whether a thread got too little between two observations.

    :returns: False if the thread has slept meanwhile, because the kernel owes
        nothing to a thread that sleeps, or if its reservation has changed
    """
    if (first.wanted, first.pauses) != (last.wanted, last.pauses):
        return False
    wanted = first.wanted
    seconds = (last.begin - first.end - _GRACE_SECONDS
               - _PERIODS * wanted.period_us / 1_000_000)
    owed_ns = (seconds * 1_000_000_000 * wanted.runtime_us
               / wanted.period_us)
    return last.ran_ns - first.ran_ns < owed_ns * _LEAST_PER_CENT / 100


class Ledger:
    """Remembers observations of threads, to compare them later."""

    def __init__(self) -> None:
        self._seen: dict[int, Sighting] = {}

    @property
    def threads(self) -> Collection[int]:
        """The observed threads: each was ready and had a reservation."""
        return tuple(self._seen)

    def forget(self, thread: int) -> None:
        """Forgets a thread, because its reservation changes."""
        self._seen.pop(thread, None)

    def note(self, threads_now: Iterable[int]) -> list[int]:
        """Remembers these threads and forgets all others.

        :returns: the threads that got too little since the last call
        """
        before, self._seen = self._seen, {}
        for thread in threads_now:
            # A kernel that does not tell how often a thread slept is no
            # reason to stop an audit.
            with contextlib.suppress(OSError, ValueError):
                sighting = _sighting(thread)
                if sighting is not None:
                    self._seen[thread] = sighting
        return [thread for thread, last in self._seen.items()
                if thread in before and is_short(before[thread], last)]


def find(wanted: Mapping[int, reservation.Reservation]) -> list[int]:
    """Observes threads as long as needed; returns those that get too little.

    :param wanted: the reservations of the threads
    """
    ledger = Ledger()
    ledger.note(wanted)
    if ledger.threads:
        time.sleep(seconds_for(wanted[thread] for thread in ledger.threads))
    return ledger.note(ledger.threads)


def seconds_for(wanted: Iterable[reservation.Reservation]) -> float:
    """Returns how long to observe threads until a shortfall shows."""
    longest = max((one.period_us for one in wanted), default=0)
    return 1 + _GRACE_SECONDS + 2 * _PERIODS * longest / 1_000_000


def _sighting(thread: int) -> Sighting | None:
    """Returns an observation of a thread; None if the thread is not ready.

    :raises OSError: when the thread has ended
    """
    policy = sched.get(thread)
    if not policy.is_deadline or not threads.is_runnable(thread):
        return None
    pauses, begin = threads.pauses(thread), time.monotonic()
    return Sighting(reservation.Reservation(policy.runtime // 1000,
                                            policy.period // 1000),
                    threads.ran_ns(thread), pauses, begin, time.monotonic())
