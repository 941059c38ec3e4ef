# SPDX-License-Identifier: Apache-2.0

"""Decides whether the probe may measure the whole machine.

/proc/stat counts the whole machine, even if a container reads it.  So the
probe may use the numbers of this file only outside of containers.
"""

import os

from rt_probe import place

#: The inode numbers of the first namespaces of a machine
#: (``include/linux/proc_ns.h``).
_FIRST = {'pid': 0xEFFFFFFC, 'cgroup': 0xEFFFFFFB}


def refusal(process: str, asked: bool, root: str = '') -> str:
    """Returns why /proc/stat may not be used; '' if it may be used.

    :param asked: whether the user asked for the whole machine
    """
    if not _in_first_namespaces(root):
        return ('the probe runs in a container, and /proc/stat counts the '
                'whole host')
    if asked:
        return ''
    paths = place.paths(process, root)
    path = paths.get('cpu', paths.get(place.UNIFIED, '/'))
    if path != '/':
        return (f'the probe runs in the control group {path}, and /proc/stat '
                'counts the whole machine; give --machine to measure the '
                'whole machine')
    return ''


def _in_first_namespaces(root: str) -> bool:
    for name, inode in _FIRST.items():
        try:
            target = os.readlink(f'{root}/proc/self/ns/{name}')
        except OSError:
            return False
        if target != f'{name}:[{inode}]':
            return False
    return True


def may_be_virtual(root: str = '') -> bool:
    """Returns whether a hypervisor may be below this machine.

    Only the flags of an x86 CPU show that there is no hypervisor.
    """
    try:
        with open(f'{root}/proc/cpuinfo', encoding='utf-8',
                  errors='replace') as file:
            for line in file:
                name, _, flags = line.partition(':')
                if name.strip() == 'flags':
                    return 'hypervisor' in flags.split()
    except OSError:
        pass
    return True
