# SPDX-License-Identifier: Apache-2.0

"""One thread as /proc shows it: its state, its flags and its CPU time.

How a thread is scheduled is in :mod:`nova_rt.machine.host.sched`.
"""

import errno
import os
import pathlib
import re

#: Flags of ``include/linux/sched.h``: a thread of the kernel itself, and one
#: that the kernel runs in a process (KVM's and vhost's workers since 6.4,
#: those of io_uring since 5.12 by the first flag).
KTHREAD = 0x0020_0000
_IO_WORKER = 0x0000_0010
_USER_WORKER = 0x0000_4000

#: Fields of /proc/TID/stat, counted from the one after the name.
_STATE, _FLAGS, _UTIME, _STIME = 0, 6, 11, 12
_RUNNABLE = 'R'
_NS = 1_000_000_000

#: In ns, as ``kernel/sched/debug.c`` prints what is left of a runtime.
_LEFT = re.compile(r'^dl\.runtime\s*:\s*(-?[0-9]+)', re.MULTILINE)


def flags(thread: int) -> int:
    """The PF_ flags of a thread.

    :raises OSError: ESRCH or ENOENT where the thread has ended
    """
    return int(_stat(thread)[_FLAGS])


def is_worker(thread: int) -> bool:
    """Whether the kernel itself runs a thread in the name of its process.

    KVM and vhost have such threads in QEMU, in the control group of the
    vCPU that made them.  False for a thread that has ended.
    """
    try:
        found = flags(thread)
    except OSError:
        return False
    return bool(found & (KTHREAD | _IO_WORKER | _USER_WORKER))


def is_runnable(thread: int) -> bool:
    """Whether a thread runs or waits for a CPU, throttled ones included.

    :raises OSError: ESRCH or ENOENT where the thread has ended
    """
    return _stat(thread)[_STATE] == _RUNNABLE


def ran_ns(thread: int) -> int:
    """The CPU time that a thread has had, in ns.

    By ticks of the clock where the kernel has no schedstat.

    :raises OSError: ESRCH or ENOENT where the thread has ended
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


def overrun_ns(thread: int) -> int:
    """How long a SCHED_DEADLINE thread ran beyond its runtime, in ns.

    0 where the kernel was built without SCHED_DEBUG, which does not tell.

    :raises OSError: ESRCH or ENOENT where the thread has ended
    """
    try:
        text = _read(thread, 'sched')
    except FileNotFoundError:
        return 0
    left = _LEFT.search(text)
    return max(0, -int(left[1])) if left else 0


def _stat(thread: int) -> list[str]:
    """The fields after the name, which may hold blanks and brackets."""
    return _read(thread, 'stat').rpartition(')')[2].split()


def _read(thread: int, name: str) -> str:
    directory = pathlib.Path(f'/proc/{thread:d}/task/{thread:d}')
    if not directory.exists():
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return (directory / name).read_text()
