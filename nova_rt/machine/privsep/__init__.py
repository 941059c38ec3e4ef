# SPDX-License-Identifier: Apache-2.0

"""Writes cgroup files and changes scheduling policies, with privileges.

The services write to the host only through this module.  Each function checks
its arguments itself, because it runs with privileges: no caller may use the
function to write to other files, or to make other processes of the host
real-time.
"""

from collections.abc import Iterator
import contextlib
import errno
import functools
import importlib.metadata
import os
import pathlib
import re

from oslo_privsep import capabilities
from oslo_privsep import priv_context

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import timers
from nova_rt.machine.privsep import scratch
from nova_rt.machine import sched_setattr
from nova_rt.rules import cpulist

CGROUP_ROOT = '/sys/fs/cgroup'
#: The files that may be written, and the forms of their values.
FILES = {
    'cpu.rt_runtime_us': r'[-0-9, ]{1,65536}',
    'cpu.rt_period_us': r'[-0-9, ]{1,65536}',
    'cpu.rt.max': r'(max|[0-9]+) [0-9]+',
    'cpuset.cpus': r'[-0-9,]{1,65536}',
    'cpuset.mems': r'[-0-9,]{1,65536}',
    'cgroup.subtree_control': r'\+cpu(set)?',
}
#: The files that may be written in the root group of a hierarchy.  They set
#: the bandwidth of all groups, which some kernels leave at 0.
ROOT_FILES = frozenset(FILES) - {'cpuset.cpus', 'cpuset.mems'}
#: The groups directly below the root that have the servers below them.
TOPS = frozenset(('machine', 'machine.slice'))
#: The group that is made and removed to probe the kernel.
PROBE = 'nova-rt-probe'
POLICIES = {'rr': os.SCHED_RR, 'fifo': os.SCHED_FIFO, 'none': os.SCHED_OTHER}

SCHED_DEBUG = '/sys/kernel/debug/sched'

#: The directory where libvirt's system daemon keeps the pids of QEMU.
QEMU_PIDS = '/run/libvirt/qemu'

_CPU_FILE = re.compile(r'cpu\.[a-z0-9_.]+')
_VCPU = re.compile(r'vcpu[0-9]+')

cgroup_pctxt = priv_context.PrivContext(
    'nova_rt',
    cfg_section='nova_rt_privileged',
    # The public name, which stands in files of rootwrap and sudo.
    pypath='nova_rt.privsep.cgroup_pctxt',
    # DAC_OVERRIDE is needed to write cgroup files, which belong to root, and
    # SYS_NICE to change policies.
    capabilities=[capabilities.CAP_DAC_OVERRIDE, capabilities.CAP_SYS_NICE])


def _checked(path: str) -> str:
    real = os.path.realpath(path)
    if not real.startswith(CGROUP_ROOT + '/'):
        raise PermissionError(errno.EPERM, f'{path} is not a cgroup file')
    return real


@functools.cache
def _installed_forms() -> dict[str, str]:
    """Returns the files that interfaces of other packages write.

    See ``KernelInterface.writes``.  Root has installed these packages.  These
    packages may write only files of the controller cpu.
    """
    points = importlib.metadata.entry_points(group='nova_rt.kernel')
    return {name: form for point in points
            for name, form in point.load().writes.items()
            if _CPU_FILE.fullmatch(name)}


def _place(real: str) -> list[str]:
    """Returns the names of groups on a path, from the root group on."""
    parts = real.removeprefix(CGROUP_ROOT + '/').split('/')
    # With cgroup v2, CGROUP_ROOT itself is the root of the hierarchy.
    return parts[1:] if _is_hierarchy(parts[0]) else parts


def _is_hierarchy(name: str) -> bool:
    return os.path.ismount(os.path.join(CGROUP_ROOT, name))


def _is_ours(groups: list[str], name: str) -> bool:
    """Checks whether a file belongs to servers, the root or the probe."""
    if not groups:
        return name in ROOT_FILES or name in _installed_forms()
    return groups[0] in TOPS or groups == [PROBE]


def form_of(name: str) -> str | None:
    """Returns the pattern of the values that nova-rt may write to a file.

    :param name: the name of a file, such as ``cpu.rt.max``
    :returns: None for a file that nova-rt may not write
    """
    return FILES.get(name) or _installed_forms().get(name)


@cgroup_pctxt.entrypoint
def write_cgroup_file(path: str, text: str) -> None:
    """Writes *text* and a newline by one write(2).

    The rest of a short write is never sent: the kernel would read it as
    another number.

    :raises PermissionError: when nova-rt may not write the file or the value
    :raises OSError: when the kernel refuses, with its errno; EINVAL for a
        short write, because HCBS kernels refuse in this way
    """
    name = os.path.basename(path)
    form = form_of(name)
    real = _checked(path)
    if (form is None or not re.fullmatch(form, text, re.ASCII)
            or not _is_ours(_place(real)[:-1], name)):
        raise PermissionError(
            errno.EPERM, f'nova-rt may not write {text[:80]!r} to {path}')
    data = text.encode() + b'\n'
    handle = os.open(real, os.O_WRONLY | os.O_CLOEXEC)
    try:
        if os.write(handle, data) != len(data):
            raise OSError(errno.EINVAL, cgroup.SHORT_WRITE)
    finally:
        os.close(handle)


