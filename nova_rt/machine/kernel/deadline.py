# SPDX-License-Identifier: Apache-2.0

"""What the kernel admits of SCHED_DEADLINE, and what of that is taken."""

from collections.abc import Callable, Collection, Iterable, Sequence
import contextlib
import functools
import os
import posixpath
import re
from typing import NamedTuple

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import files
from nova_rt.machine.host import proc
from nova_rt.machine.host import sched
from nova_rt.rules import cpulist
from nova_rt.rules import reservation

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
_VCPU = re.compile(r'vcpu[0-9]+')
#: Of threads in a sentence.
_SHOWN = 3


class Other(NamedTuple):
    """A thread that is SCHED_DEADLINE and no vCPU of a guest.

    :ivar units: what it holds of all CPUs
    :ivar reclaims: it may use what others leave (SCHED_FLAG_RECLAIM)
    """

    thread: int
    name: str
    units: int
    reclaims: bool = False

    def __str__(self) -> str:
        return f'{self.thread} {self.name}'


class Admission:
    """The kernel's rule: one sum for all CPUs of the root domain.

    Guests are taken to run in the root domain of all CPUs that are online
    and neither isolated nor in a partition of cgroup v2.

    :param mount: of the hierarchy of the cpu controller
    :param read_server: (server, CPU, name) to the number in that file of
        /sys/kernel/debug/sched, which is root's
    """

    def __init__(self, fs: cgroup.CgroupFS, mount: str,
                 read_server: Callable[[str, int, str], int]) -> None:
        self._fs = fs
        self._mount = mount
        self._read_server = read_server

    def cpus(self) -> tuple[int, ...]:
        """The CPUs of the root domain.

        :raises OSError, ValueError: they cannot be told
        """
        found = set(cpulist.parse_ids(self._fs.read(cpulist.ONLINE)))
        found.difference_update(self._optional(cpulist.ISOLATED) or ())
        effective = self._optional(os.path.join(self._mount, EFFECTIVE))
        return tuple(sorted(found.intersection(effective or found)))

    def ppm(self, found: Collection[Other]) -> int:
        """What is left of each CPU, in ppm.

        Where claims keep to it on each CPU, the kernel admits them.  All
        servers that the kernel has are charged.  Which of them its own sum
        has changes by itself: Linux 6.12 forgets them whenever it rebuilds
        a root domain.

        :param found: may come to any CPU, and count on all
        :raises OSError, ValueError: it cannot be told, or nothing is sure
        """
        ids = self.cpus()
        if not ids:
            return 0
        _check(found)
        servers = sum(self._held_by(*server, ids) for server in SERVERS)
        each = ((len(ids) * self._limit() - servers) // len(ids)
                - sum(other.units for other in found))
        # The most ppm that are, truncated to units, not more than these.
        return -(-(max(0, each) + 1) * reservation.PPM // UNIT) - 1

    def periods(self) -> tuple[int, int]:
        """The least and the longest period in us.

        :raises OSError, ValueError: they cannot be told
        """
        return (int(self._fs.read(PERIOD_SYSCTL.format('min'))),
                int(self._fs.read(PERIOD_SYSCTL.format('max'))))

    def recount(self) -> None:
        """Have the kernel sum up anew what threads have.

        Linux does that (rebuild_sched_domains) whenever somebody reads or
        writes this number, since 6.12 (``sched_rt_handler`` in
        ``kernel/sched/rt.c``).  It leaves out a thread that has ended or
        become ordinary and whose 0-lag time is to come, and takes what that
        one had from the sum once more at that time: the sum is too small
        then, or below zero, which refuses whatever is smaller.
        """
        with contextlib.suppress(OSError):
            self._fs.read(SYSCTL.format('runtime'))

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
            return cpulist.parse_ids(self._fs.read(path))
        except FileNotFoundError:
            return ()


def units(runtime: int, period: int) -> int:
    """A bandwidth as the kernel counts it; both in the same unit."""
    return runtime * UNIT // period if period else 0


def is_vcpu(group: str) -> bool:
    """Whether a group is what libvirt makes for a vCPU of a guest."""
    return (group.startswith(tuple(f'{each}/' for each in cgroup.PARTITIONS))
            and bool(_VCPU.fullmatch(posixpath.basename(group))))


def look(controller: str) -> list[Other]:
    """Those of this machine; see :func:`others`."""
    host = files.Host()
    return others(host, proc.by_deadline(host), controller)


def others(host: files.Host, tasks: Iterable[proc.Task], controller: str
           ) -> list[Other]:
    """Those of *tasks*, which are SCHED_DEADLINE, that are no vCPUs.

    The kernel does not count its own, of the frequency governor.

    :param controller: of the hierarchy that shows vCPUs; '' for cgroup v2
    """
    found = []
    for task in tasks:
        if not task.kernel and not is_vcpu(
                proc.group_of(host, task, controller)):
            with contextlib.suppress(ProcessLookupError):
                found.append(_other(task))
    return found


def warnings(found: Collection[Other]) -> list[str]:
    """What they do to reservations, in sentences.

    They are called by their names only: a service may have others each time.
    """
    names = sorted({each.name for each in found if not each.reclaims})
    texts = [f'Threads of others are SCHED_DEADLINE ({_some(names)}); what '
             f'they hold is taken from each pCPU.'] if names else []
    names = sorted({each.name for each in found if each.reclaims})
    return texts + [
        f'Threads of others are SCHED_DEADLINE with SCHED_FLAG_RECLAIM '
        f'({_some(names)}); servers may get less than they have reserved.'
        ] * bool(names)


def _some(names: Sequence[str]) -> str:
    """The first ones."""
    return ', '.join([*names[:_SHOWN], '...'][:len(names)])


def _other(task: proc.Task) -> Other:
    policy = sched.get(task.thread)
    return Other(task.thread, task.comm,
                 units(policy.runtime, policy.period), policy.reclaims)


def _check(found: Collection[Other]) -> None:
    """:raises OSError: one of them takes what reservations hold"""
    names = [str(each) for each in found if each.reclaims]
    if names:
        raise OSError(
            f'threads of others are SCHED_DEADLINE with SCHED_FLAG_RECLAIM '
            f'({_some(names)}), which takes from reservations '
            f'on kernels such as 6.12; have their services do without the '
            f'flag, or end them')


def _version() -> tuple[int, int]:
    match = re.match(r'([0-9]+)\.([0-9]+)', os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)
