# SPDX-License-Identifier: Apache-2.0

"""Says why the kernel refuses a budget."""

import errno

from nova_rt.machine.host import cgroup

_REASONS = {
    errno.EINVAL: 'the kernel refuses the value or has no room (EINVAL)',
    errno.EBUSY: 'the group still has real-time tasks, or SCHED_DEADLINE '
                 'tasks hold the bandwidth (EBUSY)',
    errno.EPERM: 'no permission (EPERM)',
    errno.EACCES: 'no permission (EACCES)',
}


def reason(error: OSError | ValueError) -> str:
    """Returns a clause that says why a read or a write has failed.

    :param error: an OSError of the kernel, or a ValueError if the value that
        the kernel shows cannot be understood
    """
    if isinstance(error, ValueError):
        return f'cannot read the value that the kernel shows: {error}'
    if cgroup.is_short(error):
        return ('the kernel has no room for the budget, and refused it by a '
                'short write')
    return _REASONS.get(error.errno or 0, str(error))
