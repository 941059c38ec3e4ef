# SPDX-License-Identifier: Apache-2.0

"""The ticks at which a kernel without a timer charges run time."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True, slots=True)
class Ticks:
    """The ticks of one CPU.

    :param length_us: the time between two ticks
    :param phase_us: the time of one of the ticks
    """

    length_us: float
    phase_us: float = 0.0

    def index_after(self, time_us: float) -> int:
        """Returns the number of the first tick later than *time_us*."""
        index = math.floor((time_us - self.phase_us) / self.length_us) + 1
        # If *time_us* is the time of a tick, rounding may give the number of
        # that tick itself.
        return index + (self.at(index) <= time_us)

    def at(self, index: int) -> float:
        """Returns the time of tick number *index*."""
        return self.phase_us + index * self.length_us

    def from_on(self, time_us: float) -> float:
        """Returns the time of the first tick that is not before *time_us*."""
        index = self.index_after(time_us)
        before = self.at(index - 1)
        return before if before == time_us else self.at(index)
