# SPDX-License-Identifier: Apache-2.0

"""The pairs of reservations, the noise and the cases of Fig. 8."""

from collections.abc import Collection
import dataclasses

from nova_rt.rules import reservation as rt_reservation
from paper import published
from paper import workload as rt_workload

Reservation = rt_reservation.Reservation
#: The pace of SIPp in us: 257 equal requests every 100 ms.
INTERVAL_US = 100_000 / 257
#: The part of a CPU that the requests need.
LOAD = 0.6
#: The paper's reservation: 1.4 ms every 2 ms.
RESERVATION = Reservation(1400, published.PERIOD_US)
#: us; the paper says which part of the requests is below.
GOOD_US = 2000
#: The tasks of the paper's noise, which all begin at the same time.
TASKS = 4

FAIR, RESERVED = 'fair', 'reservation'
#: The neighbour: nobody, the paper's tasks, or tasks that want all the CPU
#: that they can get.
NOBODY, PERIODIC, GREEDY = 'no', 'periodic', 'greedy'
#: (scheduler, noise).  Without reservations, greedy tasks would take so much
#: that the queue of the server grows without end.
CASES = ((FAIR, NOBODY), (FAIR, PERIODIC), (RESERVED, NOBODY),
         (RESERVED, PERIODIC), (RESERVED, GREEDY))


def cases(schedulers: Collection[str]) -> list[tuple[str, str]]:
    """Returns the cases of these schedulers."""
    return [case for case in CASES if case[0] in schedulers]


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """The reservations of the server and of its neighbour.

    :ivar scale: the factor between the times of the server and the paper's
    """

    server: Reservation
    noise: Reservation
    scale: int = 1

    @property
    def workload(self) -> rt_workload.Workload:
        """The requests: the paper's pace and load, at the scale."""
        interval = self.scale * INTERVAL_US
        return rt_workload.Workload(
            rt_workload.Distribution(interval, fixed=True),
            rt_workload.Distribution(LOAD * interval, fixed=True))

    @property
    def good_us(self) -> int:
        """The paper's limit of 2 ms, multiplied by the scale."""
        return self.scale * GOOD_US

    def requests(self, most: int) -> int:
        """Returns how many requests a run has: fewer if they are rarer."""
        return max(100, most // self.scale * min(5, self.scale))

    def tasks(self, noise: str) -> list[tuple[int, int]]:
        """Returns (busy us, period us) of each task of the neighbour."""
        period = self.noise.period_us
        busy = {NOBODY: 0, PERIODIC: self.noise.runtime_us // TASKS,
                GREEDY: period}[noise]
        return [(busy, period)] * TASKS if busy else []


#: By name.  *paper* is the paper's pair.  *smaller* fits on kernels that keep
#: 0.05 of each CPU for ordinary tasks.  The other pairs have the paper's
#: shares at longer periods.  The periods of *slow* are as short as a kernel
#: with ticks of 4 ms can keep.  *slower* has two equal periods, and *slowest*
#: has the longest periods.  *equal* has two equal periods, and fits on a
#: kernel with fixed priorities only if the neighbour is divided.
PAIRS = {
    'paper': Pair(RESERVATION, Reservation(24_000, 100_000)),
    'smaller': Pair(RESERVATION, Reservation(20_000, 100_000)),
    'slow': Pair(Reservation(14_000, 20_000),
                 Reservation(240_000, 1_000_000), 10),
    'slower': Pair(Reservation(70_000, 100_000),
                   Reservation(24_000, 100_000), 50),
    'slowest': Pair(Reservation(70_000, 100_000),
                    Reservation(240_000, 1_000_000), 50),
    'equal': Pair(Reservation(140_000, 200_000),
                  Reservation(48_000, 200_000), 100),
}
