# SPDX-License-Identifier: Apache-2.0

"""How the kernels give a server its runtime, and how late they may be.

Each interface of nova-rt follows one of three rules; ``simulator`` has them
event by event.  *Late* is against the fluid queue, the same requests on a
CPU that is slower by Q/P all the time.
"""

import dataclasses
import enum
import math

from nova_rt.rules import exception
from nova_rt.rules import schedulability

#: The priorities that mainline servers are spread over, unless configured.
_LEVELS = 48
#: Of a period on mainline; below, refills are lost while run time is not yet
#: charged.
_LEAST_TICKS = 2.5
#: Others on a pCPU, where each may delay by a tick.
NEIGHBOURS = 4


class Rule(enum.StrEnum):
    """What a budget means.

    ``CBS``: a hard CBS under EDF, charged by a timer.  ``SCHED_DEADLINE``:
    the same, charged at ticks.  ``RT_GROUP_SCHED``: mainline's groups under
    fixed priorities, charged at ticks.
    """

    CBS = 'cbs'
    SCHED_DEADLINE = 'sched_deadline'
    RT_GROUP_SCHED = 'rt_group_sched'


@dataclasses.dataclass(frozen=True, slots=True)
class Kernel:
    """A rule, and the tick where run time is charged at ticks.

    :raises InvalidLoad: no tick where there must be one, or one where
        there is none
    """

    rule: Rule = Rule.CBS
    tick_us: int = 0

    def __post_init__(self) -> None:
        if self.tick_us < 0 or (self.rule is Rule.RT_GROUP_SCHED
                                and not self.tick_us):
            raise exception.InvalidLoad(
                name='tick in us', value=self.tick_us,
                rule=f'{self.rule} needs a positive one')
        if self.tick_us and self.rule is Rule.CBS:
            raise exception.InvalidLoad(
                name='tick in us', value=self.tick_us, rule='cbs is charged '
                'by a timer; leave the tick out, or take sched_deadline')

    def __str__(self) -> str:
        if not self.at_ticks:
            return f'{self.rule}, charged by a timer'
        return f'{self.rule}, charged at ticks of {self.tick_us} us'

    @property
    def at_ticks(self) -> bool:
        """Whether run time is charged at ticks."""
        return self.tick_us > 0

    @property
    def shortest_period_us(self) -> int:
        """The shortest period that the kernel keeps."""
        if self.rule is Rule.RT_GROUP_SCHED:
            return math.ceil(_LEAST_TICKS * self.tick_us)
        return 1

    def largest_share(self, period_us: int) -> float:
        """The largest share that the kernel keeps, for a period in us.

        It must see that a budget is used up before it refills it.
        """
        if self.rule is Rule.RT_GROUP_SCHED:
            return 1 - self.tick_us / period_us
        return 1.0

    def check_period(self, period_us: int) -> None:
        """:raises InvalidLoad: the kernel keeps no such period"""
        if period_us < self.shortest_period_us:
            raise exception.InvalidLoad(
                name='period in us', value=period_us,
                rule=f'with ticks of {self.tick_us} us {self.rule} keeps no '
                f'period below {self.shortest_period_us} us; give a longer '
                'one')

    def check(self, runtime_us: int, period_us: int) -> None:
        """:raises InvalidLoad: the kernel does not keep the reservation"""
        self.check_period(period_us)
        if runtime_us > self.largest_share(period_us) * period_us + 1e-6:
            raise exception.InvalidLoad(
                name='runtime in us', value=runtime_us,
                rule=f'with ticks of {self.tick_us} us {self.rule} keeps at '
                f'most {period_us - self.tick_us} us every {period_us} us; '
                'give a longer period')

    def late_us(self, runtime_us: float, period_us: float) -> float:
        """How late a request may end, whatever else runs on the pCPU.

        What else runs was admitted by nova-rt; charged at ticks under EDF,
        it is at most NEIGHBOURS others.  The proofs are in
        doc/source/model/company.rst.
        """
        rest = period_us - runtime_us
        if self.rule is Rule.RT_GROUP_SCHED:
            return rest * (2 + self.tick_us / runtime_us)
        return rest + (NEIGHBOURS * self.tick_us if self.at_ticks else 0)

    @property
    def fixed_priorities(self) -> schedulability.FixedPriorities:
        """The test of admission of mainline, with its default options."""
        return schedulability.FixedPriorities(
            _LEVELS, self.tick_us, self.shortest_period_us)


#: Hard CBS, as the models of a lone server have it.
CBS = Kernel()
