# SPDX-License-Identifier: Apache-2.0

"""Waits until a busy server can get a smaller runtime without a debt.

At the end of a period, RT_GROUP_SCHED subtracts the runtime once from the CPU
time that the server has used.  If the runtime became smaller meanwhile, a
server that had used more than the new runtime keeps a debt, and lacks as much
in its next period.  So the new runtime must be written while the server has
used little in this period: soon after a busy server had to rest, because its
old runtime was used up, and runs again.
"""

from collections.abc import Callable, Collection, Mapping
import contextlib
import dataclasses
import time

from nova_rt.machine.host import thread
from nova_rt.machine.host import ticks

_NS_PER_US = 1_000
_US = 1_000_000
#: How often the CPU time is read, in us.
_POLL_US = 1_000
#: The CPU time of a running thread may stand still for a tick.
_REST_TICKS = 3
#: Two periods show each busy server at rest; no change waits for longer.
_PERIODS, _MOST_US = 2, 1_000_000

#: The threads on each pCPU of a server, by an arbitrary number of the pCPU.
Threads = Mapping[int, Collection[int]]


@dataclasses.dataclass
class _Watch:
    """The CPU time of the threads on one pCPU, in us.

    :ivar since_us: when the CPU time was last seen to grow
    :ivar rested_us: the CPU time when the threads last had to rest
    """

    used_us: float
    since_us: float
    rested_us: float | None = None

    def read(self, used_us: float, now_us: float, rest_us: float) -> None:
        if used_us != self.used_us:
            if now_us - self.since_us > rest_us:
                self.rested_us = self.used_us
            self.used_us, self.since_us = used_us, now_us


def wait(threads: Callable[[], Threads], runtime_us: int, period_us: int
         ) -> None:
    """Waits until the kernel can lower a budget; returns in any case.

    The periods of a server begin on all pCPUs at once.  So the moment has come
    if the threads on one pCPU run again after they had to rest, and the
    threads on no other pCPU still have to rest.  A server without runnable
    threads is not waited for, and a runtime of a few ticks is too short to
    meet.

    :param threads: returns the threads of the server
    :param runtime_us: the new runtime
    :param period_us: the period that the server has now
    """
    rest_us = _REST_TICKS * ticks.tick_us()
    if runtime_us < 2 * rest_us or not any(map(_is_busy, threads().values())):
        return
    now_us = time.monotonic() * _US
    end_us = now_us + min(_PERIODS * period_us, _MOST_US)
    watched = {cpu: _Watch(_used_us(own), now_us)
               for cpu, own in threads().items()}
    while now_us < end_us:
        time.sleep(_POLL_US / _US)
        now_us, present = time.monotonic() * _US, threads()
        for cpu, own in present.items():
            watched.setdefault(cpu, _Watch(0.0, now_us)).read(
                _used_us(own), now_us, rest_us)
        if any(each.rested_us is not None
               and each.used_us - each.rested_us < runtime_us / 2
               and now_us - each.since_us <= rest_us
               for each in watched.values()) and not any(
                   now_us - watched[cpu].since_us > rest_us and _is_busy(own)
                   for cpu, own in present.items()):
            return


def _is_busy(threads: Collection[int]) -> bool:
    for each in threads:
        with contextlib.suppress(OSError):
            if thread.is_runnable(each):
                return True
    return False


def _used_us(threads: Collection[int]) -> float:
    """Returns the CPU time of the threads that have not ended."""
    used = 0
    for each in threads:
        with contextlib.suppress(OSError):
            used += thread.ran_ns(each)
    return used / _NS_PER_US
