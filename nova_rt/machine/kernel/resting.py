# SPDX-License-Identifier: Apache-2.0

"""Finds the moments at which SCHED_DEADLINE threads are best changed.

A throttled thread has used up its runtime, and gets its next runtime at its
deadline.  If the thread gets new values while it is throttled, the new values
take effect at this deadline.  No period then has a part of the old runtime and
a part of the new one, so neither the thread nor another thread on its old or
new pCPU loses anything.  The same is true for a thread that sleeps, because
the kernel checks the rest of the runtime against the new values when the
thread wakes up (Abeni and Buttazzo, "Integrating multimedia applications in
hard real-time systems", 1998).
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
