# SPDX-License-Identifier: Apache-2.0

"""The only writer of cgroup files and scheduling policies in the services.

Each function checks its arguments itself: it runs with privileges and must
not serve as a way to write elsewhere, or to make other processes of the host
real-time.
"""

import errno
import functools
import importlib.metadata
import os
import pathlib
import re

from oslo_privsep import capabilities
from oslo_privsep import priv_context

from nova_rt.machine.host import cgroup
from nova_rt.machine.host import sched
from nova_rt.machine.host import timers
from nova_rt.machine.privsep import scratch
from nova_rt.rules import cpulist

CGROUP_ROOT = '/sys/fs/cgroup'
#: What may be written, and the form of the values.
FILES = {
    'cpu.rt_runtime_us': r'[-0-9, ]{1,65536}',
    'cpu.rt_period_us': r'[-0-9, ]{1,65536}',
    'cpu.rt_multi_runtime_us': r'[-0-9, ]{1,65536}',
    'cpu.rt.max': r'(max|[0-9]+) [0-9]+',
    'cpuset.cpus': r'[-0-9,]{1,65536}',
    'cpuset.mems': r'[-0-9,]{1,65536}',
    'cgroup.subtree_control': r'\+cpu(set)?',
}
#: Those of them that are written in the root of a hierarchy: what it has in
#: all for groups, where the kernel starts with none of it.
ROOT_FILES = frozenset(FILES) - {'cpuset.cpus', 'cpuset.mems'}
#: The groups at the top that have the servers below them.
TOPS = frozenset(('machine', 'machine.slice'))
#: And the one that is made and removed to probe the kernel.
PROBE = 'nova-rt-probe'
POLICIES = {'rr': os.SCHED_RR, 'fifo': os.SCHED_FIFO, 'none': os.SCHED_OTHER}

SCHED_DEBUG = '/sys/kernel/debug/sched'

#: Where libvirt's system daemon keeps the pids of QEMU processes.
QEMU_PIDS = '/run/libvirt/qemu'

_CPU_FILE = re.compile(r'cpu\.[a-z0-9_.]+')
_VCPU = re.compile(r'vcpu[0-9]+')

cgroup_pctxt = priv_context.PrivContext(
    'nova_rt',
    cfg_section='nova_rt_privileged',
    # The public name, which stands in files of rootwrap and sudo.
    pypath='nova_rt.privsep.cgroup_pctxt',
    # DAC_OVERRIDE: cgroup files belong to root.  SYS_NICE: the policy.
    capabilities=[capabilities.CAP_DAC_OVERRIDE, capabilities.CAP_SYS_NICE])


def _checked(path: str) -> str:
    real = os.path.realpath(path)
    if not real.startswith(CGROUP_ROOT + '/'):
        raise PermissionError(errno.EPERM, f'{path} is not a cgroup file')
    return real


@functools.cache
def _installed_forms() -> dict[str, str]:
    """What kernel interfaces of other packages write, see KernelInterface.

    Root has installed them.  They get files of the controller cpu only.
    """
    points = importlib.metadata.entry_points(group='nova_rt.kernel')
    return {name: form for point in points
            for name, form in point.load().writes.items()
            if _CPU_FILE.fullmatch(name)}


def _place(real: str) -> list[str]:
    """The names of groups, from the root of the hierarchy on."""
    parts = real.removeprefix(CGROUP_ROOT + '/').split('/')
    # With version 2 the root of all is that of the hierarchy.
    return parts[1:] if _is_hierarchy(parts[0]) else parts


def _is_hierarchy(name: str) -> bool:
    return os.path.ismount(os.path.join(CGROUP_ROOT, name))


def _is_ours(groups: list[str], name: str) -> bool:
    """Whether a file of these groups is for servers, or probes."""
    if not groups:
        return name in ROOT_FILES or name in _installed_forms()
    return groups[0] in TOPS or groups == [PROBE]


def has_form(name: str, text: str) -> bool:
    """Checks whether a file is ours to write, with a value of this form.

    :param name: of a file, as ``cpu.rt.max``
    :param text: without a newline
    """
    form = FILES.get(name) or _installed_forms().get(name)
    return form is not None and bool(re.fullmatch(form, text, re.ASCII))


@cgroup_pctxt.entrypoint
def write_cgroup_file(path: str, text: str) -> None:
    """One write(2) of *text* and a newline.

    :raises OSError: the kernel's errno; EINVAL for a short write, which is
        how HCBS kernels refuse.  The rest is never resent: a kernel would
        take it for a number of its own.
    """
    name = os.path.basename(path)
    real = _checked(path)
    if not has_form(name, text) or not _is_ours(_place(real)[:-1], name):
        raise PermissionError(errno.EPERM, f'{path} is not ours to write')
    data = text.encode() + b'\n'
    handle = os.open(real, os.O_WRONLY | os.O_CLOEXEC)
    try:
        if os.write(handle, data) != len(data):
            raise OSError(errno.EINVAL, cgroup.SHORT_WRITE)
    finally:
        os.close(handle)


@cgroup_pctxt.entrypoint
def make_group(path: str) -> None:
    """mkdir(2) of one of TOPS, or of PROBE."""
    real = _checked(path)
    groups = _place(real)
    if len(groups) != 1 or groups[0] not in TOPS | {PROBE}:
        raise PermissionError(errno.EPERM, f'{path} is not ours to make')
    os.mkdir(real)


