# SPDX-License-Identifier: Apache-2.0

"""The only place that writes to cgroupfs or changes a thread's policy.

Each function checks its arguments itself: it runs with privileges and must
not serve as a way to write elsewhere.
"""

import errno
import os
import pathlib
import re

from oslo_privsep import capabilities
from oslo_privsep import priv_context

CGROUP_ROOT = '/sys/fs/cgroup'
FILES = frozenset(('cpu.rt_runtime_us', 'cpu.rt_period_us', 'cpuset.cpus'))
POLICIES = {'rr': os.SCHED_RR, 'fifo': os.SCHED_FIFO, 'none': os.SCHED_OTHER}

_VALUE = re.compile(r'[-0-9, ]{1,4096}', re.ASCII)

cgroup_pctxt = priv_context.PrivContext(
    'nova_rt',
    cfg_section='nova_rt_privileged',
    pypath=__name__ + '.cgroup_pctxt',
    # DAC_OVERRIDE: cgroup files belong to root.  SYS_NICE: the policy.
    capabilities=[capabilities.CAP_DAC_OVERRIDE, capabilities.CAP_SYS_NICE])


def _checked(path: str) -> str:
    real = os.path.realpath(path)
    if not real.startswith(CGROUP_ROOT + '/'):
        raise PermissionError(errno.EPERM, f'{path} is not a cgroup file')
    return real


@cgroup_pctxt.entrypoint
def write_cgroup_file(path: str, text: str) -> None:
    """One write(2) of *text* and a newline.

    :raises OSError: the kernel's errno; EINVAL for a short write, which is
        how HCBS kernels refuse.  The rest is never resent: a kernel would
        take it for a number of its own.
    """
    if os.path.basename(path) not in FILES or not _VALUE.fullmatch(text):
        raise PermissionError(errno.EPERM, f'{path} is not ours to write')
    data = text.encode() + b'\n'
    handle = os.open(_checked(path), os.O_WRONLY | os.O_CLOEXEC)
    try:
        if os.write(handle, data) != len(data):
            raise OSError(errno.EINVAL, 'short write')
    finally:
        os.close(handle)


@cgroup_pctxt.entrypoint
def set_policy(group: str, controller: str, thread: int, policy: str,
               priority: int) -> None:
    """Give a thread of a control group a scheduling policy.

    :param group: as in /proc/PID/cgroup; the thread must be in it, so that
        an id used again meanwhile by somebody else is left alone
    :raises OSError: ESRCH where the thread is gone or elsewhere, else the
        kernel's errno (EPERM: the group has no budget)
    """
    for line in _groups_of(thread):
        _, controllers, path = line.split(':', 2)
        if controller in controllers.split(',') and _below(path, group):
            break
    else:
        raise ProcessLookupError(errno.ESRCH, f'{thread} is not in {group}')
    number = POLICIES[policy]
    param = os.sched_param(priority if number != os.SCHED_OTHER else 0)
    os.sched_setscheduler(thread, number, param)


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