@cgroup_pctxt.entrypoint
def make_group(path: str) -> None:
    """Makes one of TOPS, or PROBE, by mkdir(2).

    :raises PermissionError: when *path* is another group
    :raises OSError: when the kernel refuses, with its errno
    """
    real = _checked(path)
    groups = _place(real)
    if len(groups) != 1 or groups[0] not in TOPS | {PROBE}:
        raise PermissionError(errno.EPERM, f'nova-rt may not make {path}')
    os.mkdir(real)


@cgroup_pctxt.entrypoint
def remove_group(path: str) -> None:
    """Removes the group PROBE by rmdir(2).

    :raises PermissionError: when *path* is another group
    :raises OSError: when the kernel refuses, with its errno
    """
    real = _checked(path)
    if _place(real) != [PROBE]:
        raise PermissionError(errno.EPERM, f'nova-rt may not remove {path}')
    os.rmdir(real)


@cgroup_pctxt.entrypoint
def place_vcpu(path: str, controller: str, thread: int, cpu: int) -> None:
    """Moves a vCPU thread to another vCPU's group of its guest, on one pCPU.

    :param path: the path of the group
    :raises PermissionError: when the group does not belong to a server
    :raises OSError: ESRCH when the thread is gone or is not a vCPU of this
        guest, else the kernel's errno
    """
    real = _checked(path)
    if not _is_ours(_place(real), 'tasks'):
        raise PermissionError(errno.EPERM,
                              f'{path} does not belong to a server')
    guest, vcpu = os.path.split(real)
    for line in _groups_of(thread):
        _, controllers, group = line.split(':', 2)
        if (controller in controllers.split(',')
                and os.path.dirname(group) in _groups_at(guest)
                and _VCPU.fullmatch(os.path.basename(group))
                and _VCPU.fullmatch(vcpu)):
            break
    else:
        raise ProcessLookupError(errno.ESRCH,
                                 f'{thread} is not a vCPU of {guest}')
    name = 'tasks' if controller else 'cgroup.threads'
    pathlib.Path(real, name).write_text(str(thread))
    os.sched_setaffinity(thread, (cpu,))


@cgroup_pctxt.entrypoint
def read_pid(name: str) -> int:
    """Returns the pid of a running QEMU domain, as libvirt keeps it.

    :param name: the name of the domain
    :raises PermissionError: when *name* cannot be the name of a domain
    :raises OSError: when the domain is not running
    """
    if '/' in name or name.startswith('.'):
        raise PermissionError(errno.EPERM,
                              f'{name} is not the name of a domain')
    return int(pathlib.Path(QEMU_PIDS, f'{name}.pid').read_text())


@cgroup_pctxt.entrypoint
def set_policy(group: str, controller: str, thread: int, policy: str,
               priority: int) -> None:
    """Gives a thread of a control group a scheduling policy.

    :param group: as in /proc/PID/cgroup; the thread must be in the group or
        below it, so that another thread that now has the id is not changed
    :raises OSError: ESRCH when the thread is gone or in another group, else
        the kernel's errno (EPERM: the group has no budget, or does not belong
        to a server)
    """
    _check_member(group, controller, thread)
    number = POLICIES[policy]
    param = os.sched_param(priority if number != os.SCHED_OTHER else 0)
    os.sched_setscheduler(thread, number, param)


def _check_member(group: str, controller: str, thread: int) -> None:
    """Checks that a thread runs for a server, in or below *group*.

    :raises PermissionError: when *group* does not belong to a server
    :raises ProcessLookupError: when the thread is gone or in another group
    """
    if not TOPS.intersection(group.split('/')[1:2]):
        raise PermissionError(errno.EPERM,
                              f'{group} does not belong to a server')
    for line in _groups_of(thread):
        _, controllers, path = line.split(':', 2)
        if controller in controllers.split(',') and _below(path, group):
            return
    raise ProcessLookupError(errno.ESRCH, f'{thread} is not in {group}')


def _groups_at(real: str) -> tuple[str, str]:
    """Returns the paths of a directory in /proc/PID/cgroup, for v2 and v1."""
    relative = real.removeprefix(CGROUP_ROOT)
    return relative, '/' + '/'.join(relative.split('/')[2:])


def _groups_of(thread: int) -> list[str]:
    try:
        text = pathlib.Path(f'/proc/{thread:d}/cgroup').read_text()
    except FileNotFoundError as error:
        raise ProcessLookupError(errno.ESRCH, f'{thread} is gone') from error
    return text.splitlines()


def _below(path: str, group: str) -> bool:
    return path == group or path.startswith(group.rstrip('/') + '/')


@cgroup_pctxt.entrypoint
def ping() -> None:
    """Does nothing; a call starts the privileged process."""


