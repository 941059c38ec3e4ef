# SPDX-License-Identifier: Apache-2.0

"""Reads how a thread is scheduled, by sched_getattr(2).

``machine.sched_setattr`` changes how a thread is scheduled.
"""

from collections.abc import Callable
import ctypes
import dataclasses
import errno
import functools
import os
import sys

#: As in ``linux/sched.h``; not all versions of Python have a name for it.
SCHED_DEADLINE = 6
#: Flags of :class:`Attributes`.
RESET_ON_FORK, RECLAIM = 1, 2

#: The numbers of (sched_setattr, sched_getattr) by machine; all machines have
#: 64 bits.
NUMBERS = {
    'aarch64': (274, 275), 'loongarch64': (274, 275), 'ppc64': (355, 356),
    'ppc64le': (355, 356), 'riscv64': (274, 275), 's390x': (345, 346),
    'x86_64': (314, 315),
}


class Attributes(ctypes.Structure):
    """``struct sched_attr`` with all fields that kernels have today."""

    _fields_ = (
        ('size', ctypes.c_uint32), ('policy', ctypes.c_uint32),
        ('flags', ctypes.c_uint64), ('nice', ctypes.c_int32),
        ('priority', ctypes.c_uint32), ('runtime', ctypes.c_uint64),
        ('deadline', ctypes.c_uint64), ('period', ctypes.c_uint64),
        ('util_min', ctypes.c_uint32), ('util_max', ctypes.c_uint32))


#: The size of the first version of the structure, which all kernels accept.
SIZE = Attributes.util_min.offset


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """The way in which a thread is scheduled.

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
    attributes = Attributes()
    call('sched_getattr', thread, ctypes.byref(attributes),
         ctypes.sizeof(attributes), 0)
    if attributes.policy != SCHED_DEADLINE:
        # A fair task has its slice in the field of the runtime.
        return Policy(attributes.policy, attributes.priority)
    return Policy(attributes.policy, 0, attributes.runtime,
                  attributes.deadline, attributes.period,
                  bool(attributes.flags & RECLAIM))


def call(name: str, thread: int, *arguments: object) -> None:
    """Calls a function of the C library for a thread.

    :raises OSError: when the call fails, with its errno
    """
    if _function(name)(ctypes.c_int(thread), *arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def _function(name: str) -> Callable[..., int]:
    """Returns a function of the C library, or one that uses syscall(2).

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
