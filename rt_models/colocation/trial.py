# SPDX-License-Identifier: Apache-2.0

"""Makes one measurement: of one function alone, or of two at the same time."""

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
    """The setting of all measurements of a campaign.

    :ivar cpus: the pCPU of the target and the pCPU of its competitor
    :ivar reservation: the reservation of each function; None: the functions
        are ordinary
    :ivar seconds: the duration of a measurement
    :ivar warm_up_s: how long the functions run before the measurement
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
    """Runs functions together and returns the rate of each.

    A rate is work per second, in the unit of the function. For reserved
    functions a second is wall time. For ordinary functions a second is CPU
    time, because in wall time the rate would also depend on other tasks.

    :raises CannotMeasure: when a function does not work
    :raises KernelError: when the host has no room for the reservation
    """
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(function.running(
            profile, f'{_GROUP}-{os.getpid()}-{number}', cpu,
            setting.reservation))
            for number, (profile, cpu) in enumerate(zip(
                profiles, setting.cpus, strict=False))]
        for started in running:
            started.edge()
        time.sleep(setting.warm_up_s)
        begins = [started.edge() for started in running]
        time.sleep(setting.seconds)
        return [_rate(begin, started.edge(), setting)
                for begin, started in zip(begins, running, strict=True)]


def _rate(begin: function.Point, end: function.Point, setting: Setting
          ) -> float:
    ns = (end.used_ns - begin.used_ns if setting.reservation is None
          else end.at_ns - begin.at_ns)
    return (end.work - begin.work) / max(1, ns) * 1e9
