# SPDX-License-Identifier: Apache-2.0

"""SCHED_DEADLINE: the system calls, and what the kernel admits.

Nothing here changes a thread but :func:`start` and :func:`stop`, which
``nova_rt.privsep`` calls with privileges.
"""

from collections.abc import Callable, Collection, Iterator
import contextlib
import ctypes
import dataclasses
import errno
import functools
import os
import pathlib
import re
import sys

from nova_rt import cpus
from nova_rt.kernel import base
from nova_rt import reservation

#: As in ``linux/sched.h``; Python has no name for it.
SCHED_DEADLINE = 6
_RESET_ON_FORK = 1

#: (sched_setattr, sched_getattr) by machine, all of 64 bits.
NUMBERS = {
    'aarch64': (274, 275), 'loongarch64': (274, 275), 'ppc64': (355, 356),
    'ppc64le': (355, 356), 'riscv64': (274, 275), 's390x': (345, 346),
    'x86_64': (314, 315),
}

#: The kernel counts bandwidth in 1/2^20 of a CPU, truncated.
UNIT = 1 << 20
#: A bandwidth of 0 units, see :func:`stop`.
_NOTHING = (reservation.MIN_RUNTIME_US, reservation.MAX_PERIOD_US)

SYSCTL = '/proc/sys/kernel/sched_rt_{}_us'
PERIOD_SYSCTL = '/proc/sys/kernel/sched_deadline_period_{}_us'
ONLINE = '/sys/devices/system/cpu/online'
ISOLATED = '/sys/devices/system/cpu/isolated'
#: On cgroup v2 the root group has not the CPUs of partitions.
EFFECTIVE = 'cpuset.cpus.effective'

#: Servers of other classes, the first kernel that has them, and what is
#: there if it was built with them.
SERVERS = (('fair_server', (6, 12), '/sys'),
           ('ext_server', (7, 0), '/sys/kernel/sched_ext'))
#: What each takes of a CPU unless somebody changed it: 50 ms every second.
_SERVER = (50_000_000, 1_000_000_000)
_PF_KTHREAD = 0x00200000


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
    """

    number: int
    priority: int = 0
    runtime: int = 0
    deadline: int = 0
    period: int = 0

    @property
    def is_deadline(self) -> bool:
        return self.number == SCHED_DEADLINE

    @property
    def bandwidth(self) -> int:
        """In ppm of one CPU, rounded up; 0 unless it is SCHED_DEADLINE."""
        if not self.is_deadline:
            return 0
        return reservation.Reservation(self.runtime, self.period).bandwidth

    def grants(self, runtime_us: int, period_us: int) -> bool:
        """Whether it is just this runtime in every period."""
        period = period_us * 1000
        return self == Policy(SCHED_DEADLINE, 0, runtime_us * 1000, period,
                              period)


# The system calls.

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
                  found.period)


def start(thread: int, runtime_us: int, period_us: int) -> None:
    """Make a thread SCHED_DEADLINE, or change what it has.

    What it forks is ordinary: without that fork(2) and clone(2) would fail.

    :raises OSError: EBUSY where the kernel has no bandwidth for it, EPERM
        where its affinity leaves out CPUs of its root domain, EINVAL for
        values out of the kernel's range, ESRCH where it is gone
    """
    period = period_us * 1000
    wanted = _Attributes(
        size=_SIZE, policy=SCHED_DEADLINE, flags=_RESET_ON_FORK,
        runtime=runtime_us * 1000, deadline=period, period=period)
    _call('sched_setattr', thread, ctypes.byref(wanted), 0)


def stop(thread: int) -> None:
    """Make a thread SCHED_OTHER, whatever it is.

    :raises OSError: ESRCH where it is gone, else the kernel's errno
    """
    if get(thread).is_deadline:
        # Kernels (6.18 at least) never return the bandwidth of a thread
        # that leaves SCHED_DEADLINE while it sleeps, as the vCPUs of a
        # paused guest do, and that of a running one a period later.  A
        # change within SCHED_DEADLINE counts at once: first down to nothing.
        with contextlib.suppress(OSError):
            start(thread, *_NOTHING)
    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))


def _call(name: str, thread: int, *arguments: object) -> None:
    if _function(name)(ctypes.c_int(thread), *arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@functools.cache
def _function(name: str) -> Callable[..., int]:
    """Of the C library, or through its syscall(2).

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


