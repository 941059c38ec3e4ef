# SPDX-License-Identifier: Apache-2.0

"""Makes a thread SCHED_DEADLINE by sched_setattr(2), and ordinary again.

In the services, only ``nova_rt.machine.privsep`` calls this module.  Commands
that root runs call it directly.  ``nova_rt.machine.host.sched`` reads how a
thread is scheduled.
"""

import contextlib
import ctypes
import os

from nova_rt.machine.host import sched
from nova_rt.machine.host import thread as thread_state

#: The smallest bandwidth, as (runtime, period) in us; see :func:`stop`.  The
#: kernel refuses a runtime below 1024 ns and a period above 2^22 us.
SMALLEST = (2, 1 << 22)


def start(thread: int, runtime_us: int, period_us: int,
          reclaim: bool = False) -> None:
    """Makes a thread SCHED_DEADLINE, or changes its runtime and period.

    Tasks that the thread forks are ordinary: otherwise fork(2) and clone(2)
    would fail.

    :param reclaim: whether the thread may use bandwidth that others leave;
        guests of nova-rt never do
    :raises OSError: EBUSY when the kernel has no bandwidth for the thread,
        EPERM when its affinity leaves out CPUs of its root domain, EINVAL
        when a value is out of the kernel's range, ESRCH when the thread is
        gone
    """
    period = period_us * 1000
    wanted = sched.Attributes(
        size=sched.SIZE, policy=sched.SCHED_DEADLINE,
        flags=sched.RESET_ON_FORK | (sched.RECLAIM if reclaim else 0),
        runtime=runtime_us * 1000, deadline=period, period=period)
    sched.call('sched_setattr', thread, ctypes.byref(wanted), 0)


def stop(thread: int) -> None:
    """Makes a thread SCHED_OTHER, whatever its policy is.

    The kernel takes the bandwidth of a runnable thread back at the 0-lag time
    of the thread (``kernel/sched/deadline.c``).  The thread must not get a
    smaller bandwidth before it becomes ordinary.  With a smaller bandwidth the
    0-lag time is later: with :data:`SMALLEST` by 2 s for each us of the
    overrun.  A throttled thread would stay throttled for this time.

    :raises OSError: ESRCH when the thread is gone, else the kernel's errno
    """
    old = sched.get(thread)
    if old.is_deadline and not thread_state.is_runnable(thread):
        # Kernels (at least 6.18) never take back the bandwidth of a thread
        # that leaves SCHED_DEADLINE while it sleeps, as the vCPUs of a paused
        # guest do.  A change within SCHED_DEADLINE counts at once, so the
        # thread first gets the smallest bandwidth.
        with contextlib.suppress(OSError):
            start(thread, *SMALLEST)
            if thread_state.is_runnable(thread):  # It is awake.
                start(thread, old.runtime // 1000, old.period // 1000)
    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
