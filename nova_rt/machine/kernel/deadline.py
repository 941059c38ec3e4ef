# SPDX-License-Identifier: Apache-2.0

"""Computes how much SCHED_DEADLINE bandwidth the kernel admits.

The module also finds the SCHED_DEADLINE threads that are not vCPUs of guests.
"""

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

#: The name for [nova_rt] kernel_interface, which no entry point has.
NAME = 'sched_deadline'

#: The kernel counts bandwidth in 1/2^20 of a CPU, truncated.
UNIT = 1 << 20
SYSCTL = '/proc/sys/kernel/sched_rt_{}_us'
PERIOD_SYSCTL = '/proc/sys/kernel/sched_deadline_period_{}_us'
#: On cgroup v2, this file of the root group leaves out CPUs of partitions.
EFFECTIVE = 'cpuset.cpus.effective'
#: On kernels with this file, the budget of the root group is a part of the
#: bandwidth of SCHED_DEADLINE.
_MAX = 'cpu.rt.max'

#: Deadline servers of other scheduling classes: the name, the first kernel
#: that has the server, and a path that exists if the kernel was built with the
#: server.
SERVERS = (('fair_server', (6, 12), '/sys'),
           ('ext_server', (7, 0), '/sys/kernel/sched_ext'))
#: The default (runtime, period) of each such server on a CPU, in ns.
_SERVER = (50_000_000, 1_000_000_000)
_VCPU = re.compile(r'vcpu[0-9]+')
#: How many threads a sentence names.
_SHOWN = 3


class Other(NamedTuple):
    """A SCHED_DEADLINE thread that is not a vCPU of a guest.

    :ivar units: its bandwidth, in units of the kernel
    :ivar reclaims: whether the thread may use bandwidth that others leave
        (SCHED_FLAG_RECLAIM)
    """

    thread: int
    name: str
    units: int
    reclaims: bool = False

    def __str__(self) -> str:
        return f'{self.thread} {self.name}'


