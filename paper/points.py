# SPDX-License-Identifier: Apache-2.0

"""A point to measure: a server, its reservation, its requests, its link."""

from collections.abc import Iterable
import dataclasses
import math

from nova_rt.rules import reservation as rt_reservation
from paper import published
from paper import workload as rt_workload

#: The Mb/s of the paper's switch.
MEGABITS = 1000
#: Bytes.  Up to this size all requests have the same size, and the time to
#: send them is neglected, as in the paper.
_SMALL = 128
#: The mark before the scale at the end of the name of a point.
_SCALED = '-x'


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """One server under one load.

    :param name: the name of its runs in the data
    :param reservation: the reservation of the server; None if no model is used
    :param megabits: Mb/s of the link to it
    """

    name: str
    workload: rt_workload.Workload
    reservation: rt_reservation.Reservation | None = None
    megabits: int = MEGABITS

    @property
    def interval_us(self) -> float:
        """Returns the mean interval between requests."""
        return self.workload.intervals.mean

    @property
    def queueing_megabits(self) -> float:
        """Returns the Mb/s of the link for models; infinite if neglected."""
        return math.inf if self.workload.size.fixed else self.megabits


def curve(intervals_us: Iterable[float], size: int, load: float,
          share: float, megabits: int = MEGABITS, scale: int = 1
          ) -> list[Point]:
    """Returns points of one load with longer and longer intervals.

    :param intervals_us: the intervals of the paper
    :param size: average bytes of a request
    :param load: CPU time of a request over the interval between two
    :param share: Q / P
    :param megabits: Mb/s of the paper's link
    :param scale: the factor between all times and the paper's, also the time
        that a link needs for a request
    """
    period = scale * published.PERIOD_US
    reservation = rt_reservation.Reservation(round(share * period), period)
    used = load / share
    megabits //= scale
    longer = f'{_SCALED}{scale}' if scale > 1 else ''
    return [Point(
        f'{size}B-{load}-{share}-{megabits}Mb-{interval:g}us{longer}',
        rt_workload.Workload(
            rt_workload.Distribution(interval),
            rt_workload.Distribution(load * interval),
            rt_workload.Distribution(size, fixed=size <= _SMALL),
            backlog=used / (1 - used)),
        reservation, megabits)
        for interval in (scale * one for one in intervals_us)]


def scale_of(name: str) -> int:
    """Returns the scale of a point of :func:`curve` by its name."""
    _, _, scale = name.partition(_SCALED)
    return int(scale or 1)
