# SPDX-License-Identifier: Apache-2.0

"""Whether there still is what there was, seen by a burst of few periods.

Pure.  It is a sequential test: the burst goes on until what the group got is
too much for half of what was known, or too little for all of it.  Both ends
are those of the law of supply, whatever the place in the period where the
burst begins, so a budget that stays is hardly ever said to have fallen: only
where somebody else had the CPU.  It then takes a whole burst to believe it.
"""

import dataclasses

from rt_probe import supply

#: A fall to this part, or less, is found.
HALF = 0.5


@dataclasses.dataclass(frozen=True, slots=True)
class Check:
    """What was known, in CPUs.

    :ivar lower: of its interval
    """

    available: float
    lower: float
    period_ns: int
    tick_ns: int

    def verdict(self, used_ns: int, wall_ns: int) -> bool | None:
        """Whether there is more than half of it.

        :param used_ns: what the group got since the burst began
        :returns: None: that cannot be told yet
        """
        if wall_ns < self.tick_ns:
            return None
        found = supply.Supply(used_ns, wall_ns, self.period_ns, 1,
                              self.tick_ns).estimate()
        if found.lower > HALF * self.available:
            return True
        return False if found.upper < self.lower else None
