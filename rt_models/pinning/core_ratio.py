# SPDX-License-Identifier: Apache-2.0

"""CHR: the cores of a container divided by those of its host.

A container without pinned CPUs loses time on a host with many more cores than
the container has (paper 001, section IV.A).  For each class of workload the
paper gives a range of CHR in which that loss has disappeared.  The bounds of
the ranges are steps of a factor of two (8, 16, 32 and 64 of 112 cores), seen
on one host.
"""

import dataclasses

from nova_rt.rules import workload

_HUNDRED = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """The range from *low* to *high*, both included, in percent of the host.

    The paper publishes two digits, which are truncated and not rounded: 32 of
    112 cores are 0.28 in the paper.
    """

    low: int
    high: int

    def __str__(self) -> str:
        return f'{self.low / _HUNDRED:.2f} to {self.high / _HUNDRED:.2f}'

    def holds(self, vcpus: int, cores: int) -> bool:
        """Returns whether the CHR of a container on a host is in the range."""
        return self.low <= percent(vcpus, cores) <= self.high

    def nearness(self, vcpus: int, cores: int) -> float:
        """Returns how near the CHR is to the range.

        :returns: 1 within the range; outside, a number above 0 that is halved
            with each factor of two
        """
        ratio = _HUNDRED * vcpus / cores
        if self.holds(vcpus, cores):
            return 1.0
        return min(ratio / self.low, self.high / ratio, 1.0)


#: The ranges of best practice 5 of paper 001.
RANGES = {
    workload.AppClass.CPU: Range(7, 14),
    workload.AppClass.IO: Range(14, 28),
    workload.AppClass.ULTRA_IO: Range(28, 57),
}


def percent(vcpus: int, cores: int) -> int:
    """Returns the CHR in percent, truncated as the published ranges are.

    :param vcpus: the vCPUs of the container, at least 1
    :param cores: the cores of the host, at least 1
    """
    return _HUNDRED * vcpus // cores
