# SPDX-License-Identifier: Apache-2.0

"""From what was measured of a server to the reservation that it should have.

Nothing of the kernel: numbers in, numbers and doubts out.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import itertools
import math
import statistics

from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import planner
from rt_models.model import varied
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
#: At least so many requests in a part of the time, so that the CPU time of
#: the part is that of these requests.
_IN_PART = 5


@dataclasses.dataclass(frozen=True)
class MeasuredLoad:
    """What was seen of a server.

    :ivar counts: requests in each of equal parts of the time
    :ivar span_s: of all of it
    :ivar cpu_parts_s: CPU time of all its tasks in each of these parts
    :ivar took: from the arrival of a request to the end of its answer
    :ivar exhausted: periods in which the budget ran out
    :ivar unclear: exchanges that cannot be told apart as requests
    """

    counts: Sequence[int]
    span_s: float
    cpu_parts_s: Sequence[float]
    vcpus: int
    took: histogram.Histogram
    reservation: rt_reservation.Reservation | None
    exhausted: int
    unclear: int = 0

    @property
    def cpu_s(self) -> float:
        """CPU time of all its tasks."""
        return sum(self.cpu_parts_s)

    @property
    def variation(self) -> float:
        """The most that the CPU times of requests may vary.

        It is the squared coefficient of variation: the CPU time of a part of
        the time differs from that of its requests at their mean by the sum
        of what each differs.  The counts and the CPU time of a part are read
        at slightly different moments; what one part has too much for that
        reason the next one lacks, and so the covariance of neighbours takes
        that error off.  1 where too little was seen.
        """
        pairs = [*zip(self.counts, self.cpu_parts_s, strict=False)]
        if len(pairs) < _COUNTS or self.requests < _IN_PART * len(pairs):
            return 1.0
        mean = self.cpu_s / self.requests
        off = [cpu - count * mean for count, cpu in pairs]
        seen = max(0.0, sum(each * each for each in off) + 2 * sum(
            one * other for one, other in itertools.pairwise(off)))
        known = math.sqrt(2 / (len(pairs) - 1))
        return (1 + _CAUTION * known) * seen / (self.requests * mean ** 2)

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
        if self.unclear:
            raise exception.InvalidLoad(
                name='number of unclear exchanges', value=self.unclear,
                rule='the server speaks TLS, HTTP/2 or a protocol in which '
                     'requests are not answered one after another, so its '
                     'requests cannot be measured; there must be no unclear '
                     'exchange')
        if not self.requests:
            raise exception.InvalidLoad(
                name='number of requests', value=0,
                rule='the server answered no request over TCP while it was '
                     'watched; watch longer, or at a time when the server is '
                     'used')
        return planner.split(rt_load.Load(
            self.rate_hz, rt_load.US_PER_S / self.cpu_us), self.vcpus)

    @property
    def most(self) -> rt_load.Load:
        """The load of each vCPU as it may be, since few requests were seen.

        Of *n* random requests the rate is known to 1 / sqrt(n), the length
        to sqrt(c / n) with the variation c, and so their product, the
        utilisation, to sqrt((1 + c) / n).

        :raises InvalidLoad: as :attr:`load`
        """
        load, variation = self.load, self.variation
        one = _CAUTION / math.sqrt((1 + variation) * self.requests)
        return rt_load.Load(load.arrival_rate_hz * (1 + one),
                            load.service_rate_hz / (1 + variation * one))


@dataclasses.dataclass(frozen=True)
class ReservationAdvice:
    """What to reserve, and how far to trust that.

    :ivar measured_us: the percentile as it is
    :ivar met: whether that meets the target now
    :ivar variation: of the CPU times of requests, squared, to their mean
    :ivar predicted_us: as the model has it, with the reservation that the
        server has; None without one, or where that serves fewer requests
        than come
    :ivar wanted: the smallest reservation that meets the target
    :ivar promised_us: the percentile that it would give
    :ivar doubts: sentences
    """

    measured_us: float
    met: bool
    variation: float
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
    most, variation = measured.most, measured.variation
    wanted = varied.plan(most, target, variation, kernel,
                         defaults.MAX_SHARE)
    measured_us = measured.took.quantile_ns(part) / 1000
    return ReservationAdvice(
        measured_us, measured_us <= target.time_us, variation,
        _predicted_us(load, measured.reservation, variation, kernel, part),
        wanted, varied.RoundTrip(
            most, wanted.runtime_us, wanted.period_us, variation, kernel
            ).percentile_us(part),
        tuple(_doubts(measured, part)))


def _predicted_us(load: rt_load.Load,
                  reservation: rt_reservation.Reservation | None,
                  variation: float, kernel: rt_kernel.Kernel, part: float
                  ) -> float | None:
    if reservation is None:
        return None
    try:
        kernel.check(reservation.runtime_us, reservation.period_us)
        return varied.RoundTrip(
            load, reservation.runtime_us, reservation.period_us, variation,
            kernel).percentile_us(part)
    except exception.RTError:
        return None  # it serves fewer than come


def _doubts(measured: MeasuredLoad, part: float) -> Iterator[str]:
    above = measured.requests * (1 - part)
    if above < _ENOUGH:
        yield (f'Only {measured.requests} requests were seen, {above:.1f} of '
               f'them above the percentile; watch longer.')
    spread = dispersion(measured.counts)
    if spread is not None and not _RANDOM[0] <= spread <= _RANDOM[1]:
        yield (f'Requests do not arrive at random times, as the model '
               f'assumes: the variance of their number is {spread:.2f} of '
               f'the mean instead of 1; ' + (
                   'bursts need a larger reservation.' if spread > 1
                   else 'regular requests need a smaller reservation.'))
    if measured.vcpus > 1:
        yield (f'The server has {measured.vcpus} vCPUs; the model assumes '
               'that the requests are spread evenly over the vCPUs.')
    if measured.exhausted:
        yield (f'The budget ran out {measured.exhausted} times while the '
               'server was watched: clients that wait for answers would send '
               'more requests if the server had a larger reservation.')


def dispersion(counts: Sequence[int]) -> float | None:
    """Variance of counts over their mean; None for too few of them."""
    if len(counts) < _COUNTS or not any(counts):
        return None
    return statistics.variance(counts) / statistics.mean(counts)
