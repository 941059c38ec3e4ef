# SPDX-License-Identifier: Apache-2.0

"""From what was measured of a server to the reservation that it should have.

Nothing of the kernel: numbers in, numbers and doubts out.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import math
import statistics

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import contended
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import planner
from rt_monitor import histogram

#: Fewer requests above the percentile than this say little of it.
_ENOUGH = 10
#: Standard deviations of what few requests may be off by chance, so that one
#: server of 40 is promised too much.
_CAUTION = 2.0
#: Of the variance of counts to their mean, which is 1 at random times.
_RANDOM = (0.5, 2.0)
#: At least so many counts to tell it by.
_COUNTS = 10


@dataclasses.dataclass(frozen=True)
class MeasuredLoad:
    """What was seen of a server.

    :ivar counts: requests in each of equal parts of the time
    :ivar span_s: of all of it
    :ivar cpu_s: CPU time of all its tasks
    :ivar took: from the arrival of a request to the end of its answer
    :ivar exhausted: periods in which the budget ran out
    """

    counts: Sequence[int]
    span_s: float
    cpu_s: float
    vcpus: int
    took: histogram.Histogram
    reservation: rt_reservation.Reservation | None
    exhausted: int

    @property
    def requests(self) -> int:
        return sum(self.counts)

    @property
    def rate_hz(self) -> float:
        """Lambda, of all vCPUs together."""
        return self.requests / self.span_s

    @property
    def cpu_us(self) -> float:
        """CPU time of each request."""
        return self.cpu_s * rt_load.US_PER_S / self.requests

    @property
    def load(self) -> rt_load.Load:
        """That of each vCPU.

        :raises InvalidLoad: nothing was asked, or no CPU time used
        """
        if not self.requests:
            raise exception.InvalidLoad(
                name='number of requests', value=0,
                rule='the server answered none over TCP while it was '
                     'watched; watch longer, or while it is used')
        return planner.split(rt_load.Load(
            self.rate_hz, rt_load.US_PER_S / self.cpu_us), self.vcpus)

    @property
    def most(self) -> rt_load.Load:
        """The load of each vCPU as it may be, since few requests were seen.

        Of *n* random requests of exponential length, rate and length are
        each known to 1 / sqrt(n), and so their product, the utilisation, to
        sqrt(2 / n).

        :raises InvalidLoad: as :attr:`load`
        """
        load = self.load
        more = 1 + _CAUTION / math.sqrt(2 * self.requests)
        return rt_load.Load(load.arrival_rate_hz * more,
                            load.service_rate_hz / more)


@dataclasses.dataclass(frozen=True)
class ReservationAdvice:
    """What to reserve, and how far to trust that.

    :ivar measured_us: the percentile as it is
    :ivar predicted_us: as the model has it, with the reservation that the
        server has; None without one, or where that serves fewer requests
        than come
    :ivar wanted: the smallest reservation that meets the target
    :ivar promised_us: the percentile that it would give
    :ivar doubts: sentences
    """

    measured_us: float
    predicted_us: float | None
    wanted: rt_reservation.Reservation
    promised_us: float
    doubts: tuple[str, ...]


def advise(measured: MeasuredLoad, target: rt_load.Target,
           kernel: rt_kernel.Kernel) -> ReservationAdvice:
    """The smallest reservation that meets a target, whatever runs beside.

    It is for the most that the load may be, by what was seen of it.

    :param target: of a percentile
    :raises InvalidLoad: nothing was asked of the server
    :raises NoAnswer: no reservation meets the target
    """
    load = measured.load
    part = target.percentile or 0.99
    most = measured.most
    wanted = planner.plan(planner.Question(most, target, kernel=kernel))
    return ReservationAdvice(
        measured.took.quantile_ns(part) / 1000,
        _predicted_us(load, measured.reservation, kernel, part),
        wanted, contended.predict(most, wanted, kernel=kernel
                                  ).percentile_us(part),
        tuple(_doubts(measured, part)))


def _predicted_us(load: rt_load.Load,
                  reservation: rt_reservation.Reservation | None,
                  kernel: rt_kernel.Kernel, part: float) -> float | None:
    if reservation is None:
        return None
    try:
        return contended.predict(load, reservation, kernel=kernel
                                 ).percentile_us(part)
    except exception.RTError:
        return None  # it serves fewer than come


def _doubts(measured: MeasuredLoad, part: float) -> Iterator[str]:
    above = measured.requests * (1 - part)
    if above < _ENOUGH:
        yield (f'Only {measured.requests} requests were seen, {above:.1f} of '
               f'them above the percentile; watch longer.')
    spread = dispersion(measured.counts)
    if spread is not None and not _RANDOM[0] <= spread <= _RANDOM[1]:
        yield (f'Requests do not come at random times, as the model has it: '
               f'the variance of their number is {spread:.2f} of the mean, '
               f'and not 1; ' + (
                   'bursts need more.' if spread > 1
                   else 'regular ones need less.'))
    if measured.vcpus > 1:
        yield (f'The server has {measured.vcpus} vCPUs; the requests are '
               f'taken to be spread over them evenly.')
    if measured.exhausted:
        yield (f'The budget ran out {measured.exhausted} times meanwhile: '
               f'clients that wait for answers would ask more with more.')


def dispersion(counts: Sequence[int]) -> float | None:
    """Variance of counts over their mean; None for too few of them."""
    if len(counts) < _COUNTS or not any(counts):
        return None
    return statistics.variance(counts) / statistics.mean(counts)
