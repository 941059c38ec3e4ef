# SPDX-License-Identifier: Apache-2.0

"""The rules by which kernels give a server its runtime, and their delays.

Each kernel interface of nova-rt follows one of three rules; ``simulator``
implements them event by event.  *Late* means later than in the fluid queue,
which serves the same requests on a CPU that is always slower by Q/P.
"""

import dataclasses
import enum
import math

from nova_rt.rules import exception
from nova_rt.rules import reservation as rt_reservation
from nova_rt.rules import schedulability

#: The default number of priorities that servers on mainline are spread over.
_LEVELS = 48
#: The shortest period on mainline, in ticks.  With a shorter one, refills are
#: lost because run time is not charged yet.
_LEAST_TICKS = 2.5
#: The largest number of other servers on a pCPU if each of them may delay a
#: server by a tick.
NEIGHBOURS = 4


class Rule(enum.StrEnum):
    """The rule by which a kernel enforces a budget.

    ``CBS`` is a hard CBS under EDF, charged by a timer.  ``SCHED_DEADLINE`` is
    the same rule, charged at ticks.  ``RT_GROUP_SCHED`` is mainline's groups
    under fixed priorities, charged at ticks.
    """

    CBS = 'cbs'
    SCHED_DEADLINE = 'sched_deadline'
    RT_GROUP_SCHED = 'rt_group_sched'


@dataclasses.dataclass(frozen=True, slots=True)
class Kernel:
    """A rule, and the tick if run time is charged at ticks.

    :param tick_us: the length of a tick; 0: run time is charged by a timer
    :raises InvalidLoad: when the rule needs a tick that is not given, or when
        a tick is given that the rule does not have
    """

    rule: Rule = Rule.CBS
    tick_us: int = 0

    def __post_init__(self) -> None:
        if self.tick_us < 0 or (self.rule is Rule.RT_GROUP_SCHED
                                and not self.tick_us):
            raise exception.InvalidLoad(
                name='tick in us', value=self.tick_us,
                rule=f'{self.rule} needs a tick above 0')
        if self.tick_us and self.rule is Rule.CBS:
            raise exception.InvalidLoad(
                name='tick in us', value=self.tick_us, rule='cbs is charged '
                'by a timer; leave the tick out, or use sched_deadline')

    def __str__(self) -> str:
        if not self.at_ticks:
            return f'{self.rule}, charged by a timer'
        return f'{self.rule}, charged at ticks of {self.tick_us} us'

    @property
    def at_ticks(self) -> bool:
        """True if run time is charged at ticks."""
        return self.tick_us > 0

    @property
    def shortest_period_us(self) -> int:
        """The shortest period that the kernel keeps."""
        if self.rule is Rule.RT_GROUP_SCHED:
            return math.ceil(_LEAST_TICKS * self.tick_us)
        return 1

    def largest_share(self, period_us: int) -> float:
        """Returns the largest share that the kernel keeps with a period.

        The kernel must notice that a budget is used up before it refills the
        budget.
        """
        if self.rule is Rule.RT_GROUP_SCHED:
            return 1 - self.tick_us / period_us
        return 1.0

    def check_period(self, period_us: int) -> None:
        """Checks that the kernel keeps a period.

        :raises InvalidLoad: when the period is too short
        """
        if period_us < self.shortest_period_us:
            raise exception.InvalidLoad(
                name='period in us', value=period_us,
                rule=f'with ticks of {self.tick_us} us, {self.rule} cannot '
                f'keep a period below {self.shortest_period_us} us; give a '
                'longer period')

    def check(self, runtime_us: int, period_us: int) -> None:
        """Checks that the kernel keeps a reservation.

        :raises InvalidLoad: when the period is too short, or the runtime too
            large
        """
        self.check_period(period_us)
        if runtime_us > self.largest_share(period_us) * period_us + 1e-6:
            raise exception.InvalidLoad(
                name='runtime in us', value=runtime_us,
                rule=f'with ticks of {self.tick_us} us, {self.rule} keeps at '
                f'most {period_us - self.tick_us} us every {period_us} us; '
                'give a longer period')

    def late_us(self, runtime_us: float, period_us: float) -> float:
        """Returns how late a request may end, whatever else the pCPU runs.

        The answer holds if nova-rt admitted all reservations on the pCPU.
        With EDF charged at ticks, the answer holds for at most NEIGHBOURS
        other reservations on the pCPU.  The proofs are in
        doc/source/model/company.rst.
        """
        rest = period_us - runtime_us
        if self.rule is Rule.RT_GROUP_SCHED:
            return 2 * self._before_us(rest) + self.tick_us
        return rest + (NEIGHBOURS * self.tick_us if self.at_ticks else 0)

    def _before_us(self, rest_us: float) -> float:
        """Returns how long others may run first in a period.

        A server that may run first takes a tick and its runtime at least.  If
        not even these are left, nova-rt admits no such server.

        :param rest_us: the part of the period that is not the runtime
        """
        left_us = rest_us - self.tick_us
        least_us = self.tick_us + rt_reservation.MIN_RUNTIME_US
        return left_us if left_us >= least_us else 0.0

    @property
    def fixed_priorities(self) -> schedulability.FixedPriorities:
        """Mainline's admission test, with its default options."""
        return schedulability.FixedPriorities(
            _LEVELS, self.tick_us, self.shortest_period_us)


#: Hard CBS, as in the models of a server alone on its pCPU.
CBS = Kernel()
