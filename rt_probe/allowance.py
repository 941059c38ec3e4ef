# SPDX-License-Identifier: Apache-2.0

"""The part of the reservation that bursts may use in the long run."""

import math


class Allowance:
    """An account of the time that bursts have used up.

    When bursts use the whole reservation for some time, the account gets a
    debt, which passing time pays off.

    :param part: the part of the reservation that may be used
    """

    def __init__(self, part: float) -> None:
        self._part = part
        self._debt_ns = 0
        self._at_ns = 0

    def spend(self, time_ns: int, now_ns: int) -> None:
        """Records that the whole reservation was used for *time_ns*."""
        self._debt_ns = self.debt_ns(now_ns) + time_ns
        self._at_ns = now_ns

    def debt_ns(self, now_ns: int) -> int:
        """Returns the debt at this time; 0 when all of it is paid off."""
        return max(0, self._debt_ns - round(
            self._part * (now_ns - self._at_ns)))

    def free_ns(self) -> int:
        """Returns the time at which the debt is paid off."""
        return self._at_ns + self.pause_ns(self._debt_ns)

    def pause_ns(self, time_ns: float) -> int:
        """Returns how long it takes to pay off a use of *time_ns*."""
        return math.ceil(time_ns / self._part)