# What the kernel admits.

class Admission:
    """The kernel's rule: one sum for all CPUs of the root domain.

    Guests are taken to run in the root domain of all CPUs that are online
    and neither isolated nor in a partition of cgroup v2.

    :param mount: of the hierarchy of the cpu controller
    :param read_server: (server, CPU, name) to the number in that file of
        /sys/kernel/debug/sched, which is root's
    """

    def __init__(self, fs: base.CgroupFS, mount: str,
                 read_server: Callable[[str, int, str], int]) -> None:
        self._fs = fs
        self._mount = mount
        self._read_server = read_server

    def cpus(self) -> tuple[int, ...]:
        """The CPUs of the root domain.

        :raises OSError, ValueError: they cannot be told
        """
        found = set(cpus.parse_ids(self._fs.read(ONLINE)))
        found.difference_update(self._optional(ISOLATED) or ())
        effective = self._optional(os.path.join(self._mount, EFFECTIVE))
        return tuple(sorted(found.intersection(effective or found)))

    def ppm(self, others: int) -> int:
        """What is left of each CPU, in ppm.

        Where claims keep to it on each CPU, the kernel admits them.

        :param others: units held by threads that are not ours
        :raises OSError, ValueError: it cannot be told
        """
        ids = self.cpus()
        left = len(ids) * self._limit() - others - sum(
            self._held_by(*server, ids) for server in SERVERS)
        # The most ppm that are, truncated to units, not more than these.
        each = max(0, left // len(ids)) if ids else 0
        return -(-(each + 1) * reservation.PPM // UNIT) - 1

    def periods(self) -> tuple[int, int]:
        """The least and the longest period in us.

        :raises OSError, ValueError: they cannot be told
        """
        return (int(self._fs.read(PERIOD_SYSCTL.format('min'))),
                int(self._fs.read(PERIOD_SYSCTL.format('max'))))

    def _limit(self) -> int:
        """Units of each CPU that all of SCHED_DEADLINE may have."""
        runtime = int(self._fs.read(SYSCTL.format('runtime')))
        if runtime < 0:
            raise OSError(
                'kernel.sched_rt_runtime_us is -1, which turns the admission '
                'of SCHED_DEADLINE off; set it to 950000')
        return units(runtime, int(self._fs.read(SYSCTL.format('period'))))

    def _held_by(self, server: str, since: tuple[int, int], sign: str,
                 ids: tuple[int, ...]) -> int:
        """Units of a server on all CPUs."""
        read = functools.partial(self._read_server, server)
        try:
            return sum(units(read(cpu, 'runtime'), read(cpu, 'period'))
                       for cpu in ids)
        except (OSError, ValueError):
            # Not mounted, locked down, or there is none.
            there = _version() >= since and os.path.exists(sign)
            return len(ids) * units(*_SERVER) if there else 0

    def _optional(self, path: str) -> tuple[int, ...]:
        try:
            return cpus.parse_ids(self._fs.read(path))
        except FileNotFoundError:
            return ()


def units(runtime: int, period: int) -> int:
    """A bandwidth as the kernel counts it; both in the same unit."""
    return runtime * UNIT // period if period else 0


def held(ours: Collection[int]) -> int:
    """Units that the threads of this machine hold, all but *ours*."""
    found = 0
    for thread in _threads():
        with contextlib.suppress(OSError):
            if thread not in ours and _is_charged(thread):
                policy = get(thread)
                found += units(policy.runtime, policy.period)
    return found


def _threads() -> Iterator[int]:
    for process in os.listdir('/proc'):
        if process.isdigit():
            with contextlib.suppress(OSError):
                yield from map(int, os.listdir(f'/proc/{process}/task'))


def _is_charged(thread: int) -> bool:
    """Whether it is SCHED_DEADLINE and counted.

    The threads of the frequency governor are not.
    """
    policy = os.sched_getscheduler(thread) & ~os.SCHED_RESET_ON_FORK
    return policy == SCHED_DEADLINE and not _flags(thread) & _PF_KTHREAD


def _flags(thread: int) -> int:
    text = pathlib.Path(f'/proc/{thread:d}/stat').read_text()
    return int(text.rpartition(')')[2].split()[6])


def _version() -> tuple[int, int]:
    match = re.match(r'([0-9]+)\.([0-9]+)', os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)