@cgroup_pctxt.entrypoint
def set_deadline(group: str, controller: str, thread: int, runtime_us: int,
                 period_us: int) -> None:
    """Makes a thread of a control group SCHED_DEADLINE.

    :param group: as for :func:`set_policy`
    :param runtime_us: 0 to make the thread SCHED_OTHER
    :raises OSError: as for ``sched_setattr.start`` and
        ``sched_setattr.stop``; ESRCH also when the thread is in another group
    """
    _check_member(group, controller, thread)
    if runtime_us:
        sched_setattr.start(thread, runtime_us, period_us)
    else:
        sched_setattr.stop(thread)


@cgroup_pctxt.entrypoint
def change_deadline(group: str, controller: str, thread: int, runtime_us: int,
                    period_us: int, path: str, everywhere: str, cpus: str
                    ) -> None:
    """Changes runtime and period of a SCHED_DEADLINE thread in a small cpuset.

    The kernel changes these values only while the thread may run on all CPUs
    of its root domain.  Meanwhile the scheduler may move the thread to any of
    these CPUs.  To keep this time as short as possible, the function prepares
    all values first, and makes the changes as SCHED_FIFO.

    :param group: as for :func:`set_policy`
    :param path: the file cpuset.cpus of the group of the vCPU
    :param everywhere: the CPUs of the root domain, as the kernel writes them
    :param cpus: the CPUs of the cpuset afterwards; after an error, the cpuset
        has its earlier CPUs
    :raises PermissionError: when *path* is another file
    :raises OSError: as for ``sched_setattr.start``; ESRCH also when the
        thread is in another group
    """
    _check_member(group, controller, thread)
    file = pathlib.Path(_checked_cpuset(path, thread, everywhere, cpus))
    after = file.read_text().strip()
    with _punctual():
        file.write_text(everywhere)
        try:
            sched_setattr.start(thread, runtime_us, period_us)
            after = cpus
        finally:
            file.write_text(after)


def _checked_cpuset(path: str, thread: int, *cpus: str) -> str:
    """Returns the real path of the file cpuset.cpus of a vCPU.

    :raises PermissionError: when *path* is another file, or *cpus* has
        something other than CPUs
    :raises ProcessLookupError: when the thread is in another group
    """
    real = _checked(path)
    group = os.path.dirname(real)
    if (os.path.basename(real) != 'cpuset.cpus'
            or not _VCPU.fullmatch(os.path.basename(group))
            or not all(re.fullmatch(FILES['cpuset.cpus'], text, re.ASCII)
                       for text in cpus)):
        raise PermissionError(
            errno.EPERM, f'nova-rt may not write {path} for a vCPU')
    place = '/' + '/'.join(_place(group))
    for line in _groups_of(thread):
        _, controllers, own = line.split(':', 2)
        if own == place and 'cpuset' in (controllers or 'cpuset').split(','):
            return real
    raise ProcessLookupError(errno.ESRCH, f'{thread} is not in {place}')


@contextlib.contextmanager
def _punctual() -> Iterator[None]:
    """Makes this thread SCHED_FIFO, if the kernel admits that."""
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    with contextlib.suppress(OSError):  # This group has no real-time budget.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, param)


@cgroup_pctxt.entrypoint
def free_vcpu(group: str, controller: str, thread: int) -> None:
    """Lets a thread of a control group run on all CPUs of its cpuset.

    :param group: as for :func:`set_policy`
    :raises OSError: ESRCH when the thread is gone or in another group, EBUSY
        when it is SCHED_DEADLINE and its cpuset is too small
    """
    _check_member(group, controller, thread)
    possible = pathlib.Path(cpulist.POSSIBLE).read_text().strip()
    os.sched_setaffinity(thread, cpulist.parse_ids(possible))


@cgroup_pctxt.entrypoint
def try_pinning(path: str, cpu: int) -> bool:
    """Makes a trial of the kernel; see ``scratch.stays_pinned``.

    :param path: the path of the group PROBE
    :raises PermissionError: when *path* is another group
    :raises OSError: when the kernel refuses
    """
    real = _checked(path)
    if _place(real) != [PROBE]:
        raise PermissionError(errno.EPERM, f'nova-rt may not probe {path}')
    return scratch.stays_pinned(real, cpu)


@cgroup_pctxt.entrypoint
def read_deadline_timers() -> list[float]:
    """Returns when the timers that replenish deadline servers will fire.

    :returns: times in seconds of CLOCK_MONOTONIC
    :raises OSError: when the kernel does not show its timers
    """
    return timers.replenishments(pathlib.Path(timers.PATH).read_text())


@cgroup_pctxt.entrypoint
def read_server(server: str, cpu: int, name: str) -> int:
    """Returns a number of a deadline server of the kernel itself, in ns.

    :param server: fair_server or ext_server
    :param name: runtime or period
    :raises OSError: when there is no such server, or when debugfs cannot be
        read
    """
    if (server not in ('fair_server', 'ext_server')
            or name not in ('runtime', 'period')):
        raise PermissionError(errno.EPERM,
                              f'nova-rt may not read {server} {name}')
    path = pathlib.Path(SCHED_DEBUG, server, f'cpu{cpu:d}', name)
    return int(path.read_text())
