# SPDX-License-Identifier: Apache-2.0

"""What the kernel admits of SCHED_DEADLINE, and what of that is taken."""

from collections.abc import Callable, Collection, Iterator
import contextlib
import functools
import os
import pathlib
import re
from typing import NamedTuple

from nova_rt.host import cgroup
from nova_rt.host import cpulist
from nova_rt.host import sched
from nova_rt import reservation

#: The name for [nova_rt] kernel_interface; it is never detected.
NAME = 'sched_deadline'

#: The kernel counts bandwidth in 1/2^20 of a CPU, truncated.
UNIT = 1 << 20
SYSCTL = '/proc/sys/kernel/sched_rt_{}_us'
PERIOD_SYSCTL = '/proc/sys/kernel/sched_deadline_period_{}_us'
#: On cgroup v2 the root group has not the CPUs of partitions.
EFFECTIVE = 'cpuset.cpus.effective'

#: Servers of other classes, the first kernel that has them, and what is
#: there if it was built with them.
SERVERS = (('fair_server', (6, 12), '/sys'),
           ('ext_server', (7, 0), '/sys/kernel/sched_ext'))
#: What each takes of a CPU unless somebody changed it: 50 ms every second.
_SERVER = (50_000_000, 1_000_000_000)
_PF_KTHREAD = 0x00200000


class Held(NamedTuple):
    """What threads have of all CPUs, in units."""

    ours: int
    others: int


class Admission:
    """The kernel's rule: one sum for all CPUs of the root domain.

    Guests are taken to run in the root domain of all CPUs that are online
    and neither isolated nor in a partition of cgroup v2.

    :param mount: of the hierarchy of the cpu controller
    :param read_server: (server, CPU, name) to the number in that file of
        /sys/kernel/debug/sched, which is root's
    :param read_total: CPU to the units that the kernel counts in the root
        domain of it, which is root's too
    """

    def __init__(self, fs: cgroup.CgroupFS, mount: str,
                 read_server: Callable[[str, int, str], int],
                 read_total: Callable[[int], int]) -> None:
        self._fs = fs
        self._mount = mount
        self._read_server = read_server
        self._read_total = read_total

    def cpus(self) -> tuple[int, ...]:
        """The CPUs of the root domain.

        :raises OSError, ValueError: they cannot be told
        """
        found = set(cpulist.parse_ids(self._fs.read(cpulist.ONLINE)))
        found.difference_update(self._optional(cpulist.ISOLATED) or ())
        effective = self._optional(os.path.join(self._mount, EFFECTIVE))
        return tuple(sorted(found.intersection(effective or found)))

    def ppm(self, held: Held, pinned: bool = False) -> int:
        """What is left of each CPU, in ppm.

        Where claims keep to it on each CPU, the kernel admits them.

        :param pinned: our threads are kept on one CPU each: those of others
            may come to any of them, and count on all
        :raises OSError, ValueError: it cannot be told
        """
        ids = self.cpus()
        if not ids:
            return 0
        servers = [self._held_by(*server, ids) for server in SERVERS]
        counted = self._counted(held, ids, servers)
        # One of them runs, be it counted or not.
        left = min(len(ids) * self._limit() - counted,
                   len(ids) * UNIT - max(servers))
        each = left // len(ids) - held.others if pinned else (
            (left - held.others) // len(ids))
        # The most ppm that are, truncated to units, not more than these.
        return -(-(max(0, each) + 1) * reservation.PPM // UNIT) - 1

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

    def _counted(self, held: Held, ids: tuple[int, ...],
                 servers: list[int]) -> int:
        """Units of the servers that the kernel counts in its sum.

        Those of 6.12 are not once a root domain was rebuilt, and later
        kernels only count the ones in use.  Where the kernel does not tell,
        all are.
        """
        try:
            rest = self._read_total(ids[0]) - held.ours - held.others
        except (OSError, ValueError):
            return sum(servers)
        counted = 0
        for each in servers:
            if counted + each <= rest:
                counted += each
        return counted

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
            return cpulist.parse_ids(self._fs.read(path))
        except FileNotFoundError:
            return ()


def units(runtime: int, period: int) -> int:
    """A bandwidth as the kernel counts it; both in the same unit."""
    return runtime * UNIT // period if period else 0


def held(ours: Collection[int]) -> Held:
    """Units that the threads of this machine hold.

    :param ours: the threads that are
    """
    found = {True: 0, False: 0}
    for thread in _threads():
        with contextlib.suppress(OSError):
            if _is_charged(thread):
                policy = sched.get(thread)
                found[thread in ours] += units(policy.runtime, policy.period)
    return Held(found[True], found[False])


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
    return policy == sched.SCHED_DEADLINE and not _flags(thread) & _PF_KTHREAD


def _flags(thread: int) -> int:
    text = pathlib.Path(f'/proc/{thread:d}/stat').read_text()
    return int(text.rpartition(')')[2].split()[6])


def _version() -> tuple[int, int]:
    match = re.match(r'([0-9]+)\.([0-9]+)', os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)
