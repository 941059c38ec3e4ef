# SPDX-License-Identifier: Apache-2.0

"""How finely the kernel charges run time."""

import time

from nova_rt.machine.host import cgroup

#: Where the scheduler's features are, since 5.13 and before.
FEATURES = ('/sys/kernel/debug/sched/features',
            '/sys/kernel/debug/sched_features')
#: CLOCK_MONOTONIC_COARSE advances once a tick; CLK_TCK is USER_HZ, not HZ.
_COARSE = 6
#: Fallback where the tick cannot be told: CONFIG_HZ=100.
_TICK_US = 10_000


def tick_us() -> int:
    """The length of the kernel's tick."""
    return round(time.clock_getres(_COARSE) * 1_000_000) or _TICK_US


def high_resolution(fs: cgroup.CgroupFS) -> bool | None:
    """Whether deadline servers are charged by a timer (HRTICK).

    :returns: None where the kernel does not tell (a locked-down one)
    """
    for path in FEATURES:
        try:
            words = fs.read(path).split()
        except OSError:
            continue
        # Before 5.12 one feature for all classes.
        name = 'HRTICK_DL' if any('HRTICK_DL' in w for w in words) else (
            'HRTICK')
        return name in words
    return None
