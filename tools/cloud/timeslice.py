# SPDX-License-Identifier: Apache-2.0

"""The turns of real-time tasks, while the cloud is up.

Servers of one priority take turns as well, and more of them fit on a pCPU
the shorter these are: ``nova-rt doctor`` advises a tick.
"""

import pathlib

from cloud import settings

from nova_rt.kernel import rt_group_sched
from nova_rt.kernel import ticks

SYSCTL = pathlib.Path(rt_group_sched.TIMESLICE)


def shorten(cloud: settings.Settings) -> None:
    """Make them a tick long, and remember how long they were."""
    record = _record(cloud)
    if not record.exists():
        record.write_text(SYSCTL.read_text())
    SYSCTL.write_text(str(max(1, ticks.tick_us() // 1000)))


def restore(cloud: settings.Settings) -> None:
    """Make them as long as they were."""
    record = _record(cloud)
    if record.exists():
        SYSCTL.write_text(record.read_text())


def _record(cloud: settings.Settings) -> pathlib.Path:
    return cloud.run / 'timeslice-before'
