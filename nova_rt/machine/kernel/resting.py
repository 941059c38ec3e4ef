# SPDX-License-Identifier: Apache-2.0

"""Finds the moments at which SCHED_DEADLINE threads are best changed.

While a thread is throttled, it has used up its old runtime, and gets its next
runtime at its deadline.  New values that the thread gets while it is throttled
hold from this deadline on, so that no period has a part of the old runtime and
a part of the new one: neither the thread nor others on its old or new pCPU
lose anything.  The same is true for a thread that sleeps, because the kernel
checks the rest of its runtime against the new values when it wakes up (Abeni
and Buttazzo, "Integrating multimedia applications in hard real-time systems",
1998).
"""

from collections.abc import Collection, Iterator
import time

from nova_rt.machine.host import thread as threads

_POLL_SECONDS = 0.001


def first_resting(waiting: Collection[int], seconds: float) -> Iterator[int]:
    """Yields each thread as soon as it is throttled or sleeps.

    :param seconds: after this time the remaining threads are yielded, too
    """
    pending = list(waiting)
    end = time.monotonic() + seconds
    while pending:
        late = time.monotonic() > end
        ready = [thread for thread in pending if late or _rests(thread)][:1]
        for thread in ready:
            pending.remove(thread)
            yield thread
        if not ready:
            time.sleep(_POLL_SECONDS)


def _rests(thread: int) -> bool:
    """Checks whether a thread rests, or has ended."""
    try:
        return threads.rests(thread)
    except OSError:
        return True
