# SPDX-License-Identifier: Apache-2.0

"""The instants at which a kernel without a timer charges run time."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True, slots=True)
class Ticks:
    """The ticks of one CPU.

    :param length_us: from one to the next
    :param phase_us: when one is
    """

    length_us: float
    phase_us: float = 0.0

    def index_after(self, time_us: float) -> int:
        """The number of the first tick later than *time_us*."""
        index = math.floor((time_us - self.phase_us) / self.length_us) + 1
        # A tick that was computed may come out below itself.
        return index + (self.at(index) <= time_us)

    def at(self, index: int) -> float:
        """When tick number *index* is."""
        return self.phase_us + index * self.length_us

    def from_on(self, time_us: float) -> float:
        """The first tick that is not earlier than *time_us*."""
        index = self.index_after(time_us)
        before = self.at(index - 1)
        return before if before == time_us else self.at(index)
