# SPDX-License-Identifier: Apache-2.0

"""A thread to try on the kernel what vCPU threads will be asked.

:func:`stays_pinned` is what ``nova_rt.machine.privsep`` calls with privileges.
"""

import os
import pathlib
import subprocess

from nova_rt.machine.host import sched


def stays_pinned(group: str, cpu: int) -> bool:
    """Whether SCHED_DEADLINE survives that a cpuset shrinks around it.

    A process is made SCHED_DEADLINE with next to no bandwidth in a group
    that has all CPUs, the group shrinks to one, and the process ends.

    :param group: the directory of a cpuset without tasks
    :param cpu: the one that is left in it
    :raises OSError: the kernel refuses a step, with its errno
    """
    with subprocess.Popen(['cat'], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as child:
        try:
            pathlib.Path(group, 'cgroup.procs').write_text(str(child.pid))
            sched.start(child.pid, *sched.NOTHING)
            pathlib.Path(group, 'cpuset.cpus').write_text(str(cpu))
            return (sched.get(child.pid).is_deadline
                    and os.sched_getaffinity(child.pid) == {cpu})
        finally:
            sched.stop(child.pid)
            child.kill()
