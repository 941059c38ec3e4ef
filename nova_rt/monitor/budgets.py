# SPDX-License-Identifier: Apache-2.0

"""Whose budgets can be seen to run out, by the kernel interface.

The programs read them of mainline RT_GROUP_SCHED and of SCHED_DEADLINE.  The
others give each group a deadline server, of which no file of the kernel
tells when it was without budget: ``cpu.stat`` is of the fair scheduler, and
``sched/debug`` has no throttling of groups there.
"""

from nova_rt.host import files as host_files
from nova_rt.kernel import passive

NAME = 'budgets'
#: Of groups; SCHED_DEADLINE has none.
_SEEN = frozenset({'rt_group_sched'})


def are_seen(interface: str) -> bool:
    """Whether it is seen when the budgets of an interface run out."""
    return interface in _SEEN


def why_not(host: host_files.Host) -> str:
    """Why the budgets of this host's groups are not seen; '' if they are."""
    found = passive.find(host, None).interface
    if found is None or are_seen(found.name):
        return ''
    return (f'the kernel interface {found.name} does not show when a budget '
            f'runs out; CPU time, waiting and shares are measured')
