# SPDX-License-Identifier: Apache-2.0

"""One measurement: one function alone, or two at the same time."""

from collections.abc import Sequence
import contextlib
import dataclasses
import os
import time

from nova_rt.rules import reservation as rt_reservation
from rt_models.colocation import function
from rt_models.colocation import profile as rt_profile

_GROUP = 'nova-rt-interference'


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """How all measurements of a campaign are made.

    :ivar cpus: the pCPU of the target and that of its competitor
    :ivar reservation: each has one; None: they are ordinary
    :ivar seconds: how long each is watched
    :ivar warm_up_s: how long they run before
    """

    cpus: tuple[int, int]
    reservation: rt_reservation.Reservation | None = None
    seconds: float = 4.0
    warm_up_s: float = 0.5

    def __str__(self) -> str:
        how = 'shared' if self.reservation is None else (
            f'{self.reservation.runtime_us}/{self.reservation.period_us} us')
        return (f'{how} on {self.cpus[0]} and {self.cpus[1]} for '
                f'{self.seconds:g} s')


def measure(profiles: Sequence[rt_profile.Profile], setting: Setting
            ) -> list[float]:
    """What each does while all run: its own unit a second.

    It is a second of CPU time without a reservation, where time tells what
    others leave, and a second of time with one.

    :raises CannotMeasure: one of them does not work
    :raises KernelError: there is no such reservation left
    """
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(function.running(
            profile, f'{_GROUP}-{os.getpid()}-{number}', cpu,
            setting.reservation))
            for number, (profile, cpu) in enumerate(zip(
                profiles, setting.cpus, strict=False))]
        for one in running:
            one.edge()
        time.sleep(setting.warm_up_s)
        begins = [one.edge() for one in running]
        time.sleep(setting.seconds)
        return [_rate(begin, one.edge(), setting)
                for begin, one in zip(begins, running, strict=True)]


def _rate(begin: function.Point, end: function.Point, setting: Setting
          ) -> float:
    ns = (end.used_ns - begin.used_ns if setting.reservation is None
          else end.at_ns - begin.at_ns)
    return (end.work - begin.work) / max(1, ns) * 1e9
