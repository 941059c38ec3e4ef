# SPDX-License-Identifier: Apache-2.0

"""How much SCHED_DEADLINE the kernel itself counts as admitted."""

from collections.abc import Iterable

#: Only root may read it; since 5.13.
PATH = '/sys/kernel/debug/sched/debug'
_TOTAL = '.dl_bw->total_bw'


def total(lines: Iterable[str], cpu: int) -> int:
    """The bandwidth that is admitted to the root domain of a CPU.

    The file has a section for each CPU, which the kernel writes when it is
    read: nothing is read after what is looked for.

    :returns: in 1/2^20 of a CPU, with the kernel's own servers
    :raises ValueError: the lines do not tell
    """
    here = False
    for line in lines:
        name, _, value = line.partition(':')
        if name.startswith('dl_rq['):
            here = name == f'dl_rq[{cpu:d}]'
        elif here and name.strip() == _TOTAL:
            return int(value)
    raise ValueError(f'no {_TOTAL} of CPU {cpu}')
