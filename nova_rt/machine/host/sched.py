# SPDX-License-Identifier: Apache-2.0

"""SCHED_DEADLINE of one thread: sched_getattr(2) and sched_setattr(2).

:func:`start` and :func:`stop` are what ``nova_rt.machine.privsep`` calls with
privileges; nothing else of this package changes anything.
"""

from collections.abc import Callable
import contextlib
import ctypes
import dataclasses
import errno
import functools
import os
import sys

from nova_rt.machine.host import thread as thread_state

#: As in ``linux/sched.h``; Python has no name for it.
SCHED_DEADLINE = 6
_RESET_ON_FORK, _RECLAIM = 1, 2

#: (sched_setattr, sched_getattr) by machine, all of 64 bits.
NUMBERS = {
    'aarch64': (274, 275), 'loongarch64': (274, 275), 'ppc64': (355, 356),
    'ppc64le': (355, 356), 'riscv64': (274, 275), 's390x': (345, 346),
    'x86_64': (314, 315),
}

#: A bandwidth of nothing: (runtime, period) in us, see :func:`stop`.  The
#: kernel takes no runtime below 1024 ns and no period above 2^22 us.
NOTHING = (2, 1 << 22)


class _Attributes(ctypes.Structure):
    """``struct sched_attr`` with all fields kernels know of today."""

    _fields_ = (
        ('size', ctypes.c_uint32), ('policy', ctypes.c_uint32),
        ('flags', ctypes.c_uint64), ('nice', ctypes.c_int32),
        ('priority', ctypes.c_uint32), ('runtime', ctypes.c_uint64),
        ('deadline', ctypes.c_uint64), ('period', ctypes.c_uint64),
        ('util_min', ctypes.c_uint32), ('util_max', ctypes.c_uint32))


#: The first version of the structure, which all kernels take.
_SIZE = _Attributes.util_min.offset


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """How a thread is scheduled.

    :ivar runtime: in ns, 0 unless *number* is SCHED_DEADLINE; so are
        *deadline* and *period*
    :ivar reclaims: it may use what others leave (SCHED_FLAG_RECLAIM)
    """

    number: int
    priority: int = 0
    runtime: int = 0
    deadline: int = 0
    period: int = 0
    reclaims: bool = False

    @property
    def is_deadline(self) -> bool:
        return self.number == SCHED_DEADLINE

    def grants(self, runtime_us: int, period_us: int) -> bool:
        """Whether it is just this runtime in every period."""
        period = period_us * 1000
        return self == Policy(SCHED_DEADLINE, 0, runtime_us * 1000, period,
                              period)


def get(thread: int) -> Policy:
    """How a thread is scheduled; needs no privileges.

    :raises OSError: ESRCH where the thread is gone
    """
    found = _Attributes()
    _call('sched_getattr', thread, ctypes.byref(found),
          ctypes.sizeof(found), 0)
    if found.policy != SCHED_DEADLINE:
        # A fair task has its slice in the field of the runtime.
        return Policy(found.policy, found.priority)
    return Policy(found.policy, 0, found.runtime, found.deadline,
                  found.period, bool(found.flags & _RECLAIM))


def start(thread: int, runtime_us: int, period_us: int,
          reclaim: bool = False) -> None:
    """Make a thread SCHED_DEADLINE, or change what it has.

    What it forks is ordinary: without that fork(2) and clone(2) would fail.

    :param reclaim: it may use what others leave, as no guest of ours does
    :raises OSError: EBUSY where the kernel has no bandwidth for it, EPERM
        where its affinity leaves out CPUs of its root domain, EINVAL for
        values out of the kernel's range, ESRCH where it is gone
    """
    period = period_us * 1000
    wanted = _Attributes(
        size=_SIZE, policy=SCHED_DEADLINE,
        flags=_RESET_ON_FORK | (_RECLAIM if reclaim else 0),
        runtime=runtime_us * 1000, deadline=period, period=period)
    _call('sched_setattr', thread, ctypes.byref(wanted), 0)


def stop(thread: int) -> None:
    """Make a thread SCHED_OTHER, whatever it is.

    A thread that can run gives its bandwidth back by itself, at its 0-lag
    time (``kernel/sched/deadline.c``), and must not be given less before: a
    throttled thread would count as throttled until that time, which
    :data:`NOTHING` puts off by 2 s for each us that the thread ran too long.

    :raises OSError: ESRCH where it is gone, else the kernel's errno
    """
    old = get(thread)
    if old.is_deadline and not thread_state.is_runnable(thread):
        # Kernels (6.18 at least) never return the bandwidth of a thread
        # that leaves SCHED_DEADLINE while it sleeps, as the vCPUs of a
        # paused guest do.  A change within SCHED_DEADLINE counts at once:
        # first down to nothing.
        with contextlib.suppress(OSError):
            start(thread, *NOTHING)
            if thread_state.is_runnable(thread):  # it woke up meanwhile
                start(thread, old.runtime // 1000, old.period // 1000)
    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def _call(name: str, thread: int, *arguments: object) -> None:
    if _function(name)(ctypes.c_int(thread), *arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def _function(name: str) -> Callable[..., int]:
    """The function of the C library, or its syscall(2) in the place of it.

    :raises OSError: ENOSYS where neither is known
    """
    library = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, name):  # glibc 2.41
        found: Callable[..., int] = getattr(library, name)
        return found
    machine = os.uname().machine
    if machine not in NUMBERS or sys.maxsize < 2 ** 32:
        raise OSError(
            errno.ENOSYS, f'the C library has no {name}, and its number on '
            f'{machine} is not known here; glibc 2.41 has it')
    number = NUMBERS[machine][name == 'sched_getattr']
    return functools.partial(library.syscall, ctypes.c_long(number))
