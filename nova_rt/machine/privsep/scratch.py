# SPDX-License-Identifier: Apache-2.0

"""Tests with a separate process whether vCPU threads can be pinned.

``nova_rt.machine.privsep`` calls :func:`stays_pinned` with privileges.
"""

import os
import pathlib
import subprocess

from nova_rt.machine.host import sched
from nova_rt.machine import sched_setattr


def stays_pinned(group: str, cpu: int) -> bool:
    """Tests if a thread stays SCHED_DEADLINE while its cpuset shrinks.

    A process is made SCHED_DEADLINE, with a tiny bandwidth, in a group that
    has all CPUs.  The group then shrinks to one CPU, and the process ends.

    :param group: the directory of a cpuset without tasks
    :param cpu: the CPU that is left in the cpuset
    :raises OSError: when the kernel refuses a step, with its errno
    """
    with subprocess.Popen(['cat'], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as child:
        try:
            pathlib.Path(group, 'cgroup.procs').write_text(str(child.pid))
            sched_setattr.start(child.pid, *sched_setattr.SMALLEST)
            pathlib.Path(group, 'cpuset.cpus').write_text(str(cpu))
            return (sched.get(child.pid).is_deadline
                    and os.sched_getaffinity(child.pid) == {cpu})
        finally:
            sched_setattr.stop(child.pid)
            child.kill()
