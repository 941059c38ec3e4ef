# SPDX-License-Identifier: Apache-2.0

"""Operational analysis: which server saturates first, and at what rate.

The formulas are equations 3 to 5 of Brondolin and Santambrogio, after
Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance (1984).
"""

from collections.abc import Mapping
import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Centre:
    """A server as a service centre.

    :ivar used_cpus: the CPU time that the server uses per second
    :ivar cores: the number of cores of the host
    :ivar threads: how many threads can run at once, which is the number of
        vCPUs of a virtual machine; 0: unknown, or not limited, as in a
        container
    :ivar reserved_cpus: the CPUs that are reserved; None: no reservation
    :ivar lost_cpus: the time per second in which the server could have run,
        but its neighbours ran
    """

    used_cpus: float
    cores: int
    threads: int = 0
    reserved_cpus: float | None = None
    lost_cpus: float = 0.0

    @property
    def utilization(self) -> float:
        """The utilization of the cores that the server could use (Eq. 3)."""
        return self.used_cpus / self._limit

    @property
    def reserved_use(self) -> float | None:
        """The utilization of the reservation; None without a reservation."""
        if not self.reserved_cpus:
            return None
        return self.used_cpus / self.reserved_cpus

    @property
    def tightest(self) -> float:
        """The utilization of the resource that limits the server first."""
        reserved = self.reserved_use
        return self.utilization if reserved is None else max(
            self.utilization, reserved)

    @property
    def beside(self) -> float:
        """The utilization beside the present neighbours.

        The time that the server loses to its neighbours counts as used: a
        server that could always run would get used / (used + lost) of it.
        """
        return max(self.tightest,
                   (self.used_cpus + self.lost_cpus) / self._limit)

    @property
    def least_cpus(self) -> float:
        """The CPUs that the server gets, at least, when it is saturated.

        A reservation is a guarantee, whatever the neighbours do.  Without a
        reservation, only the present use is sure: its weight guarantees the
        server no part of a CPU, because others may have a larger weight.
        """
        if self.reserved_cpus:
            return min(self.reserved_cpus, self._limit)
        return self.used_cpus

    @property
    def at_worst(self) -> float:
        """U by the CPUs that the server gets at least."""
        return self.used_cpus / self.least_cpus

    @property
    def _limit(self) -> int:
        return min(self.cores, self.threads or self.cores)


def demand_s(utilization: float, arrival_rate_hz: float) -> float:
    """Returns D, the demand of a request for a centre, in s (Eq. 4).

    :param arrival_rate_hz: the rate of requests from outside to all centres
    """
    return utilization / arrival_rate_hz


def saturation_rate_hz(utilizations: Mapping[str, float],
                       arrival_rate_hz: float) -> tuple[float, str] | None:
    """Returns the rate at which the first centre saturates (Eq. 5).

    :param utilizations: U by the name of the centre
    :param arrival_rate_hz: the rate of requests from outside to all centres
    :returns: the rate in Hz and the name of the centre; None without requests
        or without utilization
    """
    if arrival_rate_hz <= 0 or not utilizations:
        return None
    bottleneck = max(utilizations, key=utilizations.__getitem__)
    if utilizations[bottleneck] <= 0:
        return None
    return (1 / demand_s(utilizations[bottleneck], arrival_rate_hz),
            bottleneck)
