# SPDX-License-Identifier: Apache-2.0

"""Whether it is seen when the budgets of groups run out.

The programs read them of mainline RT_GROUP_SCHED, and of all kernels whose
groups have a deadline server on each CPU.  No file of those tells:
``cpu.stat`` is of the fair scheduler, and ``sched/debug`` has no throttling
of groups there.  Those of SCHED_DEADLINE are seen wherever the programs run.
"""

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import passive

NAME = 'budgets'


def why_not(host: host_files.Host) -> str:
    """Why budgets are not seen, where the programs did not find them.

    '' if no group of this host has one.
    """
    found = passive.find(host, None).interface
    if found is None:
        return ''
    return (f'the programs do not find the budgets of {found.name} in this '
            f'kernel; CPU time, waiting and shares are measured')
