# SPDX-License-Identifier: Apache-2.0

"""CHR: the cores of a container divided by those of its host.

A container without pinned CPUs loses time on a host with many more cores than
the container has (paper 001, section IV.A).  For each class of workload the
paper gives the range of CHR at which this loss vanishes.  The bounds of the
ranges are steps of a factor of two (8, 16, 32 and 64 of 112 cores), seen on
one host.  Above the range the loss does not come back: a container of 16 cores
lost less on a host of 16 cores than on a host of 112 cores (Fig.  7).
"""

import dataclasses

from nova_rt.rules import workload

_HUNDRED = 100
#: The part of the loss that has vanished at the lower end of a range.  The
#: paper gives no number: Fig. 7 only shows that a rest is left at CHR 0.14.
AT_LOW = 0.9


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

    def relief(self, vcpus: int, cores: int) -> float:
        """Returns the part of the loss that has vanished.

        The result grows with the CHR up to 1, the whole host.  Most of the
        loss vanishes below the range, where each factor of two in CHR halves
        the loss.
        """
        ratio = vcpus / cores
        return (AT_LOW * min(1.0, _HUNDRED * ratio / self.low)
                + (1 - AT_LOW) * min(1.0, ratio))


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
