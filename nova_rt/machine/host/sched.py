# SPDX-License-Identifier: Apache-2.0

"""Makes one thread SCHED_DEADLINE: sched_getattr(2) and sched_setattr(2).

``machine.privsep`` calls :func:`start` and :func:`stop` with privileges.
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

#: As in ``linux/sched.h``; not all versions of Python have a name for it.
SCHED_DEADLINE = 6
_RESET_ON_FORK, _RECLAIM = 1, 2

#: The numbers of (sched_setattr, sched_getattr) by machine; all machines have
#: 64 bits.
NUMBERS = {
    'aarch64': (274, 275), 'loongarch64': (274, 275), 'ppc64': (355, 356),
    'ppc64le': (355, 356), 'riscv64': (274, 275), 's390x': (345, 346),
    'x86_64': (314, 315),
}

#: The smallest bandwidth, as (runtime, period) in us; see :func:`stop`.  The
#: kernel refuses a runtime below 1024 ns and a period above 2^22 us.
NOTHING = (2, 1 << 22)


class _Attributes(ctypes.Structure):
    """``struct sched_attr`` with all fields that kernels have today."""

    _fields_ = (
        ('size', ctypes.c_uint32), ('policy', ctypes.c_uint32),
        ('flags', ctypes.c_uint64), ('nice', ctypes.c_int32),
        ('priority', ctypes.c_uint32), ('runtime', ctypes.c_uint64),
        ('deadline', ctypes.c_uint64), ('period', ctypes.c_uint64),
        ('util_min', ctypes.c_uint32), ('util_max', ctypes.c_uint32))


#: The size of the first version of the structure, which all kernels accept.
_SIZE = _Attributes.util_min.offset


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """How a thread is scheduled.

    :ivar runtime: in ns; 0 unless *number* is SCHED_DEADLINE
    :ivar deadline: as *runtime*
    :ivar period: as *runtime*
    :ivar reclaims: whether the thread may use bandwidth that others leave
        (SCHED_FLAG_RECLAIM)
    """

    number: int
    priority: int = 0
    runtime: int = 0
    deadline: int = 0
    period: int = 0
    reclaims: bool = False

    @property
    def is_deadline(self) -> bool:
        """True for SCHED_DEADLINE."""
        return self.number == SCHED_DEADLINE

    def grants(self, runtime_us: int, period_us: int) -> bool:
        """Checks whether the policy grants exactly this runtime and period."""
        period = period_us * 1000
        return self == Policy(SCHED_DEADLINE, 0, runtime_us * 1000, period,
                              period)


def get(thread: int) -> Policy:
    """Returns how a thread is scheduled; needs no privileges.

    :raises OSError: ESRCH when the thread is gone
    """
    attributes = _Attributes()
    _call('sched_getattr', thread, ctypes.byref(attributes),
          ctypes.sizeof(attributes), 0)
    if attributes.policy != SCHED_DEADLINE:
        # A fair task has its slice in the field of the runtime.
        return Policy(attributes.policy, attributes.priority)
    return Policy(attributes.policy, 0, attributes.runtime,
                  attributes.deadline, attributes.period,
                  bool(attributes.flags & _RECLAIM))


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
    wanted = _Attributes(
        size=_SIZE, policy=SCHED_DEADLINE,
        flags=_RESET_ON_FORK | (_RECLAIM if reclaim else 0),
        runtime=runtime_us * 1000, deadline=period, period=period)
    _call('sched_setattr', thread, ctypes.byref(wanted), 0)


def stop(thread: int) -> None:
    """Makes a thread SCHED_OTHER, whatever its policy is.

    The kernel takes the bandwidth of a runnable thread back at the 0-lag time
    of the thread (``kernel/sched/deadline.c``).  The thread must not get a
    smaller bandwidth before: a throttled thread would stay throttled until
    its 0-lag time, which :data:`NOTHING` moves 2 s away for each us that the
    thread overran its runtime.

    :raises OSError: ESRCH when the thread is gone, else the kernel's errno
    """
    old = get(thread)
    if old.is_deadline and not thread_state.is_runnable(thread):
        # Kernels (at least 6.18) never take back the bandwidth of a thread
        # that leaves SCHED_DEADLINE while it sleeps, as the vCPUs of a paused
        # guest do.  A change within SCHED_DEADLINE counts at once, so the
        # thread first gets the smallest bandwidth.
        with contextlib.suppress(OSError):
            start(thread, *NOTHING)
            if thread_state.is_runnable(thread):  # It woke up meanwhile.
                start(thread, old.runtime // 1000, old.period // 1000)
    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def _call(name: str, thread: int, *arguments: object) -> None:
    if _function(name)(ctypes.c_int(thread), *arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def _function(name: str) -> Callable[..., int]:
    """Returns a function of the C library, or its syscall(2) instead.

    :raises OSError: ENOSYS when neither is known
    """
    library = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, name):  # since glibc 2.41
        function: Callable[..., int] = getattr(library, name)
        return function
    machine = os.uname().machine
    if machine not in NUMBERS or sys.maxsize < 2 ** 32:
        raise OSError(
            errno.ENOSYS, f'the C library has no {name}, and the number of '
            f'this system call on {machine} is not known; use glibc 2.41 or '
            f'newer')
    number = NUMBERS[machine][name == 'sched_getattr']
    return functools.partial(library.syscall, ctypes.c_long(number))
