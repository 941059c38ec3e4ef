# SPDX-License-Identifier: Apache-2.0

"""Derives the reservation that a server should have from measurements.

This module reads nothing from the kernel: its functions take numbers, and
return numbers and doubts.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import functools
import math
import statistics

from nova_rt.rules import defaults
from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from rt_models.model import crowded
from rt_models.model import kernel as rt_kernel
from rt_models.model import load as rt_load
from rt_models.model import planner
from rt_models.model import variation as rt_variation
from rt_models.model import varied
from rt_monitor import histogram
from rt_monitor import transactions

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
#: The parts in which requests are counted are joined to this many, so that
#: bursts of some length are seen.
_LONG_PARTS = 120
#: Nearly all requests take at most the time at this percentile.
_NEARLY_ALL = 0.99


@dataclasses.dataclass(frozen=True)
class MeasuredLoad:
    """The load of a server, as measured.

    :ivar counts: requests that were answered in each of equal parts of the
        time
    :ivar span_s: the length of the whole measurement
    :ivar cpu_parts_s: CPU time of all tasks of the server in each part
    :ivar took: the times from the arrival of a request to the end of its
        answer
    :ivar exhausted: periods in which the budget ran out
    :ivar unclear: exchanges that cannot be told apart as requests
    :ivar missed: events of connections, of all servers, that the kernel did
        not give to the monitor
    """

    counts: Sequence[int]
    span_s: float
    cpu_parts_s: Sequence[float]
    vcpus: int
    took: histogram.Histogram
    reservation: rt_reservation.Reservation | None
    exhausted: int
    unclear: int = 0
    missed: int = 0

    @property
    def cpu_s(self) -> float:
        """Returns the CPU time of all tasks of the server."""
        return sum(self.cpu_parts_s)

    @functools.cached_property
    def measured_variation(self) -> float | None:
        """The upper bound of the variation of requests' CPU times.

        The variation is the squared coefficient of variation.  None if too
        few requests were seen.
        """
        return rt_variation.upper_bound(
            self.counts, self.cpu_parts_s, self.span_s,
            self.took.quantile_ns(_NEARLY_ALL) / 1e9)

    @property
    def variation(self) -> float:
        """Returns the variation; as of exponential times if not measured."""
        measured = self.measured_variation
        return 1.0 if measured is None else measured

    @property
    def requests(self) -> int:
        return sum(self.counts)

    @property
    def lacks_requests(self) -> bool:
        """Checks whether too many events are missing for any advice."""
        return transactions.too_many(self.missed, self.requests)

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
        if self.lacks_requests:
            raise exception.InvalidLoad(
                name='number of missed events', value=self.missed,
                rule='the kernel did not give these events of connections to '
                     'the monitor, so requests are missing; they must be at '
                     'most a hundredth of the requests')
        if not self.requests or not self.took.count:
            raise exception.InvalidLoad(
                name='number of requests', value=0,
                rule='the server answered no request over TCP while it was '
                     'watched, or the response time is not known yet; watch '
                     'longer, or at a time when the server is used')
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
        first.exhausted + then.exhausted, first.unclear + then.unclear,
        first.missed + then.missed)


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
    timed = measured.took.count
    above = timed * (1 - part)
    if above < _ENOUGH:
        yield (f'Only {timed} requests were seen, {above:.1f} of them above '
               'the percentile; watch longer.')
    if measured.measured_variation is None:
        yield ('Too few requests were seen to measure how much their CPU '
               'times vary, so the advice takes them as exponential; watch '
               'longer.')
    spread = dispersion(_long_parts(measured.counts))
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


def _long_parts(counts: Sequence[int]) -> list[int]:
    """Returns the counts of longer parts."""
    size = max(1, len(counts) // _LONG_PARTS)
    return [sum(counts[begin:begin + size])
            for begin in range(0, len(counts) - size + 1, size)]


def dispersion(counts: Sequence[int]) -> float | None:
    """Returns variance over mean of the counts; None for too few counts."""
    if len(counts) < _COUNTS or not any(counts):
        return None
    return statistics.variance(counts) / statistics.mean(counts)