@cgroup_pctxt.entrypoint
def remove_group(path: str) -> None:
    """rmdir(2) of the group that was made to probe the kernel."""
    real = _checked(path)
    if _place(real) != [PROBE]:
        raise PermissionError(errno.EPERM, f'{path} is not ours to remove')
    os.rmdir(real)


@cgroup_pctxt.entrypoint
def place_vcpu(path: str, controller: str, thread: int, cpu: int) -> None:
    """Put a vCPU thread into a vCPU's group of the same guest, on one pCPU.

    :param path: of the group
    :raises OSError: ESRCH where the thread is gone or elsewhere, else the
        kernel's errno
    """
    real = _checked(path)
    if not _is_ours(_place(real), 'tasks'):
        raise PermissionError(errno.EPERM, f'{path} is not of a server')
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
                                 f'{thread} is no vCPU of {guest}')
    name = 'tasks' if controller else 'cgroup.threads'
    pathlib.Path(real, name).write_text(str(thread))
    os.sched_setaffinity(thread, (cpu,))


@cgroup_pctxt.entrypoint
def read_pid(name: str) -> int:
    """The process of a running QEMU domain, as libvirt keeps it.

    :param name: of the domain
    :raises OSError: it is not running
    """
    if '/' in name or name.startswith('.'):
        raise PermissionError(errno.EPERM, f'{name} is no domain')
    return int(pathlib.Path(QEMU_PIDS, f'{name}.pid').read_text())


@cgroup_pctxt.entrypoint
def set_policy(group: str, controller: str, thread: int, policy: str,
               priority: int) -> None:
    """Give a thread of a control group a scheduling policy.

    :param group: as in /proc/PID/cgroup; the thread must be in it, so that
        an id used again meanwhile by somebody else is left alone
    :raises OSError: ESRCH where the thread is gone or elsewhere, else the
        kernel's errno (EPERM: the group has no budget, or is none of TOPS)
    """
    _check_member(group, controller, thread)
    number = POLICIES[policy]
    param = os.sched_param(priority if number != os.SCHED_OTHER else 0)
    os.sched_setscheduler(thread, number, param)


def _check_member(group: str, controller: str, thread: int) -> None:
    """Only what runs for servers may be made real-time, here or elsewhere."""
    if not TOPS.intersection(group.split('/')[1:2]):
        raise PermissionError(errno.EPERM, f'{group} is not of a server')
    for line in _groups_of(thread):
        _, controllers, path = line.split(':', 2)
        if controller in controllers.split(',') and _below(path, group):
            return
    raise ProcessLookupError(errno.ESRCH, f'{thread} is not in {group}')


def _groups_at(real: str) -> tuple[str, str]:
    """What the kernel may call a directory: below one mount, or another."""
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
    """Start the privileged process early, not in a server's start."""


@cgroup_pctxt.entrypoint
def set_deadline(group: str, controller: str, thread: int, runtime_us: int,
                 period_us: int) -> None:
    """Make a thread of a control group SCHED_DEADLINE.

    :param group: as for :func:`set_policy`
    :param runtime_us: 0 to make it SCHED_OTHER again
    :raises OSError: as of ``sched.start`` and ``sched.stop``; ESRCH
        also where the thread is elsewhere
    """
    _check_member(group, controller, thread)
    if runtime_us:
        sched.start(thread, runtime_us, period_us)
    else:
        sched.stop(thread)


@cgroup_pctxt.entrypoint
def free_vcpu(group: str, controller: str, thread: int) -> None:
    """Let a thread of a control group run wherever its cpuset allows it.

    :param group: as for :func:`set_policy`
    :raises OSError: ESRCH where the thread is gone or elsewhere, EBUSY
        where it is SCHED_DEADLINE and its cpuset is too small
    """
    _check_member(group, controller, thread)
    possible = pathlib.Path(cpulist.POSSIBLE).read_text().strip()
    os.sched_setaffinity(thread, cpulist.parse_ids(possible))


@cgroup_pctxt.entrypoint
def try_pinning(path: str, cpu: int) -> bool:
    """Ask the kernel, see ``scratch.stays_pinned``.

    :param path: of the group that was made to probe the kernel
    :raises OSError: the kernel refuses
    """
    real = _checked(path)
    if _place(real) != [PROBE]:
        raise PermissionError(errno.EPERM, f'{path} is not ours to probe')
    return scratch.stays_pinned(real, cpu)


@cgroup_pctxt.entrypoint
def read_deadline_timers() -> list[float]:
    """When the timers that replenish deadline servers will fire.

    :returns: seconds of CLOCK_MONOTONIC
    :raises OSError: the kernel does not show its timers
    """
    return timers.replenishments(pathlib.Path(timers.PATH).read_text())


@cgroup_pctxt.entrypoint
def read_server(server: str, cpu: int, name: str) -> int:
    """A number of a deadline server of the kernel itself, in ns.

    :param server: fair_server or ext_server
    :param name: runtime or period
    :raises OSError: there is none, or debugfs cannot be read
    """
    if (server not in ('fair_server', 'ext_server')
            or name not in ('runtime', 'period')):
        raise PermissionError(errno.EPERM,
                              f'{server} {name} is not ours to read')
    path = pathlib.Path(SCHED_DEBUG, server, f'cpu{cpu:d}', name)
    return int(path.read_text())
