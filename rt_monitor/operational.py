# SPDX-License-Identifier: Apache-2.0

"""Operational analysis: which server saturates first, and at what rate.

Equations 3 to 5 of Brondolin and Santambrogio, after Lazowska, Zahorjan,
Graham and Sevcik, Quantitative System Performance (1984).
"""

from collections.abc import Mapping
import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Centre:
    """A server as a service centre.

    :ivar used_cpus: CPU time a second
    :ivar cores: of the host
    :ivar threads: that can run at once: vCPUs; 0 where nobody tells
    :ivar reserved_cpus: None for no reservation
    """

    used_cpus: float
    cores: int
    threads: int = 0
    reserved_cpus: float | None = None

    @property
    def utilization(self) -> float:
        """U of what it could use at most (Eq. 3)."""
        return self.used_cpus / min(self.cores, self.threads or self.cores)

    @property
    def of_reservation(self) -> float | None:
        """U of what it has reserved; None without a reservation."""
        if not self.reserved_cpus:
            return None
        return self.used_cpus / self.reserved_cpus

    @property
    def tightest(self) -> float:
        """U of what holds it back first."""
        reserved = self.of_reservation
        return self.utilization if reserved is None else max(
            self.utilization, reserved)


def demand_s(utilization: float, arrival_rate_hz: float) -> float:
    """D, what a request of the whole asks of a centre, in s (Eq. 4).

    :param arrival_rate_hz: of requests to the whole, from outside
    """
    return utilization / arrival_rate_hz


def saturation_rate_hz(utilizations: Mapping[str, float],
                       arrival_rate_hz: float) -> tuple[float, str] | None:
    """The rate at which the first centre saturates (Eq. 5), and which.

    :param utilizations: by centre
    :returns: None where nothing is asked or used
    """
    if arrival_rate_hz <= 0 or not utilizations:
        return None
    bottleneck = max(utilizations, key=utilizations.__getitem__)
    if utilizations[bottleneck] <= 0:
        return None
    return (1 / demand_s(utilizations[bottleneck], arrival_rate_hz),
            bottleneck)
