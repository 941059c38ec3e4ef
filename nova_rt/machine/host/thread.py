# SPDX-License-Identifier: Apache-2.0

"""Reads the state, the flags and the CPU time of one thread from /proc.

:mod:`nova_rt.machine.host.sched` reads how a thread is scheduled.
"""

import errno
import os
import pathlib
import re

#: Flags of ``include/linux/sched.h``: a thread of the kernel itself, and
#: threads that the kernel runs in a process: workers of io_uring since 5.12,
#: and workers of KVM and vhost since 6.4.
KTHREAD = 0x0020_0000
_IO_WORKER = 0x0000_0010
_USER_WORKER = 0x0000_4000

#: Fields of /proc/TID/stat, counted from the one after the name.
_STATE, _FLAGS, _UTIME, _STIME = 0, 6, 11, 12
_RUNNABLE = 'R'
_NS = 1_000_000_000

#: How often a thread has waited for something other than a CPU.
_PAUSES = re.compile(r'^voluntary_ctxt_switches:\s*([0-9]+)', re.MULTILINE)
#: The rest of a runtime in ns, as ``kernel/sched/debug.c`` prints it.
_LEFT = re.compile(r'^dl\.runtime\s*:\s*(-?[0-9]+)', re.MULTILINE)


def flags(thread: int) -> int:
    """Returns the PF_ flags of a thread.

    :raises OSError: ESRCH or ENOENT when the thread has ended
    """
    return int(_stat(thread)[_FLAGS])


def is_worker(thread: int) -> bool:
    """Checks if a thread of a process is a worker that the kernel runs.

    KVM and vhost have workers in QEMU, in the control group of the vCPU that
    made them.

    :returns: False for a thread that has ended
    """
    try:
        thread_flags = flags(thread)
    except OSError:
        return False
    return bool(thread_flags & (KTHREAD | _IO_WORKER | _USER_WORKER))


def is_runnable(thread: int) -> bool:
    """Checks whether a thread runs, waits for a CPU, or is throttled.

    :raises OSError: ESRCH or ENOENT when the thread has ended
    """
    return _stat(thread)[_STATE] == _RUNNABLE


def ran_ns(thread: int) -> int:
    """Returns the CPU time that a thread has had, in ns.

    If the kernel has no schedstat, the time is counted in clock ticks.

    :raises OSError: ESRCH or ENOENT when the thread has ended
    """
    try:
        exact = int(_read(thread, 'schedstat').split()[0])
    except FileNotFoundError:
        exact = 0
    if exact:
        return exact
    fields = _stat(thread)
    ticks = int(fields[_UTIME]) + int(fields[_STIME])
    return ticks * _NS // os.sysconf('SC_CLK_TCK')


def pauses(thread: int) -> int:
    """Returns how often a thread has given up its CPU by itself.

    The number stays the same while a thread is always ready to run, even if
    the thread is throttled or others run before it.

    :raises OSError: ESRCH or ENOENT when the thread has ended
    :raises ValueError: when the kernel does not show the number
    """
    match = _PAUSES.search(_read(thread, 'status'))
    if match is None:
        raise ValueError(f'/proc/{thread}/status has no number of voluntary '
                         f'context switches')
    return int(match[1])


def overrun_ns(thread: int) -> int:
    """Returns how long a SCHED_DEADLINE thread overran its runtime, in ns.

    :returns: 0 if the kernel was built without SCHED_DEBUG and does not tell
    :raises OSError: ESRCH or ENOENT when the thread has ended
    """
    try:
        text = _read(thread, 'sched')
    except FileNotFoundError:
        return 0
    left = _LEFT.search(text)
    return max(0, -int(left[1])) if left else 0


def rests(thread: int) -> bool:
    """Checks whether a SCHED_DEADLINE thread is throttled or sleeps.

    A throttled thread has used up its runtime, and waits for the end of its
    period.  If the kernel does not tell, a runnable thread counts as not
    throttled.

    :raises OSError: ESRCH or ENOENT when the thread has ended
    """
    return overrun_ns(thread) > 0 or not is_runnable(thread)


def _stat(thread: int) -> list[str]:
    """Returns the fields after the name, which may have any characters."""
    return _read(thread, 'stat').rpartition(')')[2].split()


def _read(thread: int, name: str) -> str:
    directory = pathlib.Path(f'/proc/{thread:d}/task/{thread:d}')
    if not directory.exists():
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return (directory / name).read_text()
