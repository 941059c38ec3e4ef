# SPDX-License-Identifier: Apache-2.0

"""Checks by a burst of a few periods that the reservation has not fallen.

This module is pure.  A check is a sequential test.  The burst goes on until
the group has got more than half of the known reservation could supply, or less
than the whole reservation must supply.  Both limits come from the law of
supply (``supply``), which holds wherever in a period the burst begins.  If the
budget has not changed, a check can therefore be wrong only because other tasks
had the CPU.  For that reason a check that finds too little is confirmed by a
whole burst.
"""

import dataclasses

from rt_probe import supply

#: A check detects that the reservation fell to this part, or less.
HALF = 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """The estimate that a check tests.

    :ivar available: the estimate, in CPUs
    :ivar lower: the lower end of its interval, in CPUs
    """

    available: float
    lower: float
    period_ns: int
    tick_ns: int

    def verdict(self, used_ns: int, wall_ns: int) -> bool | None:
        """Returns whether the group gets more than half of the estimate.

        :param used_ns: CPU time of the group since the burst began
        :param wall_ns: wall time since the burst began
        :returns: False when the group gets less than the whole estimate, and
            None while neither is certain
        """
        if wall_ns < self.tick_ns:
            return None
        now = supply.Supply(used_ns, wall_ns, self.period_ns, 1,
                            self.tick_ns).estimate()
        if now.lower > HALF * self.available:
            return True
        return False if now.upper < self.lower else None
