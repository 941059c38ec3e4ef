# SPDX-License-Identifier: Apache-2.0

"""Finds out how exactly the kernel charges run time."""

import time

from nova_rt.machine.host import cgroup

#: The file of the scheduler's features, since Linux 5.13 and before.
FEATURES = ('/sys/kernel/debug/sched/features',
            '/sys/kernel/debug/sched_features')
#: CLOCK_MONOTONIC_COARSE advances once a tick; CLK_TCK is USER_HZ, not HZ.
_COARSE = 6
#: The tick to assume if the kernel does not tell: CONFIG_HZ=100.
_TICK_US = 10_000


def tick_us() -> int:
    """Returns the length of the kernel's tick."""
    return round(time.clock_getres(_COARSE) * 1_000_000) or _TICK_US


def high_resolution(fs: cgroup.CgroupFS) -> bool | None:
    """Checks whether deadline servers are charged by a timer (HRTICK).

    :returns: None if the kernel does not tell, for example if it is locked
        down
    """
    for path in FEATURES:
        try:
            words = fs.read(path).split()
        except OSError:
            continue
        # Before Linux 5.12 there was one feature for all classes.
        name = 'HRTICK_DL' if any('HRTICK_DL' in w for w in words) else (
            'HRTICK')
        return name in words
    return None
