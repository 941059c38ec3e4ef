# SPDX-License-Identifier: Apache-2.0

"""Explains why the monitor cannot see when the budget of a group runs out.

The programs read the budgets of mainline RT_GROUP_SCHED, and the budgets of
all kernels whose groups have a deadline server on each CPU.  No file of these
kernels shows when a budget runs out: ``cpu.stat`` belongs to the fair
scheduler, and ``sched/debug`` does not list throttled groups.  The budgets of
SCHED_DEADLINE threads are seen wherever the programs run.
"""

from nova_rt.machine.host import files as host_files
from nova_rt.machine.kernel import passive

NAME = 'budgets'


def why_not(host: host_files.Host) -> str:
    """Returns why the programs do not see budgets of groups on this host.

    :returns: '' if no group of this host has a budget
    """
    interface = passive.find(host, None).interface
    if interface is None:
        return ''
    return (f'the programs do not find the budgets of {interface.name} in '
            'this kernel; CPU time, waiting and shares are still measured')
