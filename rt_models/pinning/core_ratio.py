# SPDX-License-Identifier: Apache-2.0

"""CHR: the cores of a container over those of its host (paper 001, IV.A).

A container without pinned CPUs loses time on a host with many more cores
than it has.  The paper gives a range of CHR for each class of workload in
which that loss has gone.  They are steps of a factor of two (8, 16, 32 and 64
of 112 cores), seen on one host.
"""

import dataclasses

from nova_rt.rules import workload

_HUNDRED = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """From *low* to *high*, both included, in percent of the host.

    The two digits that are published, cut and not rounded, are all that is
    known: 32 of 112 cores are 0.28 there.
    """

    low: int
    high: int

    def __str__(self) -> str:
        return f'{self.low / _HUNDRED:.2f} to {self.high / _HUNDRED:.2f}'

    def holds(self, vcpus: int, cores: int) -> bool:
        """Whether a container of that size is within, on that host."""
        return self.low <= percent(vcpus, cores) <= self.high

    def nearness(self, vcpus: int, cores: int) -> float:
        """1 within; outside halved for each factor of two, above 0."""
        ratio = _HUNDRED * vcpus / cores
        if self.holds(vcpus, cores):
            return 1.0
        return min(ratio / self.low, self.high / ratio, 1.0)


#: Paper 001, best practice 5.
RANGES = {
    workload.AppClass.CPU: Range(7, 14),
    workload.AppClass.IO: Range(14, 28),
    workload.AppClass.ULTRA_IO: Range(28, 57),
}


def percent(vcpus: int, cores: int) -> int:
    """CHR in percent, cut as the published ranges are.

    :param vcpus: at least 1
    :param cores: of the host, at least 1
    """
    return _HUNDRED * vcpus // cores
