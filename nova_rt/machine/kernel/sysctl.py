# SPDX-License-Identifier: Apache-2.0

"""Reads the limit of the host for all real-time tasks.

See Documentation/scheduler/sched-rt-group.rst of Linux.
"""

from nova_rt.machine.host import cgroup
from nova_rt.rules import reservation

#: The file of the ``runtime`` or of the ``period``.
PATH = '/proc/sys/kernel/sched_rt_{}_us'


def read(fs: cgroup.CgroupFS) -> tuple[int, int]:
    """Returns the runtime, which is -1 without a limit, and the period in us.

    :raises OSError: when a file cannot be read
    :raises ValueError: when a file holds no number
    """
    return (int(fs.read(PATH.format('runtime'))),
            int(fs.read(PATH.format('period'))))


def limit_ppm(fs: cgroup.CgroupFS) -> int:
    """Returns the ppm that the root group may hand out; see read()."""
    runtime, period = read(fs)
    return (reservation.PPM if runtime < 0
            else runtime * reservation.PPM // period)


def check(fs: cgroup.CgroupFS) -> None:
    """Checks that the kernel enforces budgets; see read().

    :raises OSError: also when the enforcement is off
    """
    if read(fs)[0] < 0:
        raise OSError(
            'kernel.sched_rt_runtime_us is -1, which turns the enforcement '
            'off; set it to 950000')
