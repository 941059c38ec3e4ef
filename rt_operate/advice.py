# SPDX-License-Identifier: Apache-2.0

"""Derives the reservation that a server should have from measurements.

This module reads nothing from the kernel: its functions take numbers, and
return numbers and doubts.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import itertools
import math
import statistics

from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import crowded
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import planner
from rt_models.model import varied
from rt_monitor import histogram

#: If fewer requests than this are above the percentile, the percentile is
#: unreliable.
_ENOUGH = 10
#: The load may be this many standard deviations above the measured load. So
#: about one server in 40 is promised too much.
_CAUTION = 2.0
#: Arrivals count as random if the variance of counts, divided by their mean,
#: is within this range. For random arrivals the expected value is 1.
_RANDOM = (0.5, 2.0)
#: The least number of counts from which the variance is computed.
_COUNTS = 10
#: The least number of requests in a part of the measurement. With fewer
#: requests, the CPU time of the part may belong to other requests.
_IN_PART = 5


@dataclasses.dataclass(frozen=True)
class MeasuredLoad:
    """The load of a server, as measured.

    :ivar counts: requests in each of equal parts of the time
    :ivar span_s: the length of the whole measurement
    :ivar cpu_parts_s: CPU time of all tasks of the server in each part
    :ivar took: the times from the arrival of a request to the end of its
        answer
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
        """Returns the CPU time of all tasks of the server."""
        return sum(self.cpu_parts_s)

    @property
    def variation(self) -> float:
        """Returns an upper bound for the variation of requests' CPU times.

        The variation is the squared coefficient of variation. In each part of
        the measurement, the CPU time minus the number of requests times their
        mean CPU time is the sum of the deviations of these requests. Three
        disturbances make these sums larger, so three bounds are computed, and
        the smallest one counts. A bound is two standard deviations above its
        estimate. The result is 1 where too few requests
        were seen.
        """
        pairs = self._pairs()
        if len(pairs) < _COUNTS or self.requests < _IN_PART * len(pairs):
            return 1.0
        mean = self.cpu_s / self.requests
        one = self.requests * mean ** 2
        off = [cpu - count * mean for count, cpu in pairs]
        return min(_if_read_late(off) / one, _if_speed_changes(off) / one,
                   _if_counted_late([count for count, _ in pairs],
                                    [cpu / mean for _, cpu in pairs]))

    def _pairs(self) -> list[tuple[int, float]]:
        """Returns the requests and the CPU time of parts.

        Short parts are joined, so that enough requests are in each of them.
        """
        size = max(1, math.ceil(_IN_PART * len(self.counts)
                                / max(1, self.requests)))
        starts = range(0, len(self.counts) - size + 1, size)
        return [(sum(self.counts[start:start + size]),
                 sum(self.cpu_parts_s[start:start + size]))
                for start in starts]

    @property
    def requests(self) -> int:
        return sum(self.counts)

    @property
    def rate_hz(self) -> float:
        """Returns the arrival rate (lambda) of all vCPUs together."""
        return self.requests / self.span_s

    @property
    def cpu_us(self) -> float:
        """Returns the mean CPU time of a request."""
        return self.cpu_s * rt_load.US_PER_S / self.requests

    @property
    def load(self) -> rt_load.Load:
        """Returns the load of each vCPU.

        :raises InvalidLoad: when there were no requests, or no CPU time was
            used
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
        """Returns the largest load that each vCPU may have.

        The measurement sees only some requests. After *n* random requests, the
        relative error of their rate is 1 / sqrt(n). The relative error of
        their length is sqrt(c / n), where c is the variation. The utilisation
        is the product of the rate and the length, so its relative error is
        sqrt((1 + c) / n).

        :raises InvalidLoad: when :attr:`load` raises it
        """
        load, variation = self.load, self.variation
        one = _CAUTION / math.sqrt((1 + variation) * self.requests)
        return rt_load.Load(load.arrival_rate_hz * (1 + one),
                            load.service_rate_hz / (1 + variation * one))


def joined(first: MeasuredLoad, then: MeasuredLoad) -> MeasuredLoad:
    """Returns two measurements as one, with the later reservation."""
    return MeasuredLoad(
        [*first.counts, *then.counts], first.span_s + then.span_s,
        [*first.cpu_parts_s, *then.cpu_parts_s], then.vcpus,
        first.took + then.took, then.reservation,
        first.exhausted + then.exhausted, first.unclear + then.unclear)


@dataclasses.dataclass(frozen=True)
class ReservationAdvice:
    """The advised reservation, and how far to trust this advice.

    :ivar measured_us: the percentile as measured
    :ivar met: whether the measured percentile meets the target
    :ivar variation: the squared coefficient of variation of the CPU times of
        requests
    :ivar predicted_us: the percentile that the model predicts for the current
        reservation; None without a reservation, or if the reservation serves
        fewer requests than arrive
    :ivar wanted: the smallest reservation that meets the target
    :ivar promised_us: the percentile that the model predicts for *wanted*
    :ivar beside: the smallest reservation that meets the target in a
        simulation beside one busy server that has the rest of the pCPU
    :ivar doubts: sentences that say why the advice may be wrong
    """

    measured_us: float
    met: bool
    variation: float
    predicted_us: float | None
    wanted: rt_reservation.Reservation
    promised_us: float
    beside: rt_reservation.Reservation
    doubts: tuple[str, ...]


def _if_read_late(off: Sequence[float]) -> float:
    """Returns a bound for the sum of the squared deviations of parts.

    The number of requests and the CPU time of a part are read at slightly
    different moments.  If one part has too much CPU time, the next part has
    too little, so the covariance of neighbouring parts corrects this error.
    The variance and two covariances have the relative error sqrt(6 / n) after
    *n* independent parts.
    """
    return _cautious(6, off) * max(0.0, sum(each * each for each in off)
                                   + 2 * sum(one * other for one, other
                                             in itertools.pairwise(off)))


def _if_speed_changes(off: Sequence[float]) -> float:
    """Returns a bound for the sum of the squared deviations of parts.

    A CPU is slower while its sibling is busy or its clock is low.  Then all
    requests of a part take longer, so the deviation of the part grows with the
    number of its requests.  Neighbouring parts have nearly the same speed, so
    their differences hardly contain the speed.
    """
    return _cautious(3, off) * _squares(off)


def _squares(parts: Sequence[float]) -> float:
    """Returns the sum of the squared deviations of parts from their mean.

    Half the mean square of successive differences is the variance (J. von
    Neumann et al., The Mean Square Successive Difference, 1941).  Its relative
    error is sqrt(3 / n) after *n* independent parts.
    """
    squares = [(other - one) ** 2
               for one, other in itertools.pairwise(parts)]
    return len(parts) * statistics.fmean(squares) / 2


def _cautious(error: float, parts: Sequence[float]) -> float:
    """Returns the factor from an estimate to its bound.

    :param error: the square of the relative error, times the number of parts
    """
    return 1 + _CAUTION * math.sqrt(error / (len(parts) - 1))


def _if_counted_late(counts: Sequence[int], works: Sequence[float]) -> float:
    """Returns an upper bound for the variation.

    A request counts when the next request of its connection begins, which may
    be some parts later.  Then the CPU time of a part belongs to other requests
    than those that count in the part.  The variance of the CPU time of parts
    is still the sum of two variances: that of the number of requests, in mean
    CPU times, and that of the CPU times of the requests (the law of total
    variance).  The first variance and the sum are estimated, each with its own
    error.

    :param works: the CPU time of each part, in mean CPU times of a request
    """
    requests = sum(counts)
    of_counts, of_works = (_squares(each) / requests
                           for each in (counts, works))
    estimate = max(0.0, of_works - of_counts)
    return estimate + (_cautious(3, counts) - 1) * math.hypot(
        of_counts, of_counts + estimate)


def advise(measured: MeasuredLoad, target: rt_load.Target,
           kernel: rt_kernel.Kernel) -> ReservationAdvice:
    """Returns the smallest reservation that meets a target.

    The reservation meets the target whatever runs on the same pCPUs, up to the
    largest load that the measurement allows.

    :param target: the target for a percentile
    :raises InvalidLoad: when the server got no requests
    :raises NoAnswer: when no reservation meets the target
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
        _beside(most, target, variation, kernel, wanted),
        tuple(_doubts(measured, part)))


def _beside(load: rt_load.Load, target: rt_load.Target, variation: float,
            kernel: rt_kernel.Kernel, wanted: rt_reservation.Reservation
            ) -> rt_reservation.Reservation:
    """Returns the reservation of the simulation, at most *wanted*."""
    try:
        runtime_us = crowded.runtime_us(
            load, target, wanted.period_us, variation, kernel,
            defaults.MAX_SHARE)
    except exception.NoAnswer:
        return wanted
    return rt_reservation.Reservation(
        min(runtime_us, wanted.runtime_us), wanted.period_us)


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
        return None  # the reservation serves fewer requests than arrive


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
    """Returns variance over mean of the counts; None for too few counts."""
    if len(counts) < _COUNTS or not any(counts):
        return None
    return statistics.variance(counts) / statistics.mean(counts)
