# SPDX-License-Identifier: Apache-2.0

"""How much of the reservation bursts may use, in the long run."""

import math


class Allowance:
    """What was used and is not yet made up for by the time that passed.

    :param part: of the reservation that may be used
    """

    def __init__(self, part: float) -> None:
        self._part = part
        self._debt_ns = 0
        self._at_ns = 0

    def spend(self, time_ns: int, now_ns: int) -> None:
        """Count the whole reservation for so long."""
        self._debt_ns = self.debt_ns(now_ns) + time_ns
        self._at_ns = now_ns

    def debt_ns(self, now_ns: int) -> int:
        """What is not made up for; with 0 all is."""
        return max(0, self._debt_ns - round(
            self._part * (now_ns - self._at_ns)))

    def free_ns(self) -> int:
        """When all is made up for."""
        return self._at_ns + self.pause_ns(self._debt_ns)

    def pause_ns(self, time_ns: float) -> int:
        """How long it takes to make up for so much."""
        return math.ceil(time_ns / self._part)