class Admission:
    """The kernel's rule: one sum for all CPUs of the root domain.

    Guests are assumed to run in the root domain with all CPUs that are online
    and neither isolated nor in a partition of cgroup v2.

    :param mount: the mount point of the hierarchy of the controller cpu
    :param read_server: a function of (server, CPU, name) that returns the
        number in a file of /sys/kernel/debug/sched, which only root may read
    """

    def __init__(self, fs: cgroup.CgroupFS, mount: str,
                 read_server: Callable[[str, int, str], int]) -> None:
        self._fs = fs
        self._mount = mount
        self._read_server = read_server

    def cpus(self) -> tuple[int, ...]:
        """Returns the CPUs of the root domain.

        :raises OSError: when a file cannot be read
        :raises ValueError: when a file has no list of CPUs
        """
        ids = set(cpulist.parse_ids(self._fs.read(cpulist.ONLINE)))
        ids.difference_update(self._optional(cpulist.ISOLATED) or ())
        effective = self._optional(os.path.join(self._mount, EFFECTIVE))
        return tuple(sorted(ids.intersection(effective or ids)))

    def ppm(self, others: Collection[Other]) -> int:
        """Returns the bandwidth that is left on each CPU, in ppm.

        The kernel admits claims that stay within this limit on each CPU.  The
        budget of the root group is subtracted.  All servers of other
        scheduling classes are subtracted, even if the kernel's own sum leaves
        some out: Linux 6.12 forgets these servers whenever it rebuilds a root
        domain.

        :param others: the other threads; each of them counts on all CPUs,
            because it may run on any CPU
        :raises OSError: when a file cannot be read, when the admission of the
            kernel is off, or when a thread reclaims bandwidth
        :raises ValueError: when a file has a bad value
        """
        ids = self.cpus()
        if not ids:
            return 0
        _check(others)
        servers = sum(self._server_units(*server, ids) for server in SERVERS)
        each = ((len(ids) * self._limit() - servers) // len(ids)
                - self._root_units() - sum(other.units for other in others))
        # This is the largest number of ppm that, truncated to units, is not
        # more than *each*.
        return -(-(max(0, each) + 1) * reservation.PPM // UNIT) - 1

    def periods(self) -> tuple[int, int]:
        """Returns the shortest and the longest period in us.

        :raises OSError: when a file cannot be read
        :raises ValueError: when a file has no number
        """
        return (int(self._fs.read(PERIOD_SYSCTL.format('min'))),
                int(self._fs.read(PERIOD_SYSCTL.format('max'))))

    def recount(self) -> None:
        """Makes the kernel add up the bandwidth of all threads again.

        Linux 6.12 and newer adds up the bandwidth (rebuild_sched_domains)
        whenever somebody reads or writes the number that this method reads
        (``sched_rt_handler`` in ``kernel/sched/rt.c``).  The kernel leaves out
        a thread that has ended or become ordinary before its 0-lag time.  But
        at the 0-lag time the kernel still subtracts the bandwidth of the
        thread.  Then the sum is too small or below zero.  If the sum is below
        zero, the kernel refuses every request that is smaller than the missing
        amount.
        """
        with contextlib.suppress(OSError):
            self._fs.read(SYSCTL.format('runtime'))

    def _limit(self) -> int:
        """Returns the units of each CPU that SCHED_DEADLINE may use.

        :raises OSError: when the admission of the kernel is off
        """
        runtime = int(self._fs.read(SYSCTL.format('runtime')))
        if runtime < 0:
            raise OSError(
                'kernel.sched_rt_runtime_us is -1, which turns the admission '
                'of SCHED_DEADLINE off; set it to 950000')
        return units(runtime, int(self._fs.read(SYSCTL.format('period'))))

    def _root_units(self) -> int:
        """Returns the units of each CPU that the root group has.

        On some branches all groups except the root group have the file, and
        the root group has all that the sysctls allow.
        """
        text = self._maximum(self._mount)
        if text:
            runtime, period = text.split()
            return units(int(runtime), int(period))
        return self._limit() if any(
            map(self._maximum, self._fs.children(self._mount))) else 0

    def _maximum(self, group: str) -> str:
        """Returns what cpu.rt.max of a group has; '' without the file."""
        try:
            return self._fs.read(os.path.join(group, _MAX))
        except OSError as error:
            if cgroup.is_gone(error):
                return ''
            raise

    def _server_units(self, server: str, since: tuple[int, int], sign: str,
                      ids: tuple[int, ...]) -> int:
        """Returns the bandwidth of a server on all CPUs, in kernel units."""
        read = functools.partial(self._read_server, server)
        try:
            return sum(units(read(cpu, 'runtime'), read(cpu, 'period'))
                       for cpu in ids)
        except (OSError, ValueError):
            # debugfs is not mounted or locked down, or there is no such
            # server.
            there = _version() >= since and os.path.exists(sign)
            return len(ids) * units(*_SERVER) if there else 0

    def _optional(self, path: str) -> tuple[int, ...]:
        try:
            return cpulist.parse_ids(self._fs.read(path))
        except FileNotFoundError:
            return ()


def units(runtime: int, period: int) -> int:
    """Returns a bandwidth as the kernel counts it.

    :param period: in the same unit of time as *runtime*
    """
    return runtime * UNIT // period if period else 0


def is_vcpu(group: str) -> bool:
    """Checks whether a group is one that libvirt makes for a vCPU."""
    return (group.startswith(tuple(f'{top}/' for top in cgroup.GUEST_GROUPS))
            and bool(_VCPU.fullmatch(posixpath.basename(group))))


def read_other_threads(controller: str) -> list[Other]:
    """Returns the other threads of this machine; see :func:`other_threads`."""
    host = files.Host()
    return other_threads(host, proc.by_deadline(host), controller)


def other_threads(host: files.Host, tasks: Iterable[proc.Task], controller: str
                  ) -> list[Other]:
    """Returns the SCHED_DEADLINE threads that are not vCPUs of guests.

    Kernel threads are left out, because the kernel does not count the thread
    of its frequency governor.

    :param tasks: the SCHED_DEADLINE threads
    :param controller: the controller of the hierarchy by whose groups vCPUs
        are found; '' for cgroup v2
    """
    other_threads = []
    for task in tasks:
        if not task.kernel and not is_vcpu(
                proc.group_of(host, task, controller)):
            with contextlib.suppress(ProcessLookupError):
                other_threads.append(_other(task))
    return other_threads


def warnings(others: Collection[Other]) -> list[str]:
    """Returns sentences about the harm that *others* do to reservations.

    The sentences have only the names of threads, because the ids of the
    threads of a service may change each time.
    """
    names = sorted({other.name for other in others if not other.reclaims})
    texts = [f'Threads other than vCPUs are SCHED_DEADLINE ({_some(names)}); '
             f'their bandwidth is subtracted from each pCPU.'] if names else []
    names = sorted({other.name for other in others if other.reclaims})
    return texts + [
        f'Threads other than vCPUs are SCHED_DEADLINE with '
        f'SCHED_FLAG_RECLAIM ({_some(names)}); servers may get less than '
        f'they have reserved.'] * bool(names)


def _some(names: Sequence[str]) -> str:
    """Returns the first names, as a list in a sentence."""
    return ', '.join([*names[:_SHOWN], '...'][:len(names)])


def _other(task: proc.Task) -> Other:
    policy = sched.get(task.thread)
    return Other(task.thread, task.comm,
                 units(policy.runtime, policy.period), policy.reclaims)


def _check(others: Collection[Other]) -> None:
    """Checks that no thread reclaims bandwidth of reservations.

    :raises OSError: when a thread does
    """
    names = [str(other) for other in others if other.reclaims]
    if names:
        raise OSError(
            f'threads other than vCPUs are SCHED_DEADLINE with '
            f'SCHED_FLAG_RECLAIM ({_some(names)}), which takes bandwidth '
            f'from reservations on kernels such as 6.12; configure their '
            f'services to do without the flag, or stop them')


def _version() -> tuple[int, int]:
    match = re.match(r'([0-9]+)\.([0-9]+)', os.uname().release)
    return (int(match[1]), int(match[2])) if match else (0, 0)
