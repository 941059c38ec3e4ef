# SPDX-License-Identifier: Apache-2.0

"""SCHED_DEADLINE threads that are not ours, with what others may have."""

from collections.abc import Iterator, Sequence
import contextlib

from nova_rt.machine import sched_setattr
from nova_rt.machine.trial import busy


@contextlib.contextmanager
def thread(cpus: Sequence[int], runtime_us: int, period_us: int,
           reclaim: bool = False) -> Iterator[busy.Busy]:
    """A busy one of a process in the root group.

    :param cpus: all of the root domain
    """
    process = busy.Busy(set(cpus), 3600)
    try:
        sched_setattr.start(process.pid, runtime_us, period_us, reclaim)
        yield process
    finally:
        process.kill()
